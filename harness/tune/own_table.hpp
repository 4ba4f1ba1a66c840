#pragma once
// A cost table of the user's own, without building again: the environment variable
// KSELECT_COST_TABLE names its file. Processes that a sweep starts inherit it.

#include <nlohmann/json.hpp>

namespace kselect::harness::tune {

inline constexpr char own_table_variable[] = "KSELECT_COST_TABLE";

// Has `auto` go by that table, if one is named, for as long as the process lives. Throws
// error(failure::input) for a file that is none.
void use_own_table();

// Which table that is, for a run's meta.json; null if none is named.
nlohmann::ordered_json own_table_json();

}  // namespace kselect::harness::tune
