#pragma once
// The rounds of one cell: how many samples each takes, when there are enough, and what they say.
//
// A round's value is the median of its samples; the cell's value is the median of round values, and
// its interval comes from their order statistics: samples of one turn are correlated, rounds apart
// in time are nearly not. Nothing measured is dropped: samples are kept in order, outliers flagged.
// Only a round in which the clock fell has no value.

#include <optional>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/measure/statistics.hpp"

namespace kselect::harness {

// One turn of one algorithm.
struct round_samples {
  std::vector<double> ns;          // headline: cold device time, or host time of a CPU
  std::vector<double> wall_ns;     // cuda: host time from the call until the answer is there
  std::optional<double> batch_ns;  // cuda: a call's share of many calls back to back
  std::optional<double> sm_mhz;    // cuda: mean clock over the samples
  bool throttled = false;
};

// A second way of timing the same work, by its round values.
struct side_timing {
  std::vector<std::optional<double>> rounds_ns;
  summary result;  // of the rounds that have a value
};

struct timing {
  std::string clock;                  // "steady" (host) or "cuda_event"
  std::string cache;                  // "cold": flushed before every sample; "warm"
  bool gap_hidden = false;            // cuda: the stream was held until all work was queued
  std::vector<double> samples_ns;     // every sample, in the order taken
  std::vector<std::size_t> outliers;  // positions in samples_ns, see far_out()
  std::vector<int> round_sizes;       // samples of each round
  std::vector<std::optional<double>> rounds_ns;  // empty where the clock fell
  summary result;    // median and interval of round values; quartiles and extremes of samples
  std::string stop;  // "spread", "max_samples" or "max_seconds"
  std::optional<side_timing> wall, batch;
  int batch_calls = 0;                        // of one batch; 0 where there is none
  std::vector<std::optional<double>> sm_mhz;  // of each round; empty on the host
  bool throttled = false;                     // in some round
};

class round_log {
 public:
  explicit round_log(const measure_policy& policy) : policy_(policy) {}

  // Of the next turn: at most so many samples, and none begun after so many seconds.
  int samples_of_turn() const;
  double seconds_of_turn() const { return policy_.max_seconds / policy_.rounds; }

  // What a turn measured and how long that took. At least one sample.
  void add(round_samples turn, double seconds);

  int rounds() const { return static_cast<int>(turns_.size()); }
  bool done() const { return !stop_.empty(); }
  // Whether more than half of the rounds lost their clock: the cell has no time.
  bool throttled_out() const;
  // Of a log that is done and not throttled out.
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
