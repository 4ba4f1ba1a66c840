// Full sorts of rows by Thrust.

#if defined(__CUDACC__)

#include "baselines/gpu_full_sort/sort_rows.cuh"

namespace kselect::gpu_full_sort {

template std::size_t workspace<library::thrust>(const problem&, const device&);
template status enqueue<library::thrust>(const problem&, const io&, std::span<std::byte>,
                                      const executor&);

}  // namespace kselect::gpu_full_sort

#endif
