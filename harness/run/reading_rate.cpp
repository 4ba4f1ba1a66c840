#include "harness/run/reading_rate.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "harness/measure/pinning.hpp"
#include "harness/measure/statistics.hpp"

namespace kselect::harness {
namespace {

// Most readings a turn. New rows take several readings to settle in a cache.
constexpr int most_samples = 9;
constexpr double long_turn_s = 0.05;  // a turn ends with the reading that passes this
// Fewest bytes a thread in one timed reading, for the clock. Shorter rows are read repeatedly.
constexpr std::size_t least_bytes = std::size_t{1} << 20;

}  // namespace

void reading_rate::take_turn(const input_rows& rows, const measure_policy& policy, backend& place) {
  const memory_range bytes{rows.device(), rows.bytes()};
  if (bytes.empty()) return;
  const pinned_team pinned(threads_);
  const bool flushed = policy.cache == cpu_cache::flushed;
  const std::size_t wanted = least_bytes * static_cast<std::size_t>(threads_);
  const auto repeated = static_cast<int>(std::max<std::size_t>(wanted / bytes.size(), 1));
  const int readings = flushed ? 1 : repeated;
  const auto begin = std::chrono::steady_clock::now();
  const auto is_long = [&] {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() >= long_turn_s;
  };
  for (int i = 0; i < policy.warmup && !flushed && !is_long(); ++i) {
    place.seconds_to_read(bytes, threads_, 1);
  }
  double best = 0;
  for (int i = 0; i == 0 || (i < most_samples && !is_long()); ++i) {
    if (flushed) place.evict(std::array{bytes});
    const auto taken = place.seconds_to_read(bytes, threads_, readings);
    if (!taken || *taken <= 0) return;
    best = std::max(best, static_cast<double>(bytes.size()) / *taken);
  }
  rounds_.push_back(best);
}

double reading_rate::bytes_per_second() const {
  return rounds_.empty() ? 0 : summarise(rounds_).median;
}

}  // namespace kselect::harness
