#pragma once
// What the program prints of a recorded run: a table, how its cells ended, what makes its times
// doubtful, and the answer in one sentence.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "harness/compare/recorded_run.hpp"
#include "kselect/names.hpp"

namespace kselect::cli {

enum class table_view : std::uint8_t {
  fitting,  // pivot if it fits the width, else cells
  brief,    // the same for few cells; of more, the winners; of many problems, no table
  cells,
  pivot,
  winners,
  counted
};
constexpr auto names_of(table_view) {
  return std::to_array<named<table_view>>({{table_view::fitting, "fitting"},
                                           {table_view::brief, "brief"},
                                           {table_view::cells, "cells"},
                                           {table_view::pivot, "pivot"},
                                           {table_view::winners, "winners"},
                                           {table_view::counted, "counted"}});
}

struct report_options {
  table_view view = table_view::fitting;
  std::string baseline;  // rank_cells
  std::size_t width;     // of the terminal
};

// Columns of the terminal that stdout goes to; of none: COLUMNS, or 100.
std::size_t output_width();

// Table and legend. `directory`: where the reader finds the whole table if this one is cut.
std::string table_text(const compare::recorded_run& run, const report_options& how);
// One line for each cell that failed, at most 20.
std::string failures_text(const compare::recorded_run& run);
// One line for each thing that makes the times doubtful: doctor's warnings as they were before the
// run, throttled and unpinned cells, a run that has not ended.
std::string doubts_text(const compare::recorded_run& run);
std::string answer_text(const compare::recorded_run& run, const report_options& how);

}  // namespace kselect::cli
