#pragma once
// The program uses all rooms and their names without qualification.

#include "search/search.hpp"

namespace kselect::cli {
using namespace runtime;
using namespace harness;
using namespace search;
}  // namespace kselect::cli
