#include "search/knn/tiled/bound_sharing.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "search/knn/tiled/plan.hpp"

namespace kselect::search {

bound_sharing::bound_sharing(bool shares, communicator& ranks, post errand)
    : shares_(shares), ranks_(ranks), errand_(std::move(errand)) {}

void bound_sharing::begin() { offered_ = arrived_ = false; }

void bound_sharing::offer(const neighbour_lists& best) {
  offer(best.k(), [&](std::int64_t place) {
    std::vector<double> column(index(best.queries()));
    for (std::int64_t q = 0; q < best.queries(); ++q) {
      column[index(q)] = best.ranked()[index(q * best.k() + place)];
    }
    return column;
  });
}

void bound_sharing::offer(std::int64_t k,
                          const std::function<std::vector<double>(std::int64_t)>& column) {
  if (!offers()) return;
  offered_ = true;
  const std::int64_t ranks = ranks_.size(), part = (k + ranks - 1) / ranks;
  const std::vector<double> kth = column(k - 1), of_part = column(part - 1);
  mine_.resize(kth.size());
  for (std::size_t q = 0; q < kth.size(); ++q) mine_[q] = {kth[q], of_part[q]};
  arriving_ = errand_([this, queries = std::ssize(kth)] { exchange(queries); });
}

// Each rank finds the bounds of its share of the queries, and rank 0 tells them to all.
void bound_sharing::exchange(std::int64_t queries) {
  const std::vector<std::int64_t> shares = shares_of(queries, ranks_.size());
  const std::int64_t share = shares[index(ranks_.rank())];
  of_all_.resize(index(ranks_.size() * share));
  const std::array<communicator::column, 1> told = {
      {{sizeof(nearness), std::as_bytes(std::span(std::as_const(mine_))),
        std::as_writable_bytes(std::span(of_all_))}}};
  ranks_.exchange(told, shares);
  own_.resize(index(share));
  for (std::int64_t q = 0; q < share; ++q) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (std::int64_t r = 0; r < ranks_.size(); ++r) {
      const nearness& of_rank = of_all_[index(r * share + q)];
      least = std::min(least, of_rank.kth);
      most = std::max(most, of_rank.part);
    }
    own_[index(q)] = std::min(least, most);
  }
  bounds_.resize(index(queries));
  const std::array<communicator::column, 1> found = {
      {{sizeof(double), std::as_bytes(std::span(std::as_const(own_))),
        std::as_writable_bytes(std::span(bounds_))}}};
  ranks_.collect(found, shares);
  ranks_.broadcast(std::as_writable_bytes(std::span(bounds_)));
}

std::span<const double> bound_sharing::known() {
  if (!offered_) return {};
  if (!arrived_) {
    if (arriving_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
    arriving_.get();
    arrived_ = true;
  }
  return bounds_;
}

}  // namespace kselect::search
