#include "cli/run_report.hpp"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/export/ranking.hpp"
#include "harness/export/text_tables.hpp"
#include "harness/record/records.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

using compare::recorded_cell;
using compare::recorded_run;

constexpr std::size_t few_cells = 60, few_problems = 40, most_failures = 20;
constexpr std::size_t usual_width = 100;

std::string legend(table_view view, bool starred) {
  std::string text = "Median of all Q rows ± half of its 95 % interval";
  if (starred && view != table_view::winners) {
    text += "; * fastest, or not told apart from the fastest";
  }
  return text + ". Every answer proven before and after.\n";
}

bool any_time(const std::vector<ranking>& rankings) {
  return std::ranges::any_of(rankings, [](const ranking& r) { return !r.timed.empty(); });
}

std::string counted_or_reasons(const std::vector<ranking>& rankings, std::size_t width) {
  const std::string counted = counted_table(rankings, width);
  return counted.empty() ? cells_table(rankings)
                         : counted + "Counted by the fiber executor, which times nothing.\n";
}

std::string drawn(const std::vector<ranking>& rankings, table_view view, std::size_t width) {
  switch (view) {
    case table_view::winners:
      return winners_table(rankings);
    case table_view::cells:
      return cells_table(rankings);
    case table_view::pivot:
      return pivot_table(rankings, SIZE_MAX).value_or(std::string());
    default:
      break;
  }
  return pivot_table(rankings, width).value_or(cells_table(rankings));
}

// What a short report shows of a run of this size.
table_view brief_view(const recorded_run& run, const std::vector<ranking>& rankings) {
  return run.cells.size() <= few_cells     ? table_view::fitting
         : rankings.size() <= few_problems ? table_view::winners
                                           : table_view::brief;
}

std::string unfinished(const recorded_run& run) {
  const auto state = run.fact({"state"}), planned = run.fact({"plan", "cells"});
  if (!state.is_string() || state == to_string(run_state::complete)) return {};
  return fmt::format("WARNING  {:<13} {}{}\n", "unfinished", state.get<std::string>(),
                     planned.is_number()
                         ? fmt::format(", recorded: {} of {}", run.cells.size(),
                                       amount_of(planned.get<std::size_t>(), "cell"))
                         : std::string());
}

std::string doubtful_cells(const recorded_run& run) {
  std::size_t throttled = 0, loose = 0;
  for (const recorded_cell& cell : run.cells) {
    throttled += cell.throttled ? 1 : 0;
    const bool on_host = cell.time && cell.executor == to_string(executor_kind::cpu);
    loose += on_host && !cell.pinned ? 1 : 0;
  }
  std::string text;
  if (throttled != 0) {
    text += fmt::format("WARNING  {:<13} the GPU's clock fell in some round of {}\n", "throttled",
                        amount_of(throttled, "cell"));
  }
  if (loose != 0) {
    text += fmt::format("WARNING  {:<13} the threads of {} had no processors of their own\n",
                        "not pinned", amount_of(loose, "cell"));
  }
  return text;
}

}  // namespace

std::size_t output_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const told = std::getenv("COLUMNS");
  const long columns = told == nullptr ? 0 : std::strtol(told, nullptr, 10);
  return columns > 0 && columns < 100'000 ? static_cast<std::size_t>(columns) : usual_width;
}

std::string table_text(const recorded_run& run, const report_options& how) {
  const std::vector<ranking> rankings = rank_cells(run, how.baseline);
  if (rankings.empty()) return {};
  if (how.view == table_view::counted || !any_time(rankings)) {
    return counted_or_reasons(rankings, how.width);
  }
  const table_view view = how.view == table_view::brief ? brief_view(run, rankings) : how.view;
  if (view == table_view::brief) {
    return fmt::format("{} problems are too many for here: `kselect show {}` prints them all\n",
                       rankings.size(), one_line(run.path));
  }
  return drawn(rankings, view, how.width) + legend(view, true);
}

std::string failures_text(const recorded_run& run) {
  std::string text;
  std::size_t count = 0;
  for (const recorded_cell& cell : run.cells) {
    if (cell.status == cell_status::ok || cell.status == cell_status::unsupported) continue;
    if (++count > most_failures) continue;
    text += fmt::format("  {} {}: {}: {}\n", cell.algorithm, to_string(cell.problem),
                        to_string(cell.status), one_line(cell.reason));
  }
  if (count > most_failures) text += fmt::format("  and {} more\n", count - most_failures);
  return text;
}

std::string doubts_text(const recorded_run& run) {
  std::string text = unfinished(run) + doubtful_cells(run);
  const bool timed =
      std::ranges::any_of(run.cells, [](const recorded_cell& c) { return c.time.has_value(); });
  if (!timed || run.fact({"host"}).is_null()) return text;
  const host_facts host = host_from(run.fact({"host"}));
  const build_facts build = build_from(run.fact({"build"}), run.fact({"git"}));
  for (const finding_of_doctor& found : examine(host, build)) {
    if (found.severity != finding_of_doctor::level::warning) continue;
    text += fmt::format("WARNING  {:<13} {}\n", found.subject, one_line(found.detail));
  }
  return text;
}

std::string answer_text(const recorded_run& run, const report_options& how) {
  return answer_of(rank_cells(run, how.baseline), how.baseline);
}

}  // namespace kselect::cli
