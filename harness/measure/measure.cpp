#include "harness/measure/measure.hpp"

#include <chrono>

namespace kselect {

measurement measure(const timed_work& work, const measure_policy& policy) {
  using clock = std::chrono::steady_clock;
  measurement taken;
  taken.time.clock = work.clock;
  for (int i = 0; i < policy.warmup; ++i) {
    work.prepare();
    taken.failed = work.run().outcome;
    if (!taken.failed.ok()) return taken;
  }
  const auto deadline =
      clock::now() + std::chrono::duration_cast<clock::duration>(
                         std::chrono::duration<double>(policy.max_seconds));
  for (;;) {
    work.prepare();
    const timed_run run = work.run();
    taken.failed = run.outcome;
    if (!taken.failed.ok()) return taken;
    taken.time.samples_ns.push_back(run.nanoseconds);

    const auto count = static_cast<int>(taken.time.samples_ns.size());
    taken.time.result = summarise(taken.time.samples_ns);
    if (count >= policy.min_samples &&
        taken.time.result.relative_interval() <= policy.target_spread) {
      taken.time.stop = "spread";
    } else if (count >= policy.max_samples) {
      taken.time.stop = "max_samples";
    } else if (clock::now() >= deadline) {
      // The interval of fewer than min_samples is wide but honest: it is recorded with the reason.
      taken.time.stop = "max_seconds";
    } else {
      continue;
    }
    return taken;
  }
}

}  // namespace kselect
