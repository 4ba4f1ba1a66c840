#pragma once
// What a user sees of a sweep: a progress line on a terminal or, elsewhere (CI logs), a line per
// cell; and the counts at the end. run_report.hpp has the table.

#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "harness/run/sweep.hpp"
#include "runtime/format.hpp"

namespace kselect::cli {

class progress final : public sweep_observer {
 public:
  explicit progress(bool terminal) : terminal_(terminal) {}

  void planned(const shard_cells& cells, std::size_t done) override;
  void starting(const cell& c) override;
  void finished(const finished_cell& c) override;
  void note(const std::string& line) override;

 private:
  double seconds_left() const;

  bool terminal_;
  std::size_t total_ = 0;     // cells to run now
  std::size_t finished_ = 0;  // of these
  double begin_s_ = 0;
};

// "40 s", "2 min 10 s", "3 h 5 min"
std::string format_duration(double seconds);

// The clock by which the time left is estimated.
double progress_clock_s();
// On a terminal: replaces the line of progress by a bar and `text`; removes it.
void show_progress_line(std::int64_t done, std::int64_t all, const std::string& text);
void clear_progress_line();

// Prints how many cells were run now, how these ended, and how many were done before.
void print_counts(const sweep_result& result);

// Prints where each cell of a sweep would run, or why it cannot. Beyond most_listed: how many cells
// each algorithm and executor has.
void print_plan(const sweep_part& part);

}  // namespace kselect::cli
