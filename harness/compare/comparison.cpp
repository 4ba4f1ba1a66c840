#include "harness/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "harness/compare/apart.hpp"
#include "harness/compare/noise.hpp"
#include "runtime/format.hpp"

namespace kselect::harness::compare {
namespace {

bool any_on(const recorded_run& run, std::string_view executor) {
  return std::ranges::any_of(run.cells, [&](const recorded_cell& c) {
    return c.executor == executor && c.time.has_value();
  });
}

// Runs of one alternation share its id. A run compared with itself counts as paired, too.
bool took_turns(const recorded_run& base, const recorded_run& now) {
  std::error_code none;
  if (std::filesystem::equivalent(base.path, now.path, none) && !none) return true;
  const json id = base.fact({"alternated", "id"});
  return !id.is_null() && id == now.fact({"alternated", "id"});
}

// "16 of 132", or "all".
std::string in_words(const json& multiprocessors) {
  if (multiprocessors.is_null()) return "all";
  return fmt::format("{} of {}", multiprocessors.at("used").dump(),
                     multiprocessors.at("of").dump());
}

std::vector<std::string> obstacles_between(const recorded_run& base, const recorded_run& now) {
  std::vector<std::string> found = differences(facts_of_machine(base), facts_of_machine(now),
                                               any_on(base, "cpu") && any_on(now, "cpu"),
                                               any_on(base, "cuda") && any_on(now, "cuda"));
  // Without the setting neither the record nor older ones have the member.
  const json used = base.fact({"multiprocessors"}), uses = now.fact({"multiprocessors"});
  if (used != uses) {
    found.push_back(
        fmt::format("the GPU's multiprocessors are {} in the base and {} in the new run",
                    in_words(used), in_words(uses)));
  }
  compare_facts(base.fact({"config", "measure"}), now.fact({"config", "measure"}), "policy", found);
  return found;
}

// Differences that may explain a change but are often what the user wants to compare.
std::vector<std::string> notes_on_builds(const recorded_run& base, const recorded_run& now) {
  std::vector<std::string> notes;
  for (const char* const name : {"type", "compiler", "flags", "sanitizers", "nvcc", "cccl"}) {
    const json was = base.fact({"build", name}), is = now.fact({"build", name});
    if (was != is) {
      notes.push_back(fmt::format("build {} differs: {} and {}", name, was.dump(), is.dump()));
    }
  }
  const json went_by = base.fact({"cost_table", "source"}),
             goes_by = now.fact({"cost_table", "source"});
  if (went_by != goes_by) {
    notes.push_back(
        fmt::format("the cost table of auto differs: {} and {}", went_by.dump(), goes_by.dump()));
  }
  return notes;
}

std::vector<double> logarithms(const recorded_time& time) {
  std::vector<double> logs;
  for (const auto& round : time.rounds) {
    if (round && *round > 0) logs.push_back(std::log(*round));
  }
  return logs;
}

std::vector<double> paired_log_ratios(const recorded_time& base, const recorded_time& now) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(base.rounds.size(), now.rounds.size()); ++i) {
    const auto &a = base.rounds[i], &b = now.rounds[i];
    if (a && b && *a > 0 && *b > 0) ratios.push_back(std::log(*b / *a));
  }
  return ratios;
}

double two_sided(double above, double below) { return std::min(1.0, 2 * std::min(above, below)); }

std::vector<double> moved(std::vector<double> values, double by) {
  for (double& value : values) value += by;
  return values;
}

void weigh_pairs(compared_cell& cell, double confidence) {
  const std::vector<double> ratios = paired_log_ratios(*cell.base->time, *cell.now->time);
  cell.rounds_base = cell.rounds_now = ratios.size();
  if (ratios.empty()) return;
  cell.log_ratio = centre_estimate(ratios);
  cell.bounds = centre_interval(ratios, confidence);
  cell.p = two_sided(wilcoxon(ratios, cell.limit).p.above, wilcoxon(ratios, -cell.limit).p.below);
}

void weigh_samples(compared_cell& cell, double confidence) {
  const std::vector<double> base = logarithms(*cell.base->time);
  const std::vector<double> now = logarithms(*cell.now->time);
  cell.rounds_base = base.size();
  cell.rounds_now = now.size();
  if (base.empty() || now.empty()) return;
  cell.log_ratio = shift_estimate(base, now);
  cell.bounds = shift_interval(base, now, confidence);
  cell.p = two_sided(mann_whitney(base, moved(now, -cell.limit)).p.above,
                     mann_whitney(base, moved(now, cell.limit)).p.below);
}

std::vector<work_change> changed_work(const recorded_cell& base, const recorded_cell& now) {
  std::vector<work_change> changes;
  if (base.counters.empty() || now.counters.empty()) return changes;
  std::set<std::string> names;
  for (const auto* side : {&base.counters, &now.counters}) {
    for (const auto& [name, value] : *side) names.insert(name);
  }
  const auto value = [](const recorded_cell& c, const std::string& name) {
    const auto found = c.counters.find(name);
    return found == c.counters.end() ? 0 : found->second;
  };
  for (const std::string& name : names) {
    if (value(base, name) == value(now, name)) continue;
    changes.push_back({name, value(base, name), value(now, name)});
  }
  return changes;
}

// Compares two cells. decide() gives the verdict on times later, because it needs all cells.
class comparer {
 public:
  comparer(const comparison& whole) : whole_(whole) {}

  compared_cell weigh(const recorded_cell* base, const recorded_cell* now) const {
    compared_cell cell;
    cell.base = base;
    cell.now = now;
    if (base == nullptr || !base->time) {
      cell.verdict = verdict::added;
      cell.reason = base == nullptr ? "not in the base" : why_no_time("base", *base);
      return cell;
    }
    if (now == nullptr || !now->time) {
      cell.verdict = verdict::missing;
      cell.reason = now == nullptr ? "not in the new run" : why_no_time("new run", *now);
      return cell;
    }
    cell.work = changed_work(*base, *now);
    if (std::string obstacle = why_not(*base, *now); !obstacle.empty()) {
      cell.verdict = verdict::not_comparable;
      cell.reason = std::move(obstacle);
      return cell;
    }
    set_limit(cell);
    const double confidence = whole_.how.confidence;
    whole_.paired ? weigh_pairs(cell, confidence) : weigh_samples(cell, confidence);
    return cell;
  }

 private:
  static std::string why_no_time(const char* side, const recorded_cell& cell) {
    return fmt::format("{} in the {}{}{}", to_string(cell.status), side,
                       cell.reason.empty() ? "" : ": ", cell.reason);
  }

  std::string why_not(const recorded_cell& base, const recorded_cell& now) const {
    if (whole_.how.force) return {};
    if (!whole_.obstacles.empty()) return "the runs are not comparable";
    if (base.time->clock != now.time->clock) {
      return fmt::format("clock {} in the base, {} in the new run", base.time->clock,
                         now.time->clock);
    }
    if (base.executor == "cpu" && base.threads != now.threads) {
      return fmt::format("{} in the base, {} in the new run",
                         runtime::amount_of(base.threads, "thread"), now.threads);
    }
    return {};
  }

  void set_limit(compared_cell& cell) const {
    cell.limit = std::log1p(whole_.how.threshold);
    if (whole_.how.floor == nullptr) return;
    const auto noise = whole_.how.floor->cells.find(cell.base->identity);
    if (noise == whole_.how.floor->cells.end()) return;
    cell.has_floor = true;
    const double floor = whole_.how.floor_multiplier *
                         (whole_.paired ? noise->second.paired : noise->second.unpaired);
    cell.from_floor = floor > cell.limit;
    cell.limit = std::max(cell.limit, floor);
  }

  const comparison& whole_;
};

// Whether two runs of one program may differ as these two: there were no turns, there is no noise
// floor, and the slower side is not clearly slower.
bool may_be_one_program(const compared_cell& cell, const comparison& whole) {
  if (whole.paired || cell.has_floor || whole.how.strict) return false;
  const double factor = largest_factor_apart(whole.base, whole.now, cell.base->executor);
  const recorded_time &base = *cell.base->time, &now = *cell.now->time;
  return *cell.log_ratio > 0 ? !clearly_slower(now, base, factor)
                             : !clearly_slower(base, now, factor);
}

void decide(compared_cell& cell, const comparison& whole) {
  const criteria& how = whole.how;
  const double level = 1 - how.confidence;
  if (!cell.bounded()) {
    cell.reason = fmt::format("too few rounds ({} and {})", cell.rounds_base, cell.rounds_now);
  } else if (cell.base->throttled || cell.now->throttled) {
    cell.reason =
        fmt::format("the clock fell in the {}", cell.base->throttled ? "base" : "new run");
  } else if (cell.p_corrected <= level && may_be_one_program(cell, whole)) {
    cell.reason = "two runs of one program may differ as much";
  } else if (cell.p_corrected <= level) {
    cell.verdict = *cell.log_ratio > 0 ? verdict::regression : verdict::improvement;
  } else if (cell.bounds.low >= -cell.limit && cell.bounds.high <= cell.limit) {
    cell.verdict = verdict::same;
  } else if (cell.p <= level) {
    cell.reason = "beyond the threshold alone, but not after correction over all cells";
  }
}

void correct(std::vector<compared_cell>& cells, correction how) {
  std::vector<compared_cell*> weighed;
  std::vector<double> p;
  for (compared_cell& cell : cells) {
    if (!cell.bounded()) continue;
    weighed.push_back(&cell);
    p.push_back(cell.p);
  }
  const std::vector<double> corrected = how == correction::benjamini_hochberg
                                            ? benjamini_hochberg(p)
                                        : how == correction::family_wise ? holm(p)
                                                                         : p;
  for (std::size_t i = 0; i < weighed.size(); ++i) weighed[i]->p_corrected = corrected[i];
}

// The smallest two-sided p value that the cell's rounds can give: all of them on one side.
double smallest_p(const compared_cell& cell, bool paired) {
  const auto m = static_cast<double>(cell.rounds_base), n = static_cast<double>(cell.rounds_now);
  if (paired) return std::min(1.0, std::exp2(1 - n));
  return std::min(1.0,
                  2 * std::exp(std::lgamma(m + 1) + std::lgamma(n + 1) - std::lgamma(m + n + 1)));
}

// Adds a note if there are too few rounds to show that one cell of many changed alone.
void note_resolution(comparison& result) {
  if (result.how.corrected == correction::none) return;
  double weighed = 0, most = 0;
  for (const compared_cell& cell : result.cells) {
    if (!cell.bounded()) continue;
    ++weighed;
    most = std::max(most, smallest_p(cell, result.paired));
  }
  const double level = 1 - result.how.confidence;
  if (weighed == 0 || weighed * most <= level) return;
  result.notes.push_back(
      fmt::format("with so few rounds, one changed cell among {:.0f} stays inconclusive; run more "
                  "rounds, or at least {:.0f} cells must change",
                  weighed, std::ceil(weighed * most / level)));
}

// Drops a noise floor that was measured on another machine.
void check_floor(comparison& result) {
  if (result.how.floor == nullptr) return;
  const std::vector<std::string> foreign =
      differences(result.how.floor->machine, facts_of_machine(result.now),
                  any_on(result.now, "cpu"), any_on(result.now, "cuda"));
  if (foreign.empty()) return;
  result.notes.push_back(
      fmt::format("the noise floor {} is not used: {}", result.how.floor->path, foreign.front()));
  result.how.floor = nullptr;
}

}  // namespace

bool compared_cell::bounded() const { return log_ratio && std::isfinite(bounds.low); }

std::size_t comparison::count(compare::verdict v) const {
  return static_cast<std::size_t>(std::ranges::count(cells, v, &compared_cell::verdict));
}

bool comparison::needs_turns() const { return !paired && count(verdict::inconclusive) != 0; }

std::map<std::string, double> comparison::mean_ratio_by_algorithm() const {
  std::map<std::string, std::pair<double, double>> sums;  // sum and count of log-ratios
  for (const compared_cell& cell : cells) {
    if (!cell.log_ratio) continue;
    auto& [sum, count] = sums[cell.any().algorithm];
    sum += *cell.log_ratio;
    count += 1;
  }
  std::map<std::string, double> means;
  for (const auto& [name, of] : sums) means[name] = std::exp(of.first / of.second);
  return means;
}

comparison compare_runs(recorded_run base, recorded_run now, const criteria& how) {
  comparison result;
  result.base = std::move(base);
  result.now = std::move(now);
  result.how = how;
  result.paired = took_turns(result.base, result.now);
  result.obstacles = obstacles_between(result.base, result.now);
  result.notes = result.base.notes;
  for (const std::string& note : result.now.notes) {
    if (std::ranges::find(result.notes, note) == result.notes.end()) result.notes.push_back(note);
  }
  for (std::string& note : notes_on_builds(result.base, result.now)) {
    result.notes.push_back(std::move(note));
  }
  check_floor(result);
  const comparer weigher(result);
  for (const recorded_cell& cell : result.base.cells) {
    const recorded_cell* const other = result.now.find(cell.identity);
    // A cell without a time on either side can be neither compared nor missing.
    if (!cell.time && (other == nullptr || !other->time)) continue;
    result.cells.push_back(weigher.weigh(&cell, other));
  }
  for (const recorded_cell& cell : result.now.cells) {
    if (cell.time && result.base.find(cell.identity) == nullptr) {
      result.cells.push_back(weigher.weigh(nullptr, &cell));
    }
  }
  correct(result.cells, how.corrected);
  note_resolution(result);
  for (compared_cell& cell : result.cells) {
    if (cell.base != nullptr && cell.now != nullptr && cell.verdict == verdict::inconclusive) {
      decide(cell, result);
    }
  }
  return result;
}

}  // namespace kselect::harness::compare
