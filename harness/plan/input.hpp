#pragma once
// Sources of a sweep's rows: the generator, a file of rows, or distances between vectors. The
// vectors are generated or come from a dataset.
//
// If the sweep uses a GPU, it makes the distances between generated vectors for all cells; a cell
// on the host gets a copy. Without a GPU, and for datasets, the CPU makes them.

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
#include "harness/task/task.hpp"
#include "harness/workload/workload.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// Time to compute distances (norms and products), without the time to make or read the vectors.
struct distance_stage {
  executor_kind executor;
  const char* clock;  // backend::clock_name
  double nanoseconds;
};

// Repeated samples of that time, or of another step that prepares rows for selection.
struct stage_times {
  executor_kind executor;
  const char* clock;
  std::vector<double> samples_ns;
};

// What rows hold beyond the finite numbers, apart from their distribution.
struct row_contents {
  bool nan = false, infinities = false;
};

// What the cells of a sweep are measured on. Each task reads what its own open() returned.
class sweep_input {
 public:
  virtual ~sweep_input() = default;

  // The number of base vectors and queries, or of the file's columns and rows; empty for the
  // generator, which has no limit.
  virtual std::optional<dataset_sizes> sizes() const = 0;
  // The input, apart from the problem, as records show it and as a cell's key hashes it.
  virtual nlohmann::ordered_json description() const = 0;
};

// The rows that selections are measured on.
class input_source : public sweep_input {
 public:
  // Writes the problem's rows: problem.input_bytes() bytes in the problem's layout. Variant 0 is
  // what the problem names. Other variants have another seed or other queries, so that no run can
  // profit from an earlier one. Returns the time of the distances if the rows are distances.
  virtual std::optional<distance_stage> fill(const workload& p, std::span<std::byte> rows,
                                             int variant = 0) const = 0;
  // What some row may hold that an algorithm's contract may exclude.
  virtual row_contents contents() const { return {}; }
  // Bytes that making a problem's rows takes besides the rows.
  virtual std::size_t bytes_to_fill(const workload&) const { return 0; }
  // Whether fill_at() can make the rows in this backend's memory.
  virtual bool makes_rows_at(const backend&) const { return false; }
  // Writes the same rows to the memory of a backend for which makes_rows_at() is true. Throws
  // error(failure::usage) for another. The work may only be enqueued.
  virtual std::optional<distance_stage> fill_at(backend& place, const workload& p, std::byte* rows,
                                                int variant) const;
};

// What open_input() needs. Plain data, so that another process can open the same input.
struct input_choice {
  input_spec spec;                       // file paths are ready for the file system
  bool on_gpu = false;                   // distances between generated vectors are made on the GPU
  int threads = 1;                       // of the host
  const harness::task* task = nullptr;   // as in sweep_config
  std::vector<axis_values> own = {};     // as in sweep_axes
  std::vector<input_choice> parts = {};  // of a config with parts; the other members are then idle
};

// `dataset` overrides the base path of the config's dataset, `executor` the executors of the
// config. `threads`: 0 means all that this process may use. Throws error(failure::usage) if there
// is no dataset to override, or the config has parts, and whatever dataset_path() throws.
input_choice choose_input(const sweep_config& config, const std::optional<std::string>& dataset,
                          int threads, std::optional<executor_kind> executor = std::nullopt);

// The rows of selections. Loads the dataset, if there is one. Throws whatever the file readers
// throw.
std::unique_ptr<input_source> open_input(const input_choice& choice);
// What the choice's task is measured on; of parts a parts_input (parts.hpp).
std::unique_ptr<sweep_input> open_sweep_input(const input_choice& choice);

}  // namespace kselect::harness
