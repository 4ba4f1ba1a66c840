// Full sorts of rows by CUB's radix sorts.

#if defined(__CUDACC__)

#include "baselines/gpu_full_sort/sort_rows.cuh"

namespace kselect::gpu_full_sort {

template call_plan plan_for<library::clustered>(const problem&, const device&);
template call_plan plan_for<library::segmented_radix>(const problem&, const device&);

}  // namespace kselect::gpu_full_sort

#endif
