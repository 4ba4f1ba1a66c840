#pragma once
// How work that takes long hears that the user wants it to end.

#include <csignal>

namespace kselect::runtime {

// While it lives, the first SIGINT or SIGTERM makes stop_requested() true. A second signal of the
// same kind has its default effect. One lives at a time.
class stop_on_signal {
 public:
  stop_on_signal();
  ~stop_on_signal();
  stop_on_signal(const stop_on_signal&) = delete;
  stop_on_signal& operator=(const stop_on_signal&) = delete;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

// Whether a signal came while the last stop_on_signal lived. Any thread may ask.
bool stop_requested();

}  // namespace kselect::runtime
