#pragma once
// What the generated registry table provides: one row per algorithm file.

#include <span>
#include <string_view>

#include "kselect/algorithm.hpp"
#include "kselect/registry.hpp"

namespace kselect::detail {

struct entry_file {
  std::span<const algorithm> (*entries)();
  std::string_view file;
  std::string_view source_hash;
};

std::span<const entry_file> entry_files();

// The build's KSELECT_ALGORITHMS: an entry is listed if its name or its file's stem matches one.
std::span<const std::string_view> built_globs();

std::span<const absent_file> absent_files();

// Appends to the table what the build did not find among its algorithms: entries that tests plant.
// Only before the first use of registry().
void add_entry_file(const entry_file& file);

}  // namespace kselect::detail
