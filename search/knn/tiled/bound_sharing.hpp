#pragma once
// What ranks tell each other of a tile of queries while they search it: how near the neighbours are
// that each has found in its first tile of the corpus. No vector is wanted that is farther than a
// bound on a query's k-th neighbour in the whole corpus. Of G ranks each has
//
//     its k-th neighbour so far:      k vectors are no farther than the least of these;
//     its (k/G)-th, rounded up:       k vectors of all ranks are no farther than the largest.
//
// The smaller of both is the bound. Parts of equal distribution have about k/G neighbours each, so
// the second is near the k-th of all first tiles, where the first is that of one.

#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <vector>

#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"

namespace kselect::search {

class bound_sharing {
 public:
  using post = std::function<std::future<void>(std::function<void()>)>;
  // `errand`: does work in an order that is the same on all ranks (courier.hpp). Where ranks do not
  // share, all calls do nothing.
  bound_sharing(bool shares, communicator& ranks, post errand);

  // A tile of queries begins.
  void begin();
  // Once a tile of queries, and on every rank: the lists so far, with the numbers that order them.
  void offer(const neighbour_lists& best);
  // The same of lists that are elsewhere. `column`: [queries], how far the neighbour at a place of
  // each list is at most; place 0 is the nearest.
  void offer(std::int64_t k, const std::function<std::vector<double>(std::int64_t)>& column);
  bool offers() const { return shares_ && !offered_; }
  // [queries]: the bounds, if all ranks have offered; empty so far. Throws what the errand threw.
  std::span<const double> known();

 private:
  struct nearness {
    double kth, part;
  };
  void exchange(std::int64_t queries);

  bool shares_;
  communicator& ranks_;
  post errand_;
  bool offered_ = false, arrived_ = false;
  std::future<void> arriving_;
  std::vector<nearness> mine_, of_all_;
  std::vector<double> own_, bounds_;
};

}  // namespace kselect::search
