// Whether an entry on the host goes on after it has returned: then its time is not that of its
// work.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "harness/run/trial.hpp"
#include "harness/run/turn_steps.hpp"

namespace kselect::harness {
namespace {

// Processor time of threads other than this one that is work, and not the system's: so much, and
// this part of a run. (A GPU's driver has a thread that wakes all the time.)
constexpr double least_work_s = 1e-4, least_part = 0.01;

double seconds_by(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// Processor time that all other threads of this process have used.
double seconds_of_other_threads() {
  return seconds_by(CLOCK_PROCESS_CPUTIME_ID) - seconds_by(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// OpenMP's waiting threads spin for so long if they get their processors. On a busy machine they
// spin on for a while.
constexpr double settling_s = 0.02;
// So an entry is blamed only if other threads worked each of so many times.
constexpr int most_looks = 8;

}  // namespace

std::string trial::works_later(double seconds) {
  double worked = 0;
  for (int look = 0; look < most_looks; ++look) {
    if (!entry_.threaded) sleep_for(settling_s);
    const double at_first = seconds_of_other_threads();
    const auto first = std::chrono::steady_clock::now();
    sleep_for(seconds);
    prepare();
    const double before = seconds_of_other_threads();
    const double idle = (before - at_first) / seconds_since(first);  // of a second
    const auto start = std::chrono::steady_clock::now();
    const status done = run();
    const double took = seconds_since(start);
    copy_answer();
    sleep_for(seconds);
    worked = seconds_of_other_threads() - before;
    const double allowed = 2 * idle * seconds_since(start) + least_part * took + least_work_s;
    const std::vector<std::byte> values = values_host_, indices = indices_host_;
    copy_answer();
    if (!done.ok()) return done.message;
    if (values != values_host_ || indices != indices_host_) {
      return "works after it has returned: its outputs changed later, by another thread";
    }
    if (entry_.threaded || worked < allowed) return {};
  }
  return fmt::format(
      "works on another thread, for {:.2g} ms, but does not declare that it is threaded",
      worked * 1e3);
}

}  // namespace kselect::harness
