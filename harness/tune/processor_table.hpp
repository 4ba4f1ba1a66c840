#pragma once
// Cost tables of processors: what every CPU entry takes, learned by `kselect tune` from recorded
// runs (harness/tune/processors/*.json). `auto` goes by rules on a processor, so these tables
// choose nothing. They predict times, for `kselect explain` and `kselect run --dry-run`.
//
// In such a table `multiprocessors` is the number of threads, and `compute_capability` is 0.

#include <span>
#include <string>
#include <vector>

#include "algorithms/auto_select/cost_table.hpp"
#include "kselect/algorithm.hpp"

namespace kselect::harness::tune {

// The tables compiled in, ordered by file.
std::span<const cost_table> processor_tables();

inline bool is_of_processor(const cost_table& table) { return table.compute_capability == 0; }

// The table that predicts for a processor: the user's own or a compiled-in one of its name, else
// the one with the nearest number of threads. Null if there is none, or if the device is no
// processor.
const cost_table* table_of_processor(const device& where);

// The entries of the registry that the table predicts and that take the problem, fastest first.
struct predicted_entry {
  const algorithm* entry;
  double predicted_ns;
};
std::vector<predicted_entry> rank_entries(const cost_table& table, const problem& p,
                                          const device& where);

}  // namespace kselect::harness::tune
