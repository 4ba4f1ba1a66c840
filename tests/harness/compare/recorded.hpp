#pragma once
// Synthetic recorded runs: cells of one machine with given round medians.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "harness/compare/recorded_run.hpp"

namespace kselect::harness::compare {

using round_medians = std::vector<std::optional<double>>;

inline recorded_cell timed_cell(std::int64_t n, const round_medians& rounds,
                                const std::string& executor = "cuda") {
  recorded_cell cell;
  cell.problem.n = n;
  cell.problem.q = 4;
  cell.problem.k = 8;
  cell.algorithm = "made/up";
  cell.executor = executor;
  cell.status = cell_status::ok;
  recorded_time time;
  time.clock = executor == "cuda" ? "cuda_event" : "steady";
  time.rounds = rounds;
  std::vector<double> there;
  for (const auto& round : rounds) {
    if (round) there.push_back(*round);
  }
  time.median = there.empty() ? 0 : there[there.size() / 2];
  time.low = time.high = time.median;
  cell.time = time;
  cell.identity = cell.algorithm + " " + executor + " " + to_string(cell.problem);
  return cell;
}

inline recorded_cell failed_cell(std::int64_t n, cell_status status, const std::string& reason) {
  recorded_cell cell = timed_cell(n, {});
  cell.time.reset();
  cell.status = status;
  cell.reason = reason;
  return cell;
}

// `count` rounds of `nanoseconds` with log-normal noise of that relative deviation.
inline round_medians noisy_rounds(std::size_t count, double nanoseconds, double deviation,
                                  std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, deviation);
  round_medians rounds;
  for (std::size_t i = 0; i < count; ++i)
    rounds.emplace_back(nanoseconds * std::exp(noise(random)));
  return rounds;
}

inline recorded_run run_of(const std::vector<recorded_cell>& cells,
                           const std::string& gpu = "H200") {
  recorded_run run;
  run.path = "made-up";
  run.meta = {{"gpu", json::array({{{"name", gpu}, {"driver", "1.2"}}})},
              {"host", {{"cpu", "a processor"}, {"threads", 2}}},
              {"config", {{"measure", {{"warmup", 1}}}}}};
  for (const recorded_cell& cell : cells) run.add(cell);
  return run;
}

// Marks both runs as alternated.
inline void pair_up(recorded_run& a, recorded_run& b) {
  for (recorded_run* run : {&a, &b}) run->meta["alternated"] = {{"id", "one"}};
}

}  // namespace kselect::harness::compare
