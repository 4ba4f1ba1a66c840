#pragma once
// The messages between a parent and its worker (worker.hpp), as JSON. The parent makes the plan. A
// worker gets its input and policy once, then its cells group by group.
//
// Neither side trusts the other: an algorithm may have damaged the worker. Every reader here throws
// error(failure::input) for a line that the other side of this program does not write.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/input.hpp"
#include "harness/plan/plan.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

using known_ceilings = std::map<executor_kind, memory_ceilings>;

// A plug-in that the parent loaded, and the worker must, too.
struct plugin_choice {
  std::string file;  // absolute
  std::string hash;
};

struct worker_setup {
  input_choice input;
  measure_policy policy;
  known_ceilings ceilings;  // measured earlier in this sweep
  std::string description;  // text of the input's; a worker must open the same
  std::vector<plugin_choice> plugins = {};
};

std::string setup_line(const worker_setup& setup);
worker_setup setup_from(const std::string& line);

std::string group_line(std::span<const cell* const> cells);
// At least one cell. `foreseen` and `reason` keep their defaults: the parent sends only cells that
// can run.
std::vector<cell> group_from(const std::string& line);

// What a worker says.
struct worker_message {
  enum class kind : std::uint8_t { record, ceilings, done, failed } what;
  std::string key = {};  // of the record; the line is the record
  executor_kind executor = {};
  memory_ceilings ceilings = {};
  bool retired = false;      // after `done`: the worker takes no other group
  failure category = {};     // of what `failed`
  std::string message = {};  // likewise
};
worker_message message_from(const std::string& line);

}  // namespace kselect::harness
