#include "cli/job_progress.hpp"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/progress.hpp"
#include "runtime/error.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

constexpr double terminal_pause_s = 0.1;
// In a log the pauses between two lines double, from the first to the longest.
constexpr double first_pause_s = 2, longest_pause_s = 60;

}  // namespace

job_progress::job_progress(std::string unit, std::string kept)
    : unit_(std::move(unit)), kept_(std::move(kept)), terminal_(isatty(STDERR_FILENO) != 0) {}

job_progress::~job_progress() {
  if (shows_) clear_progress_line();
}

void job_progress::begin(std::string step, std::int64_t all, std::int64_t before) {
  step_ = std::move(step);
  all_ = all;
  before_ = done_ = before;
  passes_ = 0;
  begin_s_ = progress_clock_s();
  pause_s_ = terminal_ ? terminal_pause_s : first_pause_s;
  next_s_ = begin_s_ + pause_s_;
}

double job_progress::seconds_left(double now_s) const {
  const double each =
      (now_s - begin_s_) / static_cast<double>(std::max<std::int64_t>(done_ - before_, 1));
  return each * static_cast<double>(all_ - done_);
}

std::string job_progress::outcome() const {
  return fmt::format("{} of {} {} {}", done_, all_, unit_, step_);
}

void job_progress::reached(std::int64_t done) {
  done_ = passes_ + done;
  const double now = progress_clock_s();
  if (shows_ && done_ >= all_) {
    clear_progress_line();
    shows_ = false;
  }
  if (now < next_s_ || done_ >= all_) return;
  if (!terminal_) pause_s_ = std::min(2 * pause_s_, longest_pause_s);
  next_s_ = now + pause_s_;
  const std::string left = format_duration(seconds_left(now)) + " left";
  if (terminal_) {
    show_progress_line(done_, all_,
                       fmt::format("{}/{} {} {}  {}", done_, all_, unit_, step_, left));
    shows_ = true;
  } else {
    print_message("{}, {}\n", outcome(), left);
  }
}

void job_progress::pass_ended() {
  passes_ = done_;
  end_if_stopping();
}

void job_progress::end_if_stopping() const {
  if (!stopping()) return;
  throw error(failure::interrupted, fmt::format("interrupted: {}; {}", outcome(), kept_));
}

}  // namespace kselect::cli
