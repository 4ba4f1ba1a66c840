#pragma once
// The verdict on two runs, cell by cell: is the second slower than the first by more than a
// threshold?
//
// Let r be the ratio new / base of a cell's typical times, and t the larger of the user's threshold
// and `floor_multiplier` times the cell's noise floor. In logarithms, with the interval of log r at
// `confidence` and the two-sided p value of log r lying beyond +-log(1 + t):
//
//   regression      above +log(1 + t), significant after correction over all cells
//   improvement     below -log(1 + t), likewise
//   same            the whole interval within +-log(1 + t)
//   inconclusive    neither shown: more rounds are needed, or a side was throttled
//   not_comparable  the machines, policies or clocks differ (unless forced)
//   missing         the base has a time and the new run has none: not run, wrong, failed
//   added           the other way round; for information
//
// Rounds are compared in pairs (signed-rank test) if the two runs took turns in one process group
// (alternate.hpp), since drift then cancels; else as two samples (Mann-Whitney).

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/recorded_run.hpp"
#include "harness/compare/statistics.hpp"
#include "kselect/names.hpp"

namespace kselect::harness::compare {

enum class verdict : std::uint8_t {
  regression,
  improvement,
  same,
  inconclusive,
  not_comparable,
  missing,
  added
};

enum class correction : std::uint8_t { benjamini_hochberg, family_wise, none };

constexpr auto names_of(verdict) {
  return std::to_array<named<verdict>>({{verdict::regression, "regression"},
                                        {verdict::improvement, "improvement"},
                                        {verdict::same, "same"},
                                        {verdict::inconclusive, "inconclusive"},
                                        {verdict::not_comparable, "not_comparable"},
                                        {verdict::missing, "missing"},
                                        {verdict::added, "added"}});
}
constexpr auto names_of(correction) {
  return std::to_array<named<correction>>({{correction::benjamini_hochberg, "benjamini_hochberg"},
                                           {correction::family_wise, "family_wise"},
                                           {correction::none, "none"}});
}

struct noise_floor;

struct criteria {
  double threshold = 0.05;   // relative change of the time that matters
  double confidence = 0.95;  // of intervals; 1 - confidence is the level of the tests
  correction corrected = correction::benjamini_hochberg;
  double floor_multiplier = 2;
  const noise_floor* floor = nullptr;
  bool force = false;  // compare what is not comparable
};

// A counter whose value changed: exact, so any difference is one.
struct work_change {
  std::string counter;
  std::int64_t base, now;
};

struct compared_cell {
  const recorded_cell* base = nullptr;  // null: the run has no such cell
  const recorded_cell* now = nullptr;
  compare::verdict verdict = verdict::inconclusive;
  std::string reason;  // one line where the verdict alone does not say
  // Where both have a time: of log(new / base).
  std::optional<double> log_ratio;
  interval bounds{};
  double p = 1, p_corrected = 1;
  double limit = 0;         // log(1 + t)
  bool from_floor = false;  // the noise floor decided t
  std::size_t rounds_base = 0, rounds_now = 0;
  std::vector<work_change> work;

  // Whether its rounds are enough to bound the log-ratio at all.
  bool bounded() const;
  const recorded_cell& any() const { return base != nullptr ? *base : *now; }
};

// The cells point into the two runs: movable (a vector's elements stay where they are), not
// copyable.
struct comparison {
  comparison() = default;
  comparison(comparison&&) = default;
  comparison& operator=(comparison&&) = default;

  recorded_run base, now;
  criteria how;
  bool paired = false;
  std::vector<std::string> obstacles;  // why the runs as a whole are not comparable
  std::vector<std::string> notes;
  std::vector<compared_cell> cells;  // of the base in its order, then what is added

  std::size_t count(verdict v) const;
  // The geometric mean of new / base over the cells of an algorithm that have one.
  std::map<std::string, double> mean_ratio_by_algorithm() const;
};

// `base` and `now` are moved into the result.
comparison compare_runs(recorded_run base, recorded_run now, const criteria& how = {});

}  // namespace kselect::harness::compare
