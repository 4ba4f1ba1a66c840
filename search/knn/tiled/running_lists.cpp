// What of running_lists is on the host. nvcc would leave out its loops' threads.

#include "search/knn/tiled/running_lists.hpp"

#include "runtime/copy_by_threads.hpp"

namespace kselect::search {

void running_lists::download(std::span<std::int64_t> indices, std::span<float> distances,
                             std::span<double> exact) {
  place_.to_host(std::as_writable_bytes(indices), so_far().memory.indices.data());
  place_.to_host(std::as_writable_bytes(distances), so_far().memory.distances.data());
  place_.to_host(std::as_writable_bytes(exact), so_far().memory.exact.data());
}

void running_lists::bring(std::int64_t first_own, neighbour_lists& to) {
  if (first_own != no_neighbour || so_far().k != to.k()) return bring_some(first_own, to);
  download(to.indices(), to.distances(), to.ranked());
  to.number_from(so_far().offset, runtime::moving_threads(place_.description().threads));
}

// Lists that are shorter or longer than those in `to`. The host's memory for them is kept: fresh
// memory of a large tile takes milliseconds.
void running_lists::bring_some(std::int64_t first_own, neighbour_lists& to) {
  const std::int64_t k = so_far().k;
  indices_.resize(index(queries_ * k));
  distances_.resize(indices_.size());
  exact_.resize(indices_.size());
  download(indices_, distances_, exact_);
  to.clear();
  const std::int64_t offset = so_far().offset;
  const int workers = place_.description().threads;
#pragma omp parallel for num_threads(workers) schedule(static)
  for (std::int64_t q = 0; q < queries_; ++q) {
    const std::size_t at = index(q * k);
    std::size_t length = index(k);
    while (length > 0 && indices_[at + length - 1] < 0) --length;
    to.merge(q, {.distances = std::span<const float>(distances_).subspan(at, length),
                 .indices = std::span<const std::int64_t>(indices_).subspan(at, length),
                 .offset = offset,
                 .excluded = first_own == no_neighbour ? no_neighbour : first_own + q,
                 .ranked = std::span<const double>(exact_).subspan(at, length)});
  }
}

}  // namespace kselect::search
