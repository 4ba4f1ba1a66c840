#include "harness/record/records.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/environment/host.hpp"

namespace kselect {
namespace {

using json = nlohmann::ordered_json;

json problem_json(const problem& p) {
  return {{"n", p.n},
          {"q", p.q},
          {"k", p.k},
          {"dtype", to_string(p.type)},
          {"index", to_string(p.index)},
          {"direction", to_string(p.direction)},
          {"payload", to_string(p.payload)},
          {"layout", to_string(p.layout)},
          {"pitch", p.pitch},
          {"distribution", to_string(p.distribution)},
          {"seed", p.seed}};
}

json time_json(const timing& t) {
  return {{"clock", t.clock},
          {"unit", "ns"},
          {"median", t.result.median},
          {"q1", t.result.q1},
          {"q3", t.result.q3},
          {"min", t.result.min},
          {"max", t.result.max},
          {"ci95", {t.result.ci_low, t.result.ci_high}},
          {"stop", t.stop},
          {"samples", t.samples_ns}};
}

// Reasons may quote what a driver or a kernel said: any byte that is not UTF-8 is replaced.
std::string dump(const json& object, int indent) {
  return object.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string utc_time(std::chrono::system_clock::time_point when) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(when)));
}

std::string cell_record(const cell& c, const cell_outcome& outcome, const cell_context& context) {
  const algorithm& entry = *c.entry->algorithm;
  const json record = {
      {"schema", schema_version},
      {"key", c.key},
      {"status", to_string(outcome.status)},
      {"reason", outcome.reason},
      {"problem", problem_json(c.problem)},
      {"input", context.input},
      {"algorithm",
       {{"name", entry.name},
        {"family", entry.family},
        {"source", entry.source},
        {"file", c.entry->file},
        {"source_hash", c.entry->source_hash}}},
      {"executor", to_string(c.executor)},
      {"threads", context.threads},
      {"time", outcome.time ? time_json(*outcome.time) : json()},
      {"workspace_bytes", outcome.workspace_bytes},
      {"verify",
       {{"method", "certificate"},
        {"rows", outcome.proven_before ? c.problem.q : 0},
        {"before", outcome.proven_before},
        {"after", outcome.proven_after}}},
      {"started", utc_time(context.started)},
      {"elapsed_s", context.elapsed_s},
  };
  return dump(record, -1);
}

std::string meta_record(const sweep_config& config, const input_source& input,
                        const std::vector<std::string>& arguments, run_state state,
                        std::chrono::system_clock::time_point started) {
  const json record = {
      {"schema", schema_version},
      {"run", config.name},
      {"state", to_string(state)},
      {"started", utc_time(started)},
      {"arguments", arguments},
      {"config", resolved_json(config)},
      {"input", input.description()},
      {"git", git_json()},
      {"build", build_json()},
      {"host", to_json(observe_host())},
      {"gpu", gpu_json()},
  };
  return dump(record, 2) + "\n";
}

}  // namespace kselect
