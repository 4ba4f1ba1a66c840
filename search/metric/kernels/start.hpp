#pragma once
// Starts the kernels of a metric from host code. Each metric's kernels are compiled in one .cu file
// (search/metric/kernels/instances.cuh), so that no other file needs nvcc.

#include "kselect/algorithm.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::search::metric_space {

template <class Kernel>
status start(const executor& where, const simt::grid& shape, const typename Kernel::args& args);

}  // namespace kselect::search::metric_space
