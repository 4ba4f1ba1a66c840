#pragma once
// The nearest neighbours found so far, one sorted list a query, and the exact merging of lists.
//
// The order is that of `kselect knn`: by the float64 number that ranks a neighbour
// (knn_block::ranked), equal ones by ascending index. It is total. Where there is no such number
// (executor cuda), the distance ranks. So lists of disjoint parts of a corpus merge to the list of
// their union, in any order and grouping. If each part prefers smaller indices among equals, the
// union does too.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "runtime/backend/backend.hpp"
#include "runtime/page_memory.hpp"
#include "search/search.hpp"

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
  neighbour_lists(neighbour_lists&&) noexcept = default;
  neighbour_lists& operator=(neighbour_lists&& other) noexcept;

  // Lists of so many queries and neighbours, in the same memory, which must hold them. Their
  // contents are undefined until clear() or until each is written. Fresh memory of a large tile
  // takes milliseconds, so a search keeps it.
  void shape(std::int64_t queries, std::int64_t k) {
    queries_ = queries;
    k_ = k;
  }
  bool holds(std::int64_t queries, std::int64_t k) const { return queries * k <= most_; }
  // Pins all of the memory, so that `place` copies to it without a step between.
  void pin(backend& place);
  // Makes all lists empty.
  void clear();
  // Turns indices as a search writes them, -1 where there is no neighbour, into those of lists:
  // `first` is added to them.
  void number_from(std::int64_t first, int threads);

  std::int64_t queries() const { return queries_; }
  std::int64_t k() const { return k_; }
  std::span<float> distances() { return {distances_.get(), size()}; }  // [queries][k]
  std::span<const float> distances() const { return {distances_.get(), size()}; }
  std::span<double> ranked() { return {ranked_.get(), size()}; }  // [queries][k]
  std::span<const double> ranked() const { return {ranked_.get(), size()}; }
  std::span<std::int64_t> indices() { return {indices_.get(), size()}; }  // [queries][k]
  std::span<const std::int64_t> indices() const { return {indices_.get(), size()}; }

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
  std::size_t size() const { return static_cast<std::size_t>(queries_ * k_); }

  std::int64_t queries_, k_;
  std::int64_t most_;  // neighbours of all lists together
  runtime::page_array<float> distances_;
  runtime::page_array<double> ranked_;
  runtime::page_array<std::int64_t> indices_;
  std::array<std::shared_ptr<void>, 3> pinned_;  // must end before the memory
};

// Sorted lists of several parts of a corpus: [lists][queries][k].
struct list_columns {
  std::span<const float> distances;
  std::span<const std::int64_t> indices;
  std::span<const double> ranked = {};  // empty: the distances rank
};

// Merges `lists` sorted lists of each query into `out`. Parallel over the queries. A query
// takes k steps for each of a few lists; k log(lists) steps for many, whose heads are in a heap.
void merge_lists(std::int64_t lists, const list_columns& from, int threads, neighbour_lists& out);

// The same of lists of another length, [lists][queries][length], that may have fewer neighbours
// than their parts: each ends with its last place, or with no_neighbour before. A query's
// neighbours are certain as long as no list has ended. `lacking`, [queries]: 1 where k are not, and
// those that are certain are followed by no_neighbour; else 0.
void merge_beginnings(std::int64_t lists, std::int64_t length, const list_columns& from,
                      int threads, neighbour_lists& out, std::span<std::uint8_t> lacking);

}  // namespace kselect::search
