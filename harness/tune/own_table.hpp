#pragma once
// The user's own cost table, used without a rebuild: the environment variable KSELECT_COST_TABLE
// names its file. The worker processes of a sweep inherit it.

#include <nlohmann/json.hpp>

namespace kselect::harness::tune {

inline constexpr char own_table_variable[] = "KSELECT_COST_TABLE";

// If a table is named, makes `auto` choose by it until the process ends. Throws
// error(failure::input) if the file is no cost table.
void use_own_table();

// The table's file, device and source for a run's meta.json; null if no table is named.
nlohmann::ordered_json own_table_json();

}  // namespace kselect::harness::tune
