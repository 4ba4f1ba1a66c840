#include "harness/run/turn_steps.hpp"

namespace kselect::harness {
namespace {

cell_status status_of(const status& result) {
  switch (result.code) {
    case status_code::unsupported:
      return cell_status::unsupported;
    case status_code::out_of_memory:
      return cell_status::out_of_memory;
    default:
      return cell_status::error;
  }
}

// Cold pages cost more time on a host.
constexpr double long_call_ns_on_gpu = 1e8;
constexpr double long_call_ns_on_host = 1e9;

}  // namespace

cell_status status_of(const error& thrown, const contender& c) {
  if (thrown.category() == failure::resources) return cell_status::out_of_memory;
  if (c.what->task == nullptr) return cell_status::error;
  if (thrown.category() == failure::wrong_answer) return cell_status::wrong;
  return thrown.category() == failure::unsupported ? cell_status::unsupported : cell_status::error;
}

bool is_long_call(double nanoseconds, const backend& place) {
  return nanoseconds >= (place.shares_host_memory() ? long_call_ns_on_host : long_call_ns_on_gpu);
}

double seconds_since(turn_clock::time_point begin) {
  return std::chrono::duration<double>(turn_clock::now() - begin).count();
}

void end(contender& c, cell_status how, std::string reason) {
  c.outcome.status = how;
  c.outcome.reason = std::move(reason);
}

bool went_well(contender& c, const status& result, const std::string& when) {
  if (result.ok()) return true;
  end(c, status_of(result), when + result.message);
  return false;
}

void look_at_gpu(contender& c, const gpu_watch& watch, round_samples& taken) {
  const gpu_state seen = watch.look();
  if (!c.outcome.gpu) c.outcome.gpu.emplace();
  c.outcome.gpu->add(seen);
  taken.throttled = taken.throttled || slows_down(seen.event_reasons.value_or(0));
}

}  // namespace kselect::harness
