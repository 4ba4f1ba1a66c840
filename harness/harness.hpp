#pragma once
// The harness uses the runtime's names without qualification.

#include "kselect/names.hpp"

namespace kselect::runtime {}

namespace kselect::harness {
using namespace runtime;
// Named here because overloads in this namespace would hide it.
using kselect::to_string;
}  // namespace kselect::harness
