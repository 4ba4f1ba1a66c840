#include "cli/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Rows and direction, without type and direction if these are usual: "float16 uniform largest".
std::string rows_of(const workload& p) {
  const bool usual = p.type == dtype::float32, smallest = p.direction == direction::smallest;
  return fmt::format("{}{}{}{}", usual ? "" : to_string(p.type), usual ? "" : " ",
                     to_string(p.distribution), smallest ? "" : " largest");
}

std::string title(const workload& p) {
  return fmt::format("n={} Q={} k={} {}", p.n, p.q, p.k, rows_of(p));
}

// A cell that is ok without a time had nothing to select, or ran on fibers, which are never timed.
std::string outcome_text(const finished_cell& c) {
  if (c.median_ns) return format_time(*c.median_ns);
  if (c.status == cell_status::ok) return "proven";
  return fmt::format("{}: {}", to_string(c.status), c.reason);
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  return whole < 60 ? fmt::format("{} s", whole)
                    : fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace

void progress::planned(const shard_cells& cells, std::size_t done) {
  total_ = cells.size() - done;
  begin_s_ = now_s();
  std::size_t impossible = 0;
  // To go through a longer plan takes minutes; its records say what did not fit.
  const bool listed = cells.size() <= static_cast<std::size_t>(most_listed);
  for (auto at = cells.begin(); listed && at != cells.end(); ++at) {
    const cell& c = *at;
    if (c.foreseen != cell_status::out_of_memory) continue;
    note(fmt::format("will not fit: {} on {}: {}", c.entry->algorithm->name, to_string(c.problem),
                     c.reason));
    ++impossible;
  }
  print_message("{} cells{}{}\n", cells.size(),
                done == 0 ? "" : fmt::format(", {} done before", done),
                impossible == 0 ? "" : fmt::format(", {} do not fit into memory", impossible));
}

double progress::seconds_left() const {
  if (finished_ == 0) return 0;
  const double each = (now_s() - begin_s_) / static_cast<double>(finished_);
  return each * static_cast<double>(total_ - finished_);
}

void progress::starting(const cell& c) {
  if (!terminal_) return;
  constexpr std::size_t width = 20;
  const std::size_t filled = total_ == 0 ? width : width * finished_ / total_;
  std::string line =
      fmt::format("[{}{}] {}/{}{}  {}  {}", std::string(filled, '#'),
                  std::string(width - filled, '.'), finished_ + 1, total_,
                  finished_ == 0 ? std::string() : "  " + format_duration(seconds_left()) + " left",
                  c.entry->algorithm->name, title(c.problem));
  line.resize(std::min(line.size(), terminal_width() - 1));
  print_message("\r\033[K{}", line);
  std::fflush(stderr);
}

void progress::finished(const finished_cell& c) {
  ++finished_;
  if (!terminal_) {
    print_message("[{}/{}] {} {}: {}\n", finished_, total_, c.what->entry->algorithm->name,
                  title(c.what->problem), outcome_text(c));
  }
  if (terminal_ && finished_ == total_) print_message("\r\033[K");
}

void progress::note(const std::string& line) {
  print_message("{}kselect: {}\n", terminal_ ? "\r\033[K" : "", line);
}

namespace {

// Rows and columns are in the order of first appearance.
struct summary_table {
  std::vector<std::string> rows, columns;
  std::size_t row_width = 44;  // the longest row title's, at least 44
  std::map<std::pair<std::string, std::string>, const finished_cell*> cells;
};

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

std::string row_title(const workload& p) {
  return fmt::format("{:>9} {:>7} {:>6}  {}", p.n, p.q, p.k, rows_of(p));
}

summary_table tabulate(const sweep_result& result) {
  summary_table table;
  for (const finished_cell& c : result.cells) {
    const std::string row = row_title(c.what->problem);
    const std::string column{c.what->entry->algorithm->name};
    add_once(table.rows, row);
    table.row_width = std::max(table.row_width, row.size());
    add_once(table.columns, column);
    table.cells.insert_or_assign({row, column}, &c);
  }
  return table;
}

void print_row(const summary_table& table, const std::string& row) {
  double best = INFINITY;
  for (const std::string& column : table.columns) {
    const auto found = table.cells.find({row, column});
    if (found != table.cells.end()) {
      best = std::min(best, found->second->median_ns.value_or(INFINITY));
    }
  }
  fmt::print("{:<{}}", row, table.row_width);
  for (const std::string& column : table.columns) {
    const auto found = table.cells.find({row, column});
    std::string text = "-";
    if (found != table.cells.end()) {
      const finished_cell& c = *found->second;
      text = c.median_ns ? format_time(*c.median_ns) : std::string(to_string(c.status));
      if (c.median_ns == best) text = "*" + text;
    }
    fmt::print("  {:>{}}", text, std::max<std::size_t>(column.size(), 9));
  }
  fmt::print("\n");
}

}  // namespace

void print_summary(const sweep_result& result) {
  const summary_table table = tabulate(result);
  if (!table.rows.empty()) {
    fmt::print("{:<{}}", fmt::format("{:>9} {:>7} {:>6}  distribution", "n", "Q", "k"),
               table.row_width);
    for (const std::string& column : table.columns) fmt::print("  {:>9}", column);
    fmt::print("\n");
    for (const std::string& row : table.rows) print_row(table, row);
    fmt::print(
        "Median of all Q rows; * fastest of the row. Every answer proven before and after.\n");
  }
  std::map<cell_status, std::size_t> counts;
  for (const finished_cell& c : result.cells) ++counts[c.status];
  fmt::print("{} cells run", result.cells.size());
  for (const auto& [status, count] : counts) fmt::print(", {} {}", count, to_string(status));
  if (result.skipped != 0) fmt::print("; {} done before", result.skipped);
  fmt::print("{}\n", result.interrupted ? "; interrupted, continue with --resume" : "");
  for (const finished_cell& c : result.cells) {
    if (c.status == cell_status::ok || c.status == cell_status::unsupported) continue;
    fmt::print("  {} {}: {}: {}\n", c.what->entry->algorithm->name, to_string(c.what->problem),
               to_string(c.status), c.reason);
  }
}

namespace {

void print_counts(const sweep_part& part) {
  for (const auto& each : part.counts) {
    fmt::print("{:<22} {:<5}  {} cells\n", each.algorithm, to_string(each.executor), each.cells);
  }
  fmt::print(
      "A plan of more than {} cells is counted and not listed; --filter lists a part of it.\n",
      most_listed);
}

void print_cells(const sweep_part& part) {
  for (const cell& c : part.cells) {
    fmt::print("{}  {:<22} {:<5}  {}{}\n", c.key, c.entry->algorithm->name, to_string(c.executor),
               to_string(c.problem),
               c.foreseen == cell_status::ok
                   ? ""
                   : fmt::format("  [{}: {}]", to_string(c.foreseen), c.reason));
  }
}

}  // namespace

void print_plan(const sweep_part& part) {
  if (part.cells.size() <= static_cast<std::size_t>(most_listed)) {
    print_cells(part);
  } else {
    print_counts(part);
  }
  if (part.shard.count == 1) return fmt::print("{} cells\n", part.cells.size());
  fmt::print("{} of {} cells, shard {}/{}; of the longest shard's predicted time {:.0f} %\n",
             part.cells.size(), part.cells_of_all, part.shard.index, part.shard.count,
             100.0 * static_cast<double>(part.predicted_us) /
                 static_cast<double>(part.longest_predicted_us));
}

}  // namespace kselect::cli
