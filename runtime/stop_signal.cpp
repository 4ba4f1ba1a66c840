#include "runtime/stop_signal.hpp"

#include <atomic>
#include <cerrno>
#include <unistd.h>

namespace kselect::runtime {
namespace {

// A signal handler may write it, and other threads read it: it has no lock.
std::atomic<bool> stop_was_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);
std::string_view line;  // changes only while no handler is installed

// Calls only what a handler may call.
void hear(int) {
  const int before = errno;
  stop_was_requested = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  // A line that cannot be written changes nothing, also where nobody reads.
  struct sigaction ignored {};
  struct sigaction former {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignored, &former);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  sigaction(SIGPIPE, &former, nullptr);
  errno = before;
}

}  // namespace

stop_on_signal::stop_on_signal(std::string_view said) {
  stop_was_requested = false;
  line = said;
  struct sigaction ours {};
  ours.sa_handler = hear;
  ours.sa_flags = SA_RESTART;
  sigaction(SIGINT, &ours, &old_interrupt_);
  sigaction(SIGTERM, &ours, &old_terminate_);
}

stop_on_signal::~stop_on_signal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool stop_requested() { return stop_was_requested; }

}  // namespace kselect::runtime
