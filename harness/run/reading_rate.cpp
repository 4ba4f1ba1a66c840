#include "harness/run/reading_rate.hpp"

#include <algorithm>
#include <array>

#include "harness/measure/pinning.hpp"
#include "harness/measure/statistics.hpp"

namespace kselect {
namespace {

// Rows that were just made take several readings to settle in a cache.
constexpr int least_samples = 3, most_samples = 9;
constexpr double long_turn_s = 0.05;
// Fewer bytes are read several times, for the clock and the threads' start.
constexpr std::size_t least_bytes = std::size_t{1} << 20;

}  // namespace

void reading_rate::take_turn(const input_rows& rows, const measure_policy& policy, backend& place) {
  const memory_range bytes{rows.device(), rows.bytes()};
  if (bytes.empty()) return;
  const pinned_team pinned(threads_);
  const bool flushed = policy.cache == cpu_cache::flushed;
  const auto repeated = static_cast<int>(std::max<std::size_t>(least_bytes / bytes.size(), 1));
  const int readings = flushed ? 1 : repeated;
  for (int i = 0; i < policy.warmup && !flushed; ++i) place.seconds_to_read(bytes, threads_, 1);
  double best = 0, seconds = 0;
  for (int i = 0; i < most_samples && (i < least_samples || seconds < long_turn_s); ++i) {
    if (flushed) place.evict(std::array{bytes});
    const auto taken = place.seconds_to_read(bytes, threads_, readings);
    if (!taken || *taken <= 0) return;
    seconds += *taken * readings;
    best = std::max(best, static_cast<double>(bytes.size()) / *taken);
  }
  rounds_.push_back(best);
}

double reading_rate::bytes_per_second() const {
  return rounds_.empty() ? 0 : summarise(rounds_).median;
}

}  // namespace kselect
