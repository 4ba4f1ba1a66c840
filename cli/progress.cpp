#include "cli/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/format.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

// A cell that is ok without a time had nothing to select, or ran on fibers, which are never timed.
std::string outcome_text(const finished_cell& c) {
  if (c.median_ns) return format_time(*c.median_ns);
  if (c.status == cell_status::ok) return "proven";
  return fmt::format("{}: {}", to_string(c.status), c.reason);
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

double progress_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void show_progress_line(std::int64_t done, std::int64_t all, const std::string& text) {
  constexpr std::int64_t width = 20;
  const auto filled = static_cast<std::size_t>(all == 0 ? width : width * done / all);
  std::string line =
      fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '.'), text);
  line.resize(std::min(line.size(), terminal_width() - 1));
  print_message("\r\033[K{}", line);
  std::fflush(stderr);
}

void clear_progress_line() { print_message("\r\033[K"); }

void progress::planned(const shard_cells& cells, std::size_t done) {
  total_ = cells.size() - done;
  begin_s_ = progress_clock_s();
  std::size_t impossible = 0;
  // To go through a longer plan takes minutes; its records say what did not fit.
  const bool listed = cells.size() <= static_cast<std::size_t>(most_listed);
  for (auto at = cells.begin(); listed && at != cells.end(); ++at) {
    const cell& c = *at;
    if (c.foreseen != cell_status::out_of_memory) continue;
    note(fmt::format("will not fit: {} on {}: {}", name_of(c), problem_of(c), c.reason));
    ++impossible;
  }
  print_message("{}{}{}\n", amount_of(cells.size(), "cell"),
                done == 0 ? "" : fmt::format(", {} done before", done),
                impossible == 0 ? "" : fmt::format(", too large for memory: {}", impossible));
}

double progress::seconds_left() const {
  if (finished_ == 0) return 0;
  const double each = (progress_clock_s() - begin_s_) / static_cast<double>(finished_);
  return each * static_cast<double>(total_ - finished_);
}

void progress::starting(const cell& c) {
  if (!terminal_) return;
  show_progress_line(
      static_cast<std::int64_t>(finished_), static_cast<std::int64_t>(total_),
      fmt::format("{}/{}{}  {}  {}", finished_ + 1, total_,
                  finished_ == 0 ? std::string() : "  " + format_duration(seconds_left()) + " left",
                  name_of(c), short_title_of(c)));
}

void progress::finished(const finished_cell& c) {
  ++finished_;
  if (!terminal_) {
    print_message("[{}/{}] {} {}: {}\n", finished_, total_, name_of(*c.what),
                  short_title_of(*c.what), outcome_text(c));
  }
  if (terminal_ && finished_ == total_) clear_progress_line();
}

void progress::note(const std::string& line) {
  print_message("{}kselect: {}\n", terminal_ ? "\r\033[K" : "", line);
}

void print_counts(const sweep_result& result) {
  std::map<cell_status, std::size_t> counts;
  for (const finished_cell& c : result.cells) ++counts[c.status];
  fmt::print("{} run", amount_of(result.cells.size(), "cell"));
  for (const auto& [status, count] : counts) fmt::print(", {} {}", count, to_string(status));
  if (result.skipped != 0) fmt::print("; {} done before", result.skipped);
  fmt::print("{}\n", result.interrupted ? "; interrupted, continue with --resume" : "");
}

namespace {

void print_counted_plan(const sweep_part& part) {
  for (const auto& each : part.counts) {
    fmt::print("{:<22} {:<5}  {}\n", each.algorithm, to_string(each.executor),
               amount_of(each.cells, "cell"));
  }
  fmt::print(
      "A plan of more than {} cells is counted and not listed; --filter lists a part of it.\n",
      most_listed);
}

void print_cells(const sweep_part& part) {
  for (const cell& c : part.cells) {
    fmt::print("{}  {:<22} {:<5}  {}{}\n", c.key, name_of(c), to_string(c.executor), problem_of(c),
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
    print_counted_plan(part);
  }
  if (part.shard.count == 1) return fmt::print("{}\n", amount_of(part.cells.size(), "cell"));
  fmt::print("{} of {}, shard {}/{}; of the longest shard's predicted time {:.0f} %\n",
             part.cells.size(), amount_of(part.cells_of_all, "cell"), part.shard.index,
             part.shard.count,
             100.0 * static_cast<double>(part.predicted_us) /
                 static_cast<double>(part.longest_predicted_us));
}

}  // namespace kselect::cli
