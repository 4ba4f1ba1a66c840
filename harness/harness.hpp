#pragma once
// The harness stands on the runtime and uses its names without qualification.

#include "kselect/names.hpp"

namespace kselect::runtime {}

namespace kselect::harness {
using namespace runtime;
// Beside overloads of this room's own.
using kselect::to_string;
}  // namespace kselect::harness
