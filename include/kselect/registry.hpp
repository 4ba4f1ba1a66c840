#pragma once
// Lookup by name of every linked algorithm. The build generates the table from the files in
// algorithms/ and baselines/ (cmake/registry.cmake). There are no static constructors.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kselect/algorithm.hpp"

namespace kselect {

struct registered {
  const kselect::algorithm* algorithm;
  std::string_view file;         // "baselines/nth_element.cpp"
  std::string_view source_hash;  // of that file and of the sources that all algorithms share
};

// All entries, ordered by file, then in the order of the file.
std::span<const registered> registry();

// A file of algorithms that the build left out (KSELECT_ALGORITHMS).
struct absent_file {
  std::string_view file;     // "baselines/garcia_insertion.cu"
  std::string_view entries;  // their names without variants: "qms-warp, qms-block"
};

// The files left out, ordered by file. Empty in a full build.
std::span<const absent_file> absent_files();

// The globs of KSELECT_ALGORITHMS: "auto;cpu/*". The registry lists an entry if its name or its
// file's stem matches one of them. Empty in a full build.
std::string built_globs();

// Whether a full build has an entry of that name, but this one does not list it.
bool is_left_out(std::string_view name);

// A hint for "unknown name" errors if the build left algorithms out, else "".
std::string left_out_hint();

// The entry of that name, or null.
const registered* find_algorithm(std::string_view name);

// Whether a name matches a glob: `*` matches any characters, `?` exactly one.
bool matches(std::string_view glob, std::string_view name);

// Entries whose name matches a glob, in registry order.
std::vector<const registered*> match_algorithms(std::string_view glob);

// Up to `count` names closest to a misspelt one, best first. Empty if none is close.
std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string_view> candidates,
                                       std::size_t count = 3);
std::vector<std::string> nearest_algorithms(std::string_view name, std::size_t count = 3);

}  // namespace kselect
