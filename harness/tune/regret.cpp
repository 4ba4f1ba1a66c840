#include "harness/tune/regret.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kselect::harness::tune {
namespace {

// The member with the least time. If none has a time, times.size().
std::size_t fastest(const std::vector<double>& times) {
  std::size_t best = times.size();
  for (std::size_t m = 0; m < times.size(); ++m) {
    if (!std::isnan(times[m]) && (best == times.size() || times[m] < times[best])) best = m;
  }
  return best;
}

// The table's choice among the members with a time, and its predicted time.
struct table_choice {
  std::size_t member;
  double predicted;
};
std::optional<table_choice> choose(const tuning_data& data, const timed_problem& p,
                                   const cost_table& table) {
  std::array<double, max_table_members> predicted{};
  predict_times(table, p.problem, data.device.multiprocessors, predicted);
  std::optional<table_choice> best;
  for (std::size_t t = 0; t < table.members.size(); ++t) {
    const auto m = static_cast<std::size_t>(std::ranges::find(data.members, table.members[t]) -
                                            data.members.begin());
    if (m == data.members.size() || std::isnan(p.times[m])) continue;
    if (!best || predicted[t] < best->predicted) best = {m, predicted[t]};
  }
  return best;
}

void append_choices(const tuning_data& data, const cost_table& table,
                    const std::vector<timed_problem>& asked, std::vector<regretted>& choices) {
  for (const timed_problem& p : asked) {
    const auto chosen = choose(data, p, table);
    if (!chosen) continue;
    const std::size_t best = fastest(p.times);
    choices.push_back({p.problem, data.members[chosen->member], data.members[best],
                       p.times[chosen->member] / p.times[best]});
  }
}

}  // namespace

regret summarise(std::vector<regretted> choices) {
  regret r;
  if (choices.empty()) return r;
  std::ranges::stable_sort(choices, std::ranges::greater{}, &regretted::ratio);
  double logs = 0;
  for (const regretted& c : choices) logs += std::log(c.ratio);
  r.mean = std::exp(logs / static_cast<double>(choices.size()));
  r.worst = choices.front().ratio;
  r.choices = std::move(choices);
  return r;
}

regret of_auto(const tuning_data& data) {
  std::vector<regretted> choices;
  for (const timed_problem& p : data.problems) {
    const std::size_t best = fastest(p.times);
    if (std::isnan(p.chosen) || best == p.times.size()) continue;
    choices.push_back({p.problem, "auto", data.members[best], p.chosen / p.times[best]});
  }
  return summarise(std::move(choices));
}

regret of_table(const tuning_data& data, const cost_table& table) {
  std::vector<regretted> choices;
  append_choices(data, table, data.problems, choices);
  return summarise(std::move(choices));
}

regret held_out(const tuning_data& data, const smoothing& how, std::size_t folds) {
  std::vector<regretted> choices;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    tuning_data known = data;
    known.problems.clear();
    std::vector<timed_problem> asked;
    for (std::size_t i = 0; i < data.problems.size(); ++i) {
      (i % folds == fold ? asked : known.problems).push_back(data.problems[i]);
    }
    const learned_table table = learn(known, how);
    append_choices(data, *table_view(table), asked, choices);
  }
  return summarise(std::move(choices));
}

double misjudged(const tuning_data& data, const cost_table& table) {
  double logs = 0;
  int count = 0;
  for (const timed_problem& p : data.problems) {
    if (const auto chosen = choose(data, p, table)) {
      logs += std::abs(std::log(chosen->predicted / p.times[chosen->member]));
      ++count;
    }
  }
  return count == 0 ? 1 : std::exp(logs / count);
}

}  // namespace kselect::harness::tune
