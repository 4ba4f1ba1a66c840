#include <algorithm>
#include <utility>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/tiled/merge_tile.cuh"
#include "search/knn/tiled/running_lists.hpp"

namespace kselect::search {

using fused::make;
using fused::view;

void running_lists::begin(std::int64_t queries, std::int64_t k) {
  queries_ = queries;
  k_ = k;
  now_ = 0;  // so that lists of one tile of the corpus always take the same memory
  so_far().k = 0;
}

fused::answers running_lists::next(std::int64_t k) {
  found().memory.reserve(place_, queries_ * k_);
  found().k = k;
  return found().memory.answers(k, root_);
}

void running_lists::merge(std::int64_t first) {
  found().offset = first;
  if (so_far().k == 0) {
    now_ = (now_ + 1) % 3;
    return;
  }
  merged().memory.reserve(place_, queries_ * k_);
  merged().k = std::min(k_, so_far().k + found().k);
  merged().offset = 0;
  const std::int64_t neighbours = queries_ * (so_far().k + found().k);
  fused::start<merge_tile_kernel>(
      place_, fused::blocks_for(neighbours, merge_tile_kernel::max_threads),
      {lists_in(so_far()), lists_in(found()), lists_in(merged()), queries_});
  now_ = (now_ + 2) % 3;
}

fused::global<const double> running_lists::farthest(std::int64_t place,
                                                    std::span<const double> bounds) {
  if (column_.size() < index(queries_) * sizeof(double)) column_ = make<double>(place_, queries_);
  list_column_kernel::args args;
  if (place < so_far().k) args.exact = view<const double>(so_far().memory.exact);
  args.k = so_far().k;
  args.place = place;
  args.queries = queries_;
  if (!bounds.empty()) {
    if (bounds_.size() < bounds.size_bytes()) bounds_ = make<double>(place_, std::ssize(bounds));
    place_.to_device(bounds_.data(), std::as_bytes(bounds));
    args.bounds = view<const double>(bounds_);
  }
  args.column = view<double>(column_);
  fused::start<list_column_kernel>(
      place_, fused::blocks_for(queries_, list_column_kernel::max_threads), args);
  return view<const double>(column_);
}

std::vector<double> running_lists::column(std::int64_t place) {
  const fused::global<const double> there = farthest(place, {});
  std::vector<double> here(index(queries_));
  place_.to_host(std::as_writable_bytes(std::span(here)),
                 reinterpret_cast<const std::byte*>(there.data));
  return here;
}

tile_lists running_lists::lists_in(const buffer& from) {
  return {view<std::int64_t>(from.memory.indices), view<float>(from.memory.distances),
          view<double>(from.memory.exact), from.k, from.offset};
}

}  // namespace kselect::search
