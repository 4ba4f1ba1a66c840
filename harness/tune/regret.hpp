#pragma once
// How much slower a choice is than the best member: the ratio of their measured times.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/tune/cost_fit.hpp"
#include "harness/tune/tuning_data.hpp"

namespace kselect::harness::tune {

struct regretted {
  workload problem;
  std::string chosen, best;  // names; "auto" if what it chose is not recorded
  double ratio = 1;          // time of the chosen over that of the best; may be a little below 1
};

struct regret {
  double mean = 1;  // geometric
  double worst = 1;
  std::vector<regretted> choices;  // the worst first
};

regret summarise(std::vector<regretted> choices);

// Of what `auto` ran, where it was measured beside its members.
regret of_auto(const tuning_data& data);

// Of what a table would choose among the members that have a time. Problems of which no member of
// the table has one are left out.
regret of_table(const tuning_data& data, const cost_table& table);

// Of tables learned without the problems they are asked about: each of `folds` parts of the
// problems, dealt out in turn, is held out once.
regret held_out(const tuning_data& data, const smoothing& how, std::size_t folds = 10);

// How far off predicted times are on the same data: the geometric mean of the larger over the
// smaller of predicted and measured time of the chosen members.
double misjudged(const tuning_data& data, const cost_table& table);

}  // namespace kselect::harness::tune
