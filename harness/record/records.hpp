#pragma once
// What a run records: one record per cell in runs.jsonl, and meta.json for the whole run. The
// schema is fixed by `schema_version` and described in results/record.schema.json. plots/ and other
// programs read nothing else.

#include <chrono>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "harness/plan/input.hpp"
#include "harness/plan/shard.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/outcome.hpp"

namespace kselect::harness {

inline constexpr std::int64_t schema_version = journal_schema;

// In UTC, such as "2026-11-20T19:00:00Z".
std::string utc_time(std::chrono::system_clock::time_point when);

// The algorithm's name and the hash of its source; of a plug-in its path, and the file's hash.
nlohmann::ordered_json algorithm_json(const registered& entry);

struct cell_context {
  nlohmann::ordered_json input;              // input_source::description()
  int threads = 0;                           // 0: the cell was not tried
  std::optional<confinement> confined = {};  // backend::confined()
};

// One line of runs.jsonl, without its checksum.
std::string cell_record(const cell& c, const cell_outcome& outcome, const cell_context& context);

enum class run_state : std::uint8_t { running, interrupted, complete };
constexpr auto names_of(run_state) {
  return std::to_array<named<run_state>>({{run_state::running, "running"},
                                          {run_state::interrupted, "interrupted"},
                                          {run_state::complete, "complete"}});
}

// What is known of a run before its first cell.
struct run_context {
  const sweep_config& config;
  const sweep_part& part;
  const sweep_input& input;
  const std::vector<std::string>& arguments;  // the command line
  const nlohmann::ordered_json& cost_table;   // the user's own for `auto`, or null
  std::optional<confinement> confined;        // of the cuda executor
  std::chrono::system_clock::time_point started;
  // As it was before the first cell: later the load is the run's own.
  const nlohmann::ordered_json& host;
};

// The text of meta.json: resolved config, shard, build, git, host, GPU, command line, what the
// GPU's work was confined to, plug-ins, and the memory ceilings of each executor.
std::string meta_record(const run_context& run, run_state state,
                        const std::map<executor_kind, memory_ceilings>& ceilings);

}  // namespace kselect::harness
