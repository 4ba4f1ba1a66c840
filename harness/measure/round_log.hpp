#pragma once
// The rounds of one cell: the number of samples per round, the rule to stop, and the result.
//
// A round's value is the median of its samples, the cell's value the median of its rounds' values.
// The interval comes from order statistics of rounds, because samples of one turn are correlated
// and rounds at different times nearly are not. No sample is dropped: all are kept in order,
// outliers are flagged. Only a round in which the clock fell has no value.

#include <optional>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/measure/statistics.hpp"

namespace kselect::harness {

// One turn of one algorithm.
struct round_samples {
  std::vector<double> ns;          // headline: cold device time, or host time of a CPU run
  std::vector<double> wall_ns;     // cuda: host time from the call until the answer is ready
  std::optional<double> batch_ns;  // cuda: time of one call among many back to back
  std::optional<double> sm_mhz;    // cuda: mean clock over the samples
  bool throttled = false;
};

// Another way of timing the same work, as round values.
struct side_timing {
  std::vector<std::optional<double>> rounds_ns;
  summary result;  // over the rounds that have a value
};

struct timing {
  std::string clock;                  // "steady" (host) or "cuda_event"
  std::string cache;                  // "cold": flushed before every sample; "warm"
  bool gap_hidden = false;            // cuda: the stream was held until all work was queued
  std::vector<double> samples_ns;     // every sample, in the order taken
  std::vector<std::size_t> outliers;  // positions in samples_ns, see far_out()
  std::vector<int> round_sizes;       // samples of each round
  std::vector<std::optional<double>> rounds_ns;  // empty if the clock fell
  summary result;    // median and interval over rounds; quartiles and extremes over samples
  std::string stop;  // "spread", "max_samples" or "max_seconds"
  std::optional<side_timing> wall, batch;
  int batch_calls = 0;                        // of one batch; 0 if there is none
  std::vector<std::optional<double>> sm_mhz;  // of each round; empty on the host
  bool throttled = false;                     // in at least one round
};

class round_log {
 public:
  explicit round_log(const measure_policy& policy) : policy_(policy) {}

  // Limits of the next turn: its samples, and the seconds after which it begins no further sample.
  int samples_of_turn() const;
  double seconds_of_turn() const { return policy_.max_seconds / policy_.rounds; }

  // Adds the samples of a turn (at least one) and how long it took.
  void add(round_samples turn, double seconds);

  int rounds() const { return static_cast<int>(turns_.size()); }
  bool done() const { return !stop_.empty(); }
  // Whether the clock fell in more than half of the rounds: the cell then has no time.
  bool throttled_out() const;
  // Requires a log that is done and not throttled out.
  timing result() const;

 private:
  std::vector<std::optional<double>> values() const;
  void decide();

  measure_policy policy_;
  std::vector<round_samples> turns_;
  int samples_ = 0;
  double seconds_ = 0;
  std::string stop_;
};

}  // namespace kselect::harness
