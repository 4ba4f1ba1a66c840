#pragma once

#include <span>

#include "kselect/algorithm.hpp"

namespace kselect {

// Right but for a kernel that faults: in the first call, or in one of the timed ones.
std::span<const algorithm> planted_faults();

}  // namespace kselect
