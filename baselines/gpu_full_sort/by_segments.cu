// Full sorts of rows by CUB's segmented sort.

#if defined(__CUDACC__)

#include "baselines/gpu_full_sort/sort_rows.cuh"

namespace kselect::gpu_full_sort {

template call_plan plan_for<library::segmented>(const problem&, const device&);

}  // namespace kselect::gpu_full_sort

#endif
