#include "harness/measure/round_log.hpp"

#include <algorithm>

namespace kselect::harness {
namespace {

constexpr int most_samples_of_turn = 10;  // samples of one turn are correlated: more add little

std::vector<double> present(const std::vector<std::optional<double>>& values) {
  std::vector<double> all;
  for (const auto& value : values) {
    if (value) all.push_back(*value);
  }
  return all;
}

std::optional<side_timing> side(std::vector<std::optional<double>> rounds) {
  const std::vector<double> values = present(rounds);
  if (values.empty()) return std::nullopt;
  return side_timing{std::move(rounds), summarise(values)};
}

}  // namespace

int round_log::samples_of_turn() const {
  const int share = std::clamp(policy_.max_samples / policy_.rounds, 1, most_samples_of_turn);
  return std::clamp(policy_.max_samples - samples_, 1, share);
}

void round_log::add(round_samples turn, double seconds) {
  samples_ += static_cast<int>(turn.ns.size());
  seconds_ += seconds;
  turns_.push_back(std::move(turn));
  decide();
}

std::vector<std::optional<double>> round_log::values() const {
  std::vector<std::optional<double>> medians;
  for (const round_samples& turn : turns_) {
    medians.push_back(turn.throttled ? std::nullopt : std::optional(summarise(turn.ns).median));
  }
  return medians;
}

void round_log::decide() {
  const std::vector<double> medians = present(values());
  const bool enough =
      static_cast<int>(medians.size()) >= policy_.rounds && samples_ >= policy_.min_samples;
  if (enough && summarise(medians).relative_interval() <= policy_.target_spread) {
    stop_ = "spread";
  } else if (samples_ >= policy_.max_samples) {
    stop_ = "max_samples";
  } else if (seconds_ >= policy_.max_seconds) {
    // Few rounds give a wide interval, which is recorded with this reason.
    stop_ = "max_seconds";
  }
}

bool round_log::throttled_out() const { return 2 * present(values()).size() < turns_.size(); }

timing round_log::result() const {
  timing all;
  all.stop = stop_;
  all.rounds_ns = values();
  std::vector<std::optional<double>> wall, batch;
  for (const round_samples& turn : turns_) {
    all.samples_ns.insert(all.samples_ns.end(), turn.ns.begin(), turn.ns.end());
    all.round_sizes.push_back(static_cast<int>(turn.ns.size()));
    all.sm_mhz.push_back(turn.sm_mhz);
    all.throttled = all.throttled || turn.throttled;
    wall.push_back(turn.throttled || turn.wall_ns.empty()
                       ? std::nullopt
                       : std::optional(summarise(turn.wall_ns).median));
    batch.push_back(turn.throttled ? std::nullopt : turn.batch_ns);
  }
  if (present(all.sm_mhz).empty()) all.sm_mhz.clear();
  all.outliers = far_out(all.samples_ns);
  all.result = summarise(all.samples_ns);
  const summary of_rounds = summarise(present(all.rounds_ns));
  all.result.median = of_rounds.median;
  all.result.ci_low = of_rounds.ci_low;
  all.result.ci_high = of_rounds.ci_high;
  all.wall = side(std::move(wall));
  all.batch = side(std::move(batch));
  return all;
}

}  // namespace kselect::harness
