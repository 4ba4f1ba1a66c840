#pragma once
// What the generated registry table provides: one row per algorithm file.

#include <span>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect::detail {

struct entry_file {
  std::span<const algorithm> (*entries)();
  std::string_view file;
  std::string_view source_hash;
};

std::span<const entry_file> entry_files();

}  // namespace kselect::detail
