#pragma once
// The nearest neighbours found so far, one sorted list a query, and the exact merging of lists.
//
// The order is that of `kselect knn`: by the float64 number that ranks a neighbour
// (knn_block::ranked), equal ones by ascending index. It is total. Where there is no such number
// (executor cuda), the distance ranks. So lists of disjoint parts of a corpus merge to the list of
// their union, in any order and grouping. If each part prefers smaller indices among equals, the
// union does too.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kselect::search {

// A signed count or index as a container's unsigned index.
inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Fills a list with fewer than k neighbours. Ordered after all neighbours; no vector's index.
inline constexpr std::int64_t no_neighbour = std::numeric_limits<std::int64_t>::max();

struct neighbour {
  float distance;
  std::int64_t index;

  bool operator<(const neighbour& other) const {
    return distance != other.distance ? distance < other.distance : index < other.index;
  }
};

class neighbour_lists {
 public:
  // Empty lists: each has k times no_neighbour at +inf. Throws std::bad_alloc.
  neighbour_lists(std::int64_t queries, std::int64_t k);

  std::int64_t queries() const { return queries_; }
  std::int64_t k() const { return k_; }
  std::span<float> distances() { return distances_; }  // [queries][k]
  std::span<const float> distances() const { return distances_; }
  std::span<double> ranked() { return ranked_; }  // [queries][k]
  std::span<const double> ranked() const { return ranked_; }
  std::span<std::int64_t> indices() { return indices_; }  // [queries][k]
  std::span<const std::int64_t> indices() const { return indices_; }

  // A sorted list for one query from one part of the corpus. `offset` is added to its indices. The
  // resulting index `excluded` is left out.
  struct found {
    std::span<const float> distances;
    std::span<const std::int64_t> indices;
    std::int64_t offset = 0;
    std::int64_t excluded = no_neighbour;
    std::span<const double> ranked = {};  // empty: the distances rank
  };
  // Merges `list` into that of `query`. Threads may merge for different queries at the same time.
  void merge(std::int64_t query, const found& list);

 private:
  std::int64_t queries_, k_;
  std::vector<float> distances_;
  std::vector<double> ranked_;
  std::vector<std::int64_t> indices_;
};

// Sorted lists of several parts of a corpus: [lists][queries][k].
struct list_columns {
  std::span<const float> distances;
  std::span<const std::int64_t> indices;
  std::span<const double> ranked = {};  // empty: the distances rank
};

// Merges `lists` sorted lists of each query into `out`. Parallel over the queries. A heap of the
// lists' heads takes k log(lists) steps a query.
void merge_lists(std::int64_t lists, const list_columns& from, int threads, neighbour_lists& out);

}  // namespace kselect::search
