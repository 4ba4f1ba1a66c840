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
#include <memory>
#include <span>

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

  // Lists of so many queries, at most room(), in the same memory. Their contents are
  // undefined until clear() or until each is written. Fresh memory of a large tile takes
  // milliseconds, so a search keeps it.
  void shape(std::int64_t queries) { queries_ = queries; }
  std::int64_t room() const { return room_; }
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

  std::int64_t queries_, room_, k_;
  std::unique_ptr<float[]> distances_;
  std::unique_ptr<double[]> ranked_;
  std::unique_ptr<std::int64_t[]> indices_;
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

}  // namespace kselect::search
