#pragma once
// How work that takes long hears that the user wants it to end.

#include <csignal>
#include <string_view>

namespace kselect::runtime {

// While it lives, the first SIGINT or SIGTERM makes stop_requested() true. The second, of either
// kind, has its default effect. One lives at a time.
class stop_on_signal {
 public:
  // `said`: a line for standard error, written when the first signal comes, for work that goes on
  // for seconds. It must outlive this object.
  explicit stop_on_signal(std::string_view said = {});
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
