#pragma once
// For every query the corpus vectors that may be among its k nearest.
//
// A candidate is known by a range that holds its ranked_distance(). The k-th smallest upper end
// of a list is a threshold: whatever begins beyond it is not among the k nearest. A list that is
// full drops such candidates. If that leaves little room, the rest is compared by its float64
// differences, of which the k least are kept. So a list has a fixed length whatever the data, and
// what it returns is exact.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "search/search.hpp"

namespace kselect::search {

struct candidate {
  double least, most;  // of its ranked difference
  std::int64_t index;
};

struct ranked_neighbour {
  double ranked;
  std::int64_t index;

  bool operator<(const ranked_neighbour& other) const {
    return ranked != other.ranked ? ranked < other.ranked : index < other.index;
  }
};

class candidate_lists {
 public:
  candidate_lists(std::int64_t lists, std::int64_t k);

  static constexpr std::int64_t length_for(std::int64_t k) { return 2 * k + 64; }
  static constexpr std::int64_t bytes_per_list(std::int64_t k) {
    return length_for(k) * static_cast<std::int64_t>(sizeof(candidate)) +
           k * static_cast<std::int64_t>(sizeof(ranked_neighbour)) + 40;
  }

  double threshold(std::int64_t list) const { return thresholds_[at(list)]; }
  const double* thresholds() const { return thresholds_.data(); }
  // Tells a list that k vectors are known whose differences are at most `bound`.
  void lower(std::int64_t list, double bound) {
    thresholds_[at(list)] = std::min(thresholds_[at(list)], bound);
  }

  // Adds a candidate that is not beyond the threshold. `exact(index)` is its ranked difference.
  // Threads may add to different lists at the same time.
  template <class Exact>
  void add(std::int64_t list, const candidate& c, Exact&& exact) {
    pending_[at(list * length_ + counts_[at(list)]++)] = c;
    if (counts_[at(list)] < length_) return;
    prune(list);
    if (counts_[at(list)] > k_ + (length_ - k_) / 2) compare(list, exact);
  }

  // The k nearest of all that were added, nearest first; fewer if fewer were added.
  template <class Exact>
  std::span<const ranked_neighbour> finish(std::int64_t list, Exact&& exact) {
    prune(list);
    compare(list, exact);
    ranked_neighbour* const best = best_.data() + list * k_;
    std::sort(best, best + known_[at(list)]);
    return {best, static_cast<std::size_t>(known_[at(list)])};
  }

  // How many differences were computed in float64.
  std::int64_t compared(std::int64_t list) const { return compared_[at(list)]; }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  void prune(std::int64_t list);
  void keep(std::int64_t list, const ranked_neighbour& n);

  template <class Exact>
  void compare(std::int64_t list, Exact& exact) {
    const candidate* const first = pending_.data() + list * length_;
    const candidate* const end = first + counts_[at(list)];
    // Candidates lie far apart in memory: some are on their way while one is compared.
    constexpr std::int64_t ahead = 6;
    for (std::int64_t i = 0; i < std::min(ahead, end - first); ++i) exact.fetch(first[i].index);
    for (const candidate* c = first; c != end; ++c) {
      if (end - c > ahead) exact.fetch(c[ahead].index);
      if (c->least > thresholds_[at(list)]) continue;
      ++compared_[at(list)];
      keep(list, {exact(c->index), c->index});
    }
    counts_[at(list)] = 0;
  }

  std::int64_t k_, length_;
  std::vector<candidate> pending_;      // [lists][length]
  std::vector<ranked_neighbour> best_;  // [lists][k], heaps
  std::vector<std::int64_t> counts_, known_, compared_;
  std::vector<double> thresholds_;
};

}  // namespace kselect::search
