#pragma once
// Reads and writes cost tables as the files that cmake/cost_tables.cmake compiles in.

#include <filesystem>
#include <string>

#include "harness/tune/cost_fit.hpp"
#include "harness/tune/regret.hpp"

namespace kselect::harness::tune {

inline constexpr char table_schema[] = "kselect-costs/1";

// The measured quality of a table, for its file.
struct table_quality {
  std::size_t problems = 0;
  regret fitted, held_out;
};

// The text of a table's file: one key per line and one row of a list per line. Numbers are rounded
// to the values that read_table gives.
std::string table_text(const learned_table& table, const table_quality& quality);

// Throws error(failure::input) if the file is no cost table or has other terms than this program.
learned_table read_table(const std::filesystem::path& path);

}  // namespace kselect::harness::tune
