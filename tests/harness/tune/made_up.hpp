#pragma once
// Synthetic times of members with known costs.

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/auto_select/cost_table.hpp"
#include "harness/tune/tuning_data.hpp"
#include "tests/problems.hpp"

namespace kselect::harness::tune {

inline constexpr int made_up_multiprocessors = 100;

// `count` problems, n from 2^6 to 2^24, n * Q up to 2^28.
inline std::vector<problem> made_up_problems(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> part(0, 1);
  std::vector<problem> problems;
  while (problems.size() < count) {
    const double n = std::exp2(6 + 18 * part(generator));
    const double q = std::exp2(18 * part(generator));
    const double k = std::pow(std::min(n, 4096.0), part(generator));
    if (n * q > std::exp2(28)) continue;
    problems.push_back(shaped(std::llround(n), std::llround(q), std::llround(k)));
  }
  return problems;
}

// Nanoseconds of "streaming": 5 us plus the time for the bytes of all rows.
inline double streaming_ns(const problem& p) {
  const auto terms = cost_terms(p, made_up_multiprocessors);
  return 5000 + 0.02 * terms[9] + 3 * terms[11];
}

// Nanoseconds of "waiting": 2 us plus the time of a wave's rows, one after another.
inline double waiting_ns(const problem& p) {
  const auto terms = cost_terms(p, made_up_multiprocessors);
  return 2000 + 0.06 * terms[5] + 0.5 * terms[6];
}

// Nanoseconds of "quirky": like streaming, but half as fast on long rows, which no cost term shows.
inline double quirky_ns(const problem& p) { return streaming_ns(p) * (p.n > 65536 ? 2.0 : 0.9); }

inline tuning_data made_up_data(const std::vector<problem>& problems, double noise = 0) {
  tuning_data data;
  data.device = {"a made-up card", made_up_multiprocessors, 90};
  data.members = {"streaming", "waiting", "quirky"};
  data.source = "made up";
  data.sources = nlohmann::ordered_json::array();
  std::mt19937_64 generator(3);
  std::normal_distribution<double> error(0, 1);
  for (const problem& p : problems) {
    timed_problem timed{{p}, {streaming_ns(p), waiting_ns(p), quirky_ns(p)}, untimed};
    for (double& time : timed.times) time *= std::exp(noise * error(generator));
    data.problems.push_back(timed);
  }
  return data;
}

}  // namespace kselect::harness::tune
