#pragma once
// The nearest neighbours found so far, a sorted list a query, and the exact merging of such lists.
//
// Nearest first, equal distances by ascending index: the order of `kselect knn`'s output. Lists of
// disjoint parts of a corpus merge to the list of their union, in whatever order and grouping they
// are merged, because that order is total; where every part prefers the smaller index among equal
// distances, so does the union.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kselect::search {

// In a container, whose sizes are unsigned, of what the k-NN counts in signed numbers.
inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Stands after all neighbours where fewer than k have been found yet. No vector has this index.
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
  // Every list empty: k times no_neighbour at +inf. Throws std::bad_alloc.
  neighbour_lists(std::int64_t queries, std::int64_t k);

  std::int64_t queries() const { return queries_; }
  std::int64_t k() const { return k_; }
  std::span<float> distances() { return distances_; }  // [queries][k]
  std::span<const float> distances() const { return distances_; }
  std::span<std::int64_t> indices() { return indices_; }  // [queries][k]
  std::span<const std::int64_t> indices() const { return indices_; }

  // A sorted list for one query from one part of the corpus. `offset` is added to its indices;
  // `excluded` (after that) is left out.
  struct found {
    std::span<const float> distances;
    std::span<const std::int64_t> indices;
    std::int64_t offset = 0;
    std::int64_t excluded = no_neighbour;
  };
  // Merges it into the list of `query`. Different queries may be merged into at the same time.
  void merge(std::int64_t query, const found& list);

 private:
  std::int64_t queries_, k_;
  std::vector<float> distances_;
  std::vector<std::int64_t> indices_;
};

// Merges `lists` sorted lists a query, distances and indices [lists][queries][k], into `out`, in
// parallel over the queries by a heap of the lists' heads: k log(lists) steps a query.
void merge_lists(std::int64_t lists, std::span<const float> distances,
                 std::span<const std::int64_t> indices, int threads, neighbour_lists& out);

}  // namespace kselect::search
