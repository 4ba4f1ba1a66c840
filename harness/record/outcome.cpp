#include "harness/record/outcome.hpp"

#include <algorithm>

namespace kselect::harness {

void gpu_span::add(const gpu_state& seen) {
  event_reasons |= seen.event_reasons.value_or(0);
  if (seen.temperature_c) {
    coolest_c = std::min(coolest_c.value_or(*seen.temperature_c), *seen.temperature_c);
    hottest_c = std::max(hottest_c.value_or(*seen.temperature_c), *seen.temperature_c);
  }
  if (seen.power_w) most_power_w = std::max(most_power_w.value_or(0), *seen.power_w);
}

}  // namespace kselect::harness
