#pragma once
// What the task `select` does with a cell: prove it first, and give it its turn in a round.

#include "harness/harness.hpp"
#include "harness/run/row_variants.hpp"
#include "harness/run/subjects.hpp"

namespace kselect::harness {

// Runs the cell on variant 0 of the rows and proves the answer. Then captures a graph and counts
// the work. The outcome's status says how it ended.
void prove_first(contender& c, row_variants& rows, const turn_context& context);

// Warms up, takes samples and proves the answer on the rows of this round. Adds the round to the
// log, or ends the cell with a status.
void take_turn(contender& c, row_variants& rows, int round, const turn_context& context);

}  // namespace kselect::harness
