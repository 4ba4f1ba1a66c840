#pragma once
// Runs a sweep, one cell group after another. Each cell is recorded as soon as it ends.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/plan/plan.hpp"
#include "harness/plan/shard.hpp"

namespace kselect::harness {

struct sweep_request {
  sweep_config config;
  std::string directory;               // where runs.jsonl and meta.json go
  bool resume = false;                 // continue what is there, skipping cells that are done
  input_choice input;                  // how the sweep's input was opened
  bool in_process = false;             // groups run here, not in a worker process
  std::vector<std::string> arguments;  // the command line, for meta.json
  nlohmann::ordered_json cost_table;   // the user's own, for meta.json; null: none
};

struct finished_cell {
  std::shared_ptr<const cell> what;
  cell_status status;
  std::string reason;               // one line unless ok
  std::optional<double> median_ns;  // if it was timed
};

// Follows a sweep. All calls come from the thread that runs it.
class sweep_observer {
 public:
  virtual ~sweep_observer() = default;
  // Before the first cell: all cells, and how many of them are done already. Beyond most_listed it
  // is the number of settled records there.
  virtual void planned(const shard_cells& cells, std::size_t done) = 0;
  // The first cell of a group begins.
  virtual void starting(const cell& c) = 0;
  virtual void finished(const finished_cell& c) = 0;
  // A note for the user, for example that an unfinished record was cut.
  virtual void note(const std::string& line) = 0;
};

struct sweep_result {
  // Run now, in the plan's order. These and the keys of earlier records are all that a sweep holds
  // of its cells besides the group that runs.
  std::vector<finished_cell> cells;
  std::size_t skipped = 0;  // done by an earlier run of the same directory
  bool interrupted = false;
};

// Throws if the whole sweep cannot go on: another process holds the directory, the disk is full,
// the dataset cannot be read. A cell's failure is its status. After SIGINT or SIGTERM the running
// group is finished and recorded, then the sweep ends as interrupted; a second signal ends it at
// once. `part` must come from make_plan or plan_cells on the same config and input.
sweep_result run_sweep(const sweep_request& request, const sweep_part& part,
                       const sweep_input& input, backends& places, sweep_observer& observer);

}  // namespace kselect::harness
