#pragma once
// How host code starts the kernels of a metric. They are compiled in one .cu file a metric
// (search/metric/kernels/instances.cuh), so that no other file needs nvcc.

#include "kselect/algorithm.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::search::metric_space {

template <class Kernel>
status start(const executor& where, const simt::grid& shape, const typename Kernel::args& args);

}  // namespace kselect::search::metric_space
