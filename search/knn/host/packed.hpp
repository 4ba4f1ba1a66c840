#pragma once
// Moved and scaled images of vectors in the order in which products.hpp reads them.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/knn/host/prepared_corpus.hpp"
#include "search/knn/host/products.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Writes `count` vectors from `first` on as [dimension][width]; columns from `count` on are zeros.
template <class T>
void pack(const moved_vectors& from, std::span<const double> centre, double scale,
          std::int64_t first, std::int64_t count, std::int64_t width, T* out) {
  const std::int64_t dimension = from.vectors.dimension;
  if (count < width) std::fill(out, out + dimension * width, T{0});
  // A few components at a time: what is written then stays in the innermost cache until its lines
  // are whole.
  constexpr std::int64_t run = 64;
  for (std::int64_t begin = 0; begin < dimension; begin += run) {
    const std::int64_t end = std::min(dimension, begin + run);
    for (std::int64_t j = 0; j < count; ++j) {
      const float* const x = from.vector(first + j);
      const image& own = from.images[static_cast<std::size_t>(first + j)];
      for (std::int64_t c = begin; c < end; ++c) {
        const double moved = (x[c] - own.mean) * own.scale - centre[static_cast<std::size_t>(c)];
        out[c * width + j] = static_cast<T>(moved * scale);
      }
    }
  }
}

// Queries, in whole groups.
inline std::int64_t in_groups(std::int64_t queries) {
  return (queries + group_rows - 1) / group_rows * group_rows;
}

// Queries of a tile in groups.
template <class T>
class packed_queries {
 public:
  packed_queries(const moved_vectors& queries, std::span<const double> centre, double scale,
                 std::int64_t first, std::int64_t count)
      : group_(queries.vectors.dimension * group_rows),
        groups_((count + group_rows - 1) / group_rows),
        data_(static_cast<std::size_t>(groups_ * group_)) {
    for (std::int64_t g = 0; g < groups_; ++g) {
      pack(queries, centre, scale, first + g * group_rows,
           std::min(group_rows, count - g * group_rows), group_rows, data_.data() + g * group_);
    }
  }

  std::int64_t groups() const { return groups_; }
  const T* group(std::int64_t g) const { return data_.data() + g * group_; }

 private:
  std::int64_t group_, groups_;
  std::vector<T> data_;
};

// Calls begin(first, count) for each panel of the corpus vectors [begin, end) that is
// wanted(first, count), and then, for each group g of the queries, take(g, products), which are
// [group_rows][panel_columns].
template <class T, class Wanted, class Begin, class Take>
void each_panel(const prepared_corpus& corpus, double scale, const packed_queries<T>& queries,
                std::int64_t from, std::int64_t to, Wanted&& wanted, Begin&& begin, Take&& take) {
  constexpr std::int64_t columns = panel_columns<T>;
  std::vector<T> panel(static_cast<std::size_t>(corpus.dimension() * columns));
  T products[group_rows * columns];
  for (std::int64_t first = from; first < to; first += columns) {
    const std::int64_t count = std::min(columns, to - first);
    if (!wanted(first, count)) continue;
    pack(corpus.base(), corpus.centre(), scale, first, count, columns, panel.data());
    begin(first, count);
    for (std::int64_t g = 0; g < queries.groups(); ++g) {
      multiply(queries.group(g), panel.data(), corpus.dimension(), products);
      take(g, products);
    }
  }
}

}  // namespace kselect::search
