// What all backends share.

#include "runtime/backend/backend.hpp"

#include <chrono>

namespace kselect::runtime {

timed_run backend::wall_time(const std::function<status()>& enqueue) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  status outcome = enqueue();
  const status finished = synchronise();
  const auto end = clock::now();
  if (outcome.ok()) outcome = finished;
  return {std::move(outcome), std::chrono::duration<double, std::nano>(end - begin).count()};
}

std::optional<graph_capture> backend::capture(const std::function<status()>&) {
  return std::nullopt;
}

bool backend::escapes_queue(const std::function<status()>&, std::span<const memory_range>, double) {
  return false;
}

}  // namespace kselect::runtime
