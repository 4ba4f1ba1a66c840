#pragma once
// k-NN builds on the runtime and the harness and uses their names without qualification.

#include "harness/harness.hpp"

namespace kselect::search {
using namespace runtime;
using namespace harness;
}  // namespace kselect::search
