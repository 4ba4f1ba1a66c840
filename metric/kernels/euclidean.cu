#include "metric/euclidean.hpp"
#include "metric/kernels/instances.cuh"

KSELECT_METRIC_KERNELS(kselect::metric_space::euclidean)
