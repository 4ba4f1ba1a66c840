#include "metric/kernels/instances.cuh"
#include "metric/levenshtein.hpp"

KSELECT_METRIC_KERNELS(kselect::metric_space::levenshtein)
