#pragma once
// Cost tables as files: what cmake/cost_tables.cmake compiles in.

#include <filesystem>
#include <string>

#include "harness/tune/cost_fit.hpp"
#include "harness/tune/regret.hpp"

namespace kselect::harness::tune {

inline constexpr char table_schema[] = "kselect-costs/1";

// How good a table was found to be, for its file.
struct table_quality {
  std::size_t problems = 0;
  regret fitted, held_out;
};

// The text of a table's file: a key a line, a row a line in its lists. Numbers are rounded as a
// file read again has them.
std::string table_text(const learned_table& table, const table_quality& quality);

// Throws error(failure::input) for what is not such a file, or has other terms than this program.
learned_table read_table(const std::filesystem::path& path);

}  // namespace kselect::harness::tune
