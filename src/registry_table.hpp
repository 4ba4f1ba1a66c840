#pragma once
// The interface of the generated registry table: one row per algorithm file.

#include <span>
#include <string_view>

#include "kselect/algorithm.hpp"
#include "kselect/registry.hpp"

namespace kselect::detail {

struct entry_file {
  std::span<const algorithm> (*entries)();
  std::string_view file;
  std::string_view source_hash;
  bool outside = false;  // of a plug-in: `file` is the shared object
};

std::span<const entry_file> entry_files();

// The globs of KSELECT_ALGORITHMS. An entry is listed if its name or its file's stem matches one.
std::span<const std::string_view> built_globs();

std::span<const absent_file> absent_files();

// Appends entries to the table: those that tests plant, and those of plug-ins (runtime/plugins.hpp),
// which are listed whatever globs the build had. The strings must live as long as the program. Not
// while another thread uses the registry.
void add_entry_file(const entry_file& file);

// The same, in place of what was added with the same function `entries`.
void put_entry_file(const entry_file& file);

}  // namespace kselect::detail
