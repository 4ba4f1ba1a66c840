#pragma once
// Plans and runs a sweep as `run` and `bench` do: with progress on stderr and the left-out
// algorithms on one line.

#include <optional>
#include <string>

#include "cli/cli.hpp"
#include "harness/run/sweep.hpp"

namespace kselect::cli {

struct sweep_options {
  std::optional<executor_kind> executor;
  std::optional<std::string> filter, dataset;
  harness::shard shard;
};

// A sweep that is planned and can be run. Its cells are made from the other members when their turn
// comes, so it stays where it is.
struct planned_sweep {
  // `wanted` has all members but the input. Throws whatever planning throws.
  planned_sweep(sweep_request wanted, const sweep_options& how);
  planned_sweep(const planned_sweep&) = delete;
  planned_sweep& operator=(const planned_sweep&) = delete;

  sweep_request request;
  backends places;
  std::unique_ptr<sweep_input> input;
  sweep_part part;
  std::vector<left_out> omitted;
  bool may_use_gpu;
};

sweep_result run_planned(planned_sweep& sweep);

// The algorithms that were left out, as a line; empty if there are none.
std::string omitted_line(const planned_sweep& sweep);

// "estimate: 40 s to 2 min, ..." for all planned cells.
std::string estimate_line(planned_sweep& sweep);

// The exit code: of an interrupt, of failed cells, or 0.
int code_of(const sweep_result& result);

}  // namespace kselect::cli
