#pragma once
// What a user sees of a sweep: one line that is rewritten on a terminal, one line a cell elsewhere
// (CI logs), and the table at the end.

#include <string>
#include <vector>

#include "harness/run/sweep.hpp"
#include "runtime/format.hpp"

namespace kselect::cli {

class progress final : public sweep_observer {
 public:
  explicit progress(bool terminal) : terminal_(terminal) {}

  void planned(const std::vector<cell>& cells, std::size_t done) override;
  void starting(const cell& c) override;
  void finished(const finished_cell& c) override;
  void note(const std::string& line) override;

 private:
  double seconds_left() const;

  bool terminal_;
  std::size_t total_ = 0;     // cells to run now
  std::size_t finished_ = 0;  // of them
  double begin_s_ = 0;
};

// Medians, one row a problem, one column an algorithm, the fastest marked; then how many cells
// ended how, with the reasons of those that are not ok.
void print_summary(const sweep_result& result);

// The cells of a sweep that is not run: where each would run, or why it cannot.
void print_plan(const sweep_part& part);

}  // namespace kselect::cli
