#pragma once
// Where a sweep's rows come from: the generator, or distances between vectors of a dataset or of
// the generator.
//
// Distances between generated vectors are made on the GPU if the sweep uses one, for all of its
// cells: a cell on the host gets a copy of what a cell on the GPU gets. Those of a dataset, and all
// where there is no GPU, are made on the CPU.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/config/cells.hpp"
#include "harness/config/config.hpp"
#include "harness/harness.hpp"
#include "harness/workload/workload.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// What making rows took where that is work of its own, norms and products, but not what it took to
// make or read the vectors.
struct distance_stage {
  executor_kind executor;
  const char* clock;  // backend::clock_name
  double nanoseconds;
};

// Several of those, or of another thing that is done to rows besides selecting from them.
struct stage_times {
  executor_kind executor;
  const char* clock;
  std::vector<double> samples_ns;
};

class input_source {
 public:
  virtual ~input_source() = default;

  // How many base vectors and queries there are; empty for the generator, which has no end.
  virtual std::optional<dataset_sizes> sizes() const = 0;
  // What a record says about the input besides the problem, and what enters a cell's key.
  virtual nlohmann::ordered_json description() const = 0;
  // Writes the problem's rows (problem.input_bytes() bytes in the problem's layout). Variant 0 is
  // what the problem names; others are other rows of the same kind, from another seed or other
  // queries, so that no run can profit from an earlier one. Returns what the distances took, if the
  // rows are distances.
  virtual std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                             int variant = 0) const = 0;
  // Whether fill_at() makes the rows where they are read, in the memory of this place.
  virtual bool makes_rows_at(const backend&) const { return false; }
  // Writes the same rows to memory of such a place; throws error(failure::usage) for another. The
  // work may only be enqueued.
  virtual std::optional<distance_stage> fill_at(backend& place, const workload& p, std::byte* rows,
                                                int variant) const;
};

// All that opening an input takes, so that other processes can open the same.
struct input_choice {
  input_spec spec;      // with the paths of files as the file system wants them
  bool on_gpu = false;  // distances between generated vectors are made on the GPU
  int threads = 1;      // of the host
};

// `dataset` overrides the base path of the config's dataset, `executor` the executors of the
// config; `threads` is 0 for all that this process may use. Throws error(failure::usage) if there
// is no dataset to override, or for what dataset_path() throws.
input_choice choose_input(const sweep_config& config, const std::optional<std::string>& dataset,
                          int threads, std::optional<executor_kind> executor = std::nullopt);

// Loads the dataset, if there is one. Throws what the file readers throw.
std::unique_ptr<input_source> open_input(const input_choice& choice);

}  // namespace kselect::harness
