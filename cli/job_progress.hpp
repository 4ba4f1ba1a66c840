#pragma once
// What a user sees of one long search or index: a line with a bar and the time left on a terminal;
// elsewhere now and then a line, so that the log of a long job shows that it goes on.

#include <string>

#include "cli/cli.hpp"
#include "runtime/job_watch.hpp"
#include "runtime/stop_signal.hpp"

namespace kselect::cli {

// While it lives, SIGINT and SIGTERM ask the work to end (stop_on_signal).
class job_progress final : public job_watch {
 public:
  // `unit`: what is counted, as in "queries". `kept`: what an end before the end leaves, and what
  // to do, as in "nothing was written".
  job_progress(std::string unit, std::string kept);
  ~job_progress() override;

  // A step of the work begins, which has `all` units, `before` of them done by an earlier run.
  void begin(std::string step, std::int64_t all, std::int64_t before = 0);
  // The step does the same work several times, once more from here: `reached` counts from 0 again.
  // Throws as end_if_stopping() does.
  void pass_ended();

  void reached(std::int64_t done) override;
  bool stopping() const override { return stop_requested(); }
  void end_if_stopping() const override;

 private:
  double seconds_left(double now_s) const;
  std::string outcome() const;

  stop_on_signal signals_;
  std::string unit_, kept_, step_;
  bool terminal_;
  bool shows_ = false;  // a line that must be cleared
  std::int64_t all_ = 0, before_ = 0, done_ = 0, passes_ = 0;
  double begin_s_ = 0, next_s_ = 0, pause_s_ = 0;
};

}  // namespace kselect::cli
