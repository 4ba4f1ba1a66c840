// `kselect show` prints the table of a recorded run, whole or interrupted.

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/run_report.hpp"
#include "harness/export/text_tables.hpp"
#include "harness/plan/title_filter.hpp"
#include "runtime/error.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

struct show_arguments {
  std::string run, view = "fitting", baseline, filter;
};

// Keeps the cells whose title the filter matches.
compare::recorded_run filtered(compare::recorded_run run, const std::string& filter) {
  if (filter.empty() || run.cells.empty()) return run;
  const title_filter wanted(filter);
  compare::recorded_run kept;
  kept.path = run.path;
  kept.meta = run.meta;
  kept.notes = run.notes;
  for (compare::recorded_cell& cell : run.cells) {
    if (wanted.matches(cell.algorithm, cell.problem)) kept.add(std::move(cell));
  }
  if (kept.cells.empty()) {
    const compare::recorded_cell& first = run.cells.front();
    throw error(failure::usage, fmt::format("{}: no cell is left; {}", run.path,
                                            excludes_all(first.algorithm, first.problem)));
  }
  return kept;
}

int show(const show_arguments& o) {
  const compare::recorded_run run = filtered(compare::read_run(o.run), o.filter);
  for (const std::string& note : run.notes) print_message("kselect: {}\n", one_line(note));
  const report_options how{parse<table_view>(o.view).value(), o.baseline, output_width()};
  fmt::print("{}{}\n{}{}{}\n", table_text(run, how), counts_text(run), failures_text(run),
             doubts_text(run), answer_text(run, how));
  return 0;
}

}  // namespace

void add_show(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("show", "Print the table of a recorded run, and the answer in a sentence");
  const auto o = std::make_shared<show_arguments>();
  command->add_option("RUN", o->run, "directory of the run, finished or not")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--table", o->view,
                   "pivot (an algorithm a column), cells (a cell a line, ranked), winners (a "
                   "problem a line), counted (work on fibers); fitting: pivot if the terminal is "
                   "wide enough, else cells")
      ->check(CLI::IsMember({"fitting", "pivot", "cells", "winners", "counted"}))
      ->capture_default_str();
  command->add_option("--baseline", o->baseline,
                      "the algorithm that factors are over; default: the fastest from baselines/ "
                      "at each problem");
  option_filter(*command, o->filter);
  command->callback([&chosen, o] { chosen = [o] { return show(*o); }; });
}

}  // namespace kselect::cli
