#pragma once
// Compares two runs cell by cell: is the second slower than the first by more than a threshold?
//
// Let r be a cell's ratio new / base, and t the larger of the user's threshold and
// `floor_multiplier` times the cell's noise floor. The verdict follows from the interval of log r
// at `confidence` and the two-sided p value of log r lying beyond +-log(1 + t):
//
//   regression      above +log(1 + t), significant after correction over all cells
//   improvement     below -log(1 + t), likewise
//   same            the whole interval within +-log(1 + t)
//   inconclusive    neither shown: more rounds are needed, a side was throttled, or the runs were
//                   made apart and two runs of one program may differ as much
//   not_comparable  the machines, policies or clocks differ (unless forced)
//   missing         the base has a time and the new run has none: not run, wrong, failed
//   added           the other way round; for information
//
// If the two runs took turns (alternate.hpp), drift cancels, so rounds are compared in pairs
// (signed-rank test). Otherwise they are compared as two samples (Mann-Whitney). The rounds of one
// process say nothing about the next process. So a cell of runs made apart, without a noise floor,
// is a regression or an improvement only if it is clearly slower or faster (apart.hpp).

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
  double confidence = 0.95;  // of the intervals; 1 - confidence is the level of the tests
  correction corrected = correction::benjamini_hochberg;
  double floor_multiplier = 2;
  const noise_floor* floor = nullptr;
  bool force = false;   // compare runs and cells that are not comparable
  bool strict = false;  // judge runs made apart as if two runs of one program were equally fast
};

// A counter whose value changed. Counters are exact, so any difference is real.
struct work_change {
  std::string counter;
  std::int64_t base, now;
};

struct compared_cell {
  const recorded_cell* base = nullptr;  // null: the run has no such cell
  const recorded_cell* now = nullptr;
  compare::verdict verdict = verdict::inconclusive;
  std::string reason;  // one line if the verdict alone does not explain itself
  // log(new / base), if both have a time.
  std::optional<double> log_ratio;
  interval bounds{};
  double p = 1, p_corrected = 1;
  double limit = 0;         // log(1 + t)
  bool from_floor = false;  // the noise floor decided t
  bool has_floor = false;   // the noise floor has this cell
  std::size_t rounds_base = 0, rounds_now = 0;
  std::vector<work_change> work;

  // Whether there are enough rounds to bound the log-ratio.
  bool bounded() const;
  const recorded_cell& any() const { return base != nullptr ? *base : *now; }
};

// Movable, not copyable: the cells point into the two runs, whose elements stay in place on a move.
struct comparison {
  comparison() = default;
  comparison(comparison&&) = default;
  comparison& operator=(comparison&&) = default;

  recorded_run base, now;
  criteria how;
  bool paired = false;
  std::vector<std::string> obstacles;  // why the runs as a whole are not comparable
  std::vector<std::string> notes;
  std::vector<compared_cell> cells;  // those of the base in its order, then added ones

  std::size_t count(verdict v) const;
  // Whether turns may decide a cell: the runs took none, and some cell is inconclusive.
  bool needs_turns() const;
  // For each algorithm the geometric mean of new / base over its cells that have a ratio.
  std::map<std::string, double> mean_ratio_by_algorithm() const;
};

// `base` and `now` are moved into the result.
comparison compare_runs(recorded_run base, recorded_run now, const criteria& how = {});

}  // namespace kselect::harness::compare
