#include "harness/export/text_tables.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kselect/simt/counters.hpp"
#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::harness {
namespace {

using compare::recorded_cell;
using compare::recorded_run;

// Columns on a terminal: the continuation bytes of UTF-8 take none.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string to_left(std::string_view text, std::size_t width) {
  std::string padded(text);
  padded.append(width - std::min(width, columns_of(text)), ' ');
  return padded;
}
std::string to_right(std::string_view text, std::size_t width) {
  std::string padded(width - std::min(width, columns_of(text)), ' ');
  return padded.append(text);
}

// What tells rows apart beyond n, Q and k, without what is usual: "float16 uniform largest".
std::string kind_of(const recorded_problem& p) {
  const workload usual;
  std::vector<std::string> words;
  if (p.type != usual.type) words.emplace_back(to_string(p.type));
  words.emplace_back(to_string(p.distribution));
  if (p.direction != usual.direction) words.emplace_back(to_string(p.direction));
  if (p.payload != usual.payload) words.emplace_back(to_string(p.payload));
  if (p.index != usual.index && p.has_indices()) words.emplace_back(to_string(p.index));
  if (!p.settings.empty()) words.push_back(p.settings.substr(1));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string sizes_of(const workload& p) { return fmt::format("{:>9} {:>7} {:>6}", p.n, p.q, p.k); }
std::string sizes_head() { return fmt::format("{:>9} {:>7} {:>6}", "n", "Q", "k"); }

bool on_one_executor(const std::vector<ranking>& rankings) {
  return std::ranges::all_of(
      rankings, [&](const ranking& r) { return r.executor == rankings.front().executor; });
}

std::string time_text(const ranked_cell& c) {
  return (c.first ? "*" : "") + format_time(c.cell->time->median, half_interval(*c.cell->time));
}
std::string factor_text(const std::optional<double>& factor) {
  if (!factor) return "-";
  if (*factor < 0.0995) return fmt::format("{:.2g}", *factor);
  return fmt::format("{:.{}f}", *factor, *factor < 9.95 ? 2 : 1);
}

// Lines of cells that are padded to columns of equal width. All but the last go to the right.
class grid {
 public:
  void add(std::vector<std::string> line) {
    widths_.resize(std::max(widths_.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths_[i] = std::max(widths_[i], columns_of(line[i]));
    }
    lines_.push_back(std::move(line));
  }
  void left(std::size_t column) { left_.push_back(column); }
  std::size_t width() const {
    std::size_t all = 0;
    for (const std::size_t one : widths_) all += one + 2;
    return all - std::min<std::size_t>(all, 2);
  }
  std::string text() const {
    std::string all;
    for (const auto& line : lines_) {
      std::string padded;
      for (std::size_t i = 0; i < line.size(); ++i) {
        const bool to_the_left = std::ranges::find(left_, i) != left_.end();
        padded += (i == 0 ? "" : "  ") +
                  (to_the_left ? to_left(line[i], widths_[i]) : to_right(line[i], widths_[i]));
      }
      padded.erase(padded.find_last_not_of(' ') + 1);
      all += padded + '\n';
    }
    return all;
  }

 private:
  std::vector<std::vector<std::string>> lines_;
  std::vector<std::size_t> widths_, left_;
};

std::string title_of(const ranking& r) {
  const recorded_problem& p = r.problem;
  return fmt::format("n = {}, Q = {}, k = {}, {}, on {}", p.n, p.q, p.k, kind_of(p), r.executor);
}

// One line for all cells of a problem with one status and reason.
std::string untimed_lines(const ranking& r) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const recorded_cell* const cell : r.untimed) {
    if (cell->status == cell_status::ok) continue;
    const std::string why = fmt::format("{}: {}", to_string(cell->status), one_line(cell->reason));
    const auto same =
        std::ranges::find(by_reason, why, [](const auto& each) { return each.first; });
    if (same == by_reason.end()) {
      by_reason.push_back({why, {cell->algorithm}});
    } else {
      same->second.push_back(cell->algorithm);
    }
  }
  std::string text;
  for (const auto& [why, names] : by_reason) {
    text += fmt::format("  {}: {}\n", fmt::join(names, ", "), why);
  }
  return text;
}

std::string ranked_lines(const ranking& r) {
  grid lines;
  lines.left(4);
  lines.add({"", "time", r.baseline == nullptr ? "" : "x baseline", "of ceiling", "algorithm"});
  for (const ranked_cell& c : r.timed) {
    lines.add({"", time_text(c), r.baseline == nullptr ? "" : factor_text(c.factor),
               c.share ? fmt::format("{:.0f} %", 100 * *c.share) : std::string("-"),
               c.cell->algorithm + (c.cell == r.baseline ? "  (baseline)" : "")});
  }
  return lines.text();
}

// The algorithms of a table's columns, in the order of first appearance.
std::vector<std::string> algorithms_of(const std::vector<ranking>& rankings) {
  std::vector<std::string> names;
  const auto see = [&](const recorded_cell& cell) {
    if (std::ranges::find(names, cell.algorithm) == names.end()) names.push_back(cell.algorithm);
  };
  // Ranked lists are sorted by time, so they would order the columns by the first problem's times.
  std::vector<const recorded_cell*> cells;
  for (const ranking& r : rankings) {
    for (const ranked_cell& c : r.timed) cells.push_back(c.cell);
    cells.insert(cells.end(), r.untimed.begin(), r.untimed.end());
  }
  std::ranges::sort(cells);  // cells of one run lie in one array: the run's order
  for (const recorded_cell* const cell : cells) see(*cell);
  return names;
}

std::string entry_of(const ranking& r, const std::string& algorithm) {
  for (const ranked_cell& c : r.timed) {
    if (c.cell->algorithm == algorithm) return time_text(c);
  }
  for (const recorded_cell* const cell : r.untimed) {
    if (cell->algorithm != algorithm) continue;
    return cell->status == cell_status::ok ? "proven" : std::string(to_string(cell->status));
  }
  return "-";
}

// What algorithms differ in comes first; the shape of a launch comes last.
auto by_interest() {
  auto counters = names<simt::counter>;
  std::ranges::rotate(counters, std::ranges::find(counters, simt::counter::global_reads,
                                                  &named<simt::counter>::value));
  return counters;
}

std::int64_t count_of(const recorded_cell& cell, std::string_view counter) {
  const auto found = cell.counters.find(std::string(counter));
  return found == cell.counters.end() ? 0 : found->second;
}

std::vector<const recorded_cell*> counted_cells(const std::vector<ranking>& rankings) {
  std::vector<const recorded_cell*> cells;
  for (const ranking& r : rankings) {
    for (const recorded_cell* const cell : r.untimed) {
      if (cell->status == cell_status::ok && !cell->counters.empty()) cells.push_back(cell);
    }
  }
  return cells;
}

}  // namespace

std::string cells_table(const std::vector<ranking>& rankings) {
  std::string text;
  for (const ranking& r : rankings) {
    if (!text.empty()) text += '\n';
    text += title_of(r) + '\n';
    if (!r.timed.empty()) text += ranked_lines(r);
    text += untimed_lines(r);
  }
  return text;
}

std::optional<std::string> pivot_table(const std::vector<ranking>& rankings, std::size_t width) {
  if (std::ranges::all_of(rankings, [](const ranking& r) { return r.timed.empty(); })) return {};
  const std::vector<std::string> columns = algorithms_of(rankings);
  const bool one = on_one_executor(rankings);
  grid lines;
  lines.left(1);
  std::vector<std::string> head = {sizes_head(), one ? "rows" : "rows, executor"};
  head.insert(head.end(), columns.begin(), columns.end());
  lines.add(head);
  for (const ranking& r : rankings) {
    std::vector<std::string> line = {sizes_of(r.problem),
                                     kind_of(r.problem) + (one ? "" : ", " + r.executor)};
    for (const std::string& column : columns) line.push_back(entry_of(r, column));
    lines.add(std::move(line));
  }
  if (lines.width() > width) return std::nullopt;
  return lines.text();
}

std::string winners_table(const std::vector<ranking>& rankings) {
  const bool one = on_one_executor(rankings);
  grid lines;
  lines.left(1);
  lines.left(4);
  lines.add({sizes_head(), one ? "rows" : "rows, executor", "time", "x baseline", "fastest"});
  for (const ranking& r : rankings) {
    std::string rows = kind_of(r.problem) + (one ? "" : ", " + r.executor);
    if (r.timed.empty()) {
      lines.add({sizes_of(r.problem), std::move(rows), "-", "-", "none has a time"});
      continue;
    }
    std::vector<std::string> firsts;
    for (const ranked_cell& c : r.timed) {
      if (c.first) firsts.push_back(c.cell->algorithm);
    }
    const ranked_cell& best = r.timed.front();
    lines.add({sizes_of(r.problem), std::move(rows),
               format_time(best.cell->time->median, half_interval(*best.cell->time)),
               factor_text(best.factor), fmt::format("{}", fmt::join(firsts, ", "))});
  }
  return lines.text();
}

std::string counted_table(const std::vector<ranking>& rankings, std::size_t width) {
  const std::vector<const recorded_cell*> cells = counted_cells(rankings);
  if (cells.empty()) return {};
  std::vector<std::string> rows = {fmt::format("{}  algorithm", sizes_head())};
  for (const recorded_cell* const cell : cells) {
    rows.push_back(fmt::format("{}  {}", sizes_of(cell->problem), cell->algorithm));
  }
  std::size_t taken = columns_of(*std::ranges::max_element(rows, {}, &columns_of));
  for (std::string& row : rows) row = to_left(row, taken);
  std::vector<std::string_view> left_out;
  for (const auto& each : by_interest()) {
    std::vector<std::string> column = {std::string(each.name)};
    for (const recorded_cell* const cell : cells) {
      column.push_back(fmt::format("{}", count_of(*cell, each.name)));
    }
    if (std::all_of(column.begin() + 1, column.end(), [](const auto& s) { return s == "0"; })) {
      continue;
    }
    const std::size_t wide = columns_of(*std::ranges::max_element(column, {}, &columns_of));
    if (taken + 2 + wide > width) {
      left_out.push_back(each.name);
      continue;
    }
    taken += 2 + wide;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += "  " + to_right(column[i], wide);
  }
  std::string text = fmt::format("{}\n", fmt::join(rows, "\n"));
  if (!left_out.empty()) {
    text += fmt::format("Also counted, but too wide for here: {}\n", fmt::join(left_out, ", "));
  }
  return text;
}

std::string counts_text(const recorded_run& run) {
  std::map<cell_status, std::size_t> counts;
  for (const recorded_cell& cell : run.cells) ++counts[cell.status];
  std::string text = fmt::format("{}", runtime::amount_of(run.cells.size(), "cell"));
  for (const auto& [status, count] : counts) {
    text += fmt::format(", {} {}", count, to_string(status));
  }
  return text;
}

}  // namespace kselect::harness
