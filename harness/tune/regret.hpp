#pragma once
// Regret: how much slower a choice is than the best member, as a ratio of measured times.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/tune/cost_fit.hpp"
#include "harness/tune/tuning_data.hpp"

namespace kselect::harness::tune {

struct regretted {
  workload problem;
  std::string chosen, best;  // "auto" if the records do not name its choice
  double ratio = 1;          // time of the chosen over time of the best; noise may put it below 1
};

struct regret {
  double mean = 1;  // geometric
  double worst = 1;
  std::vector<regretted> choices;  // worst first
};

regret summarise(std::vector<regretted> choices);

// The regret of `auto` as it ran, over problems on which its members were measured, too.
regret of_auto(const tuning_data& data);

// The regret of a table that chooses among the members with a time. Problems for which no member of
// the table has a time are left out.
regret of_table(const tuning_data& data, const cost_table& table);

// The regret on problems that the tables were not learned from: each of `folds` parts of the
// problems is left out of the learning once, and the table chooses for it.
regret held_out(const tuning_data& data, const smoothing& how, std::size_t folds = 10);

// The error of predicted times on the same data: the geometric mean, over chosen members, of the
// larger over the smaller of predicted and measured time.
double misjudged(const tuning_data& data, const cost_table& table);

}  // namespace kselect::harness::tune
