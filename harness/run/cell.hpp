#pragma once
// Runs one cell: proof, measurement, proof again.

#include <optional>
#include <string>

#include "harness/measure/measure.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/trial.hpp"

namespace kselect {

struct cell_outcome {
  cell_status status = cell_status::ok;
  std::string reason;          // one line unless ok
  std::optional<timing> time;  // if ok, and there was a row to time
  std::size_t workspace_bytes = 0;
  bool proven_before = false, proven_after = false;  // the certificate held before / after timing
};

// Never throws for what the cell itself does wrong: that is its status. The answer is proven before
// the first timed run and again, on the timed buffers, after the last.
cell_outcome run_cell(const cell& c, const input_rows& input, backend& place,
                      const measure_policy& policy);

}  // namespace kselect
