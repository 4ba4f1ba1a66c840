#pragma once
// What a user sees of a sweep: a progress line on a terminal or, elsewhere (CI logs), a line per
// cell; and the table at the end.

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

// Prints the medians, one row per problem and one column per algorithm, with the fastest marked.
// Then prints how many cells ended how, and the reasons of those that are not ok.
void print_summary(const sweep_result& result);

// Prints where each cell of a sweep would run, or why it cannot. Beyond most_listed: how many cells
// each algorithm and executor has.
void print_plan(const sweep_part& part);

}  // namespace kselect::cli
