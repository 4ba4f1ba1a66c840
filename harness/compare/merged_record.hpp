#pragma once
// Merges the records of one cell from many turns, each a run of its own, into one record for
// `kselect ab`. It has all members of a run's record, so every reader of runs can read it.

#include <span>

#include "harness/compare/recorded_run.hpp"

namespace kselect::harness::compare {

// `turns`: the cell's record in each turn, in order; null if the turn has none. At least one is not
// null. A turn becomes a round whose value is the turn's median, for every clock of the record. A
// turn without a time becomes a null round without samples. Median and interval are over the
// rounds, quartiles and outliers over all samples (harness/measure/round_log.hpp). Throttling and
// temperatures are kept from any turn; `pinned` and proofs must hold in all. If the cell was wrong
// in one turn, the merged record is that turn's. If no turn has a time, it is the first turn's.
json merged_record(std::span<const recorded_cell* const> turns);

// The meta data of the first turn, but with the median of the turns' memory ceilings.
json merged_meta(std::span<const recorded_run> turns);

}  // namespace kselect::harness::compare
