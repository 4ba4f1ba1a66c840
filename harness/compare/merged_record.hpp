#pragma once
// One record of a cell from those of many turns, each a run of its own: what `kselect ab` leaves
// behind, with all that a run's record holds, so that whatever reads a run reads it too.

#include <span>

#include "harness/compare/recorded_run.hpp"

namespace kselect::harness::compare {

// `turns`: what each turn recorded of the cell, in order; null where it recorded nothing. At least
// one is not null. A turn counts as a round, whose value is its median, of every way of timing:
// where a turn has no time, the round is null and has no samples. Median and interval are those of
// the rounds, quartiles and outliers those of all samples (as in harness/measure/round_log.hpp).
// What was seen in some turn (throttling, temperatures) is kept, what holds only if it always did
// (pinned, proven) must hold in all. A cell that once answered wrong is wrong; one without any time
// is recorded as its first turn did.
json merged_record(std::span<const recorded_cell* const> turns);

// The meta data of the first turn, with the median of the turns' memory ceilings.
json merged_meta(std::span<const recorded_run> turns);

}  // namespace kselect::harness::compare
