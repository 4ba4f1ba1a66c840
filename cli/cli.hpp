#pragma once
// The program stands on all rooms and uses their names without qualification.

#include "search/search.hpp"

namespace kselect::cli {
using namespace runtime;
using namespace harness;
using namespace search;
}  // namespace kselect::cli
