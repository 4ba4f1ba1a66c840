#include "runtime/stop_signal.hpp"

#include <atomic>

namespace kselect::runtime {
namespace {

// A signal handler may write it, and other threads read it: it has no lock.
std::atomic<bool> stop_was_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

stop_on_signal::stop_on_signal() {
  stop_was_requested = false;
  struct sigaction ours {};
  ours.sa_handler = [](int) { stop_was_requested = true; };
  ours.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &ours, &old_interrupt_);
  sigaction(SIGTERM, &ours, &old_terminate_);
}

stop_on_signal::~stop_on_signal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool stop_requested() { return stop_was_requested; }

}  // namespace kselect::runtime
