#pragma once
// The metrics between dense vectors; runtime/distance/distance.hpp says how distances are computed.

#include "kselect/metric.hpp"

namespace kselect::runtime {
using kselect::metric;
}  // namespace kselect::runtime
