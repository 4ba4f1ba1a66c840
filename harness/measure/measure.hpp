#pragma once
// How one cell is timed. Plain for now: single runs by the backend's clock, after warm-up, until the
// interval of the median is narrow. The caller sees only `timing`, so a better way changes nothing
// above.

#include <functional>
#include <string>
#include <vector>

#include "harness/backend/backend.hpp"
#include "harness/config/config.hpp"
#include "harness/measure/statistics.hpp"
#include "kselect/algorithm.hpp"

namespace kselect {

struct timing {
  std::string clock;               // "steady" (host wall time) or "cuda_event"
  std::vector<double> samples_ns;  // every sample, in the order taken; none is dropped
  summary result;                  // of samples_ns, in nanoseconds
  std::string stop;                // why it ended: "spread", "max_samples" or "max_seconds"
};

// What is timed: `prepare` runs outside the clock before every run (poisoned outputs, restored
// input), `run` is one run with its time.
struct timed_work {
  std::string clock;
  std::function<void()> prepare;
  std::function<timed_run()> run;
};

// Warm-ups, then samples until policy.target_spread, max_samples or max_seconds. A run that fails
// ends the measurement: its status is returned in `failed` and there is no result.
struct measurement {
  timing time;
  status failed;
};
measurement measure(const timed_work& work, const measure_policy& policy);

}  // namespace kselect
