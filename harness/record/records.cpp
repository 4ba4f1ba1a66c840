#include "harness/record/records.hpp"

#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/measure/statistics.hpp"
#include "harness/record/ceilings.hpp"
#include "runtime/backend/host_ceilings.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/plugins/plugins.hpp"
#include "src/gpu_device.hpp"

namespace kselect::harness {
namespace {

using json = nlohmann::ordered_json;

json problem_json(const cell& c) {
  const workload& p = c.problem;
  json problem = {{"n", p.n},
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
  if (p.lengths != row_numbers::none) problem["lengths"] = to_string(p.row_lengths);
  if (p.mask != mask_bits::none) problem["mask"] = to_string(p.drawn_mask);
  if (p.nan != nan_order::total_order) problem["nan"] = to_string(p.nan);
  for (const setting& s : c.of_problem) problem[std::string(s.axis)] = to_json(s.value);
  return problem;
}

// The entry's settings are a variant in its name, so that readers of names tell cells apart.
json entry_json(const cell& c) {
  json entry = algorithm_json(*c.entry);
  if (c.task == nullptr) return entry;
  if (c.entry->source_hash.empty()) entry["source_hash"] = c.task->source_hash(c);
  entry["name"] = name_of(c);
  entry["settings"] = json::object();
  for (const setting& s : c.of_entry) entry["settings"][std::string(s.axis)] = to_json(s.value);
  return entry;
}

// Nanoseconds are kept to a tenth, and so are megahertz. No clock here is as fine; further digits
// are those of a conversion, and they would make a compressed record 1.7 times as large.
double tenth_of(double value) { return std::round(value * 10) / 10; }

json numbers_json(const std::vector<std::optional<double>>& values) {
  json list = json::array();
  for (const auto& value : values) list.push_back(value ? json(tenth_of(*value)) : json());
  return list;
}

json times_json(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(tenth_of(value));
  return list;
}

// What a summary and its interval are named in every member that holds times.
json summary_json(const summary& of) {
  return {{"median", tenth_of(of.median)}, {"ci95", {tenth_of(of.ci_low), tenth_of(of.ci_high)}}};
}

json side_json(const std::optional<side_timing>& t) {
  if (!t) return nullptr;
  json side = summary_json(t->result);
  side["rounds"] = numbers_json(t->rounds_ns);
  return side;
}

json time_json(const timing& t) {
  json batch = side_json(t.batch);
  if (t.batch) batch["calls"] = t.batch_calls;
  return {{"clock", t.clock},
          {"unit", "ns"},
          {"cache", t.cache},
          {"gap_hidden", t.gap_hidden},
          {"median", tenth_of(t.result.median)},
          {"q1", tenth_of(t.result.q1)},
          {"q3", tenth_of(t.result.q3)},
          {"min", tenth_of(t.result.min)},
          {"max", tenth_of(t.result.max)},
          {"ci95", {tenth_of(t.result.ci_low), tenth_of(t.result.ci_high)}},
          {"stop", t.stop},
          {"rounds", numbers_json(t.rounds_ns)},
          {"round_sizes", t.round_sizes},
          {"samples", times_json(t.samples_ns)},
          {"outliers", t.outliers},
          {"wall", side_json(t.wall)},
          {"batch", std::move(batch)},
          {"sm_mhz", t.sm_mhz.empty() ? json() : numbers_json(t.sm_mhz)}};
}

json counters_json(const counted_work& work) {
  json all = json::object();
  for (const auto& each : names<simt::counter>) {
    all[std::string(each.name)] = work.counters[each.value];
  }
  return all;
}

// Only counters that the kernel counted by place.
json places_json(const counted_work& work) {
  json all = json::object();
  for (const auto& each : names<simt::counter>) {
    if (!work.places[each.value].empty()) all[std::string(each.name)] = work.places[each.value];
  }
  return all;
}

json floor_json(const floor_share& floor) {
  return {{"bytes", floor.bytes}, {"ceiling", floor.ceiling}, {"share", floor.share}};
}

json stage_json(const stage_times& stage) {
  return {{"executor", to_string(stage.executor)},
          {"clock", stage.clock},
          {"unit", "ns"},
          {"median", tenth_of(summarise(stage.samples_ns).median)},
          {"samples", times_json(stage.samples_ns)}};
}

json inputs_json(const cell_outcome& outcome) {
  json inputs = {{"copies", outcome.input_copies}, {"fresh", outcome.fresh_inputs}};
  if (outcome.distances) inputs["distances"] = stage_json(*outcome.distances);
  if (outcome.rows_to_host) inputs["to_host"] = stage_json(*outcome.rows_to_host);
  return inputs;
}

json graph_json(const graph_capture& graph) {
  return {
      {"captured", graph.refused.empty()}, {"reason", graph.refused}, {"kernels", graph.kernels}};
}

json gpu_span_json(const gpu_span& seen) {
  const auto number = [](const auto& value) { return value ? json(*value) : json(); };
  return {{"event_reasons", seen.event_reasons},
          {"temperature_c", {number(seen.coolest_c), number(seen.hottest_c)}},
          {"most_power_w", number(seen.most_power_w)}};
}

json plugins_json() {
  json all = json::array();
  for (const loaded_plugin* const each : loaded_plugins()) {
    all.push_back({{"file", each->file},
                   {"hash", each->hash},
                   {"version", each->version},
                   {"compiler", each->exported->compiler}});
  }
  return all;
}

json confinement_json(const confinement& to) {
  return {{"used", to.multiprocessors}, {"of", to.of}};
}

template <class T, class Write>
json or_null(const std::optional<T>& value, const Write& write) {
  return value ? write(*value) : json();
}

// Reasons may quote a driver or a kernel, so bytes that are not UTF-8 are replaced.
std::string dump(const json& object, int indent) {
  return object.dump(indent, ' ', false, json::error_handler_t::replace);
}

// Host and device check the same certificate. A record names the device if all answers were proven
// there.
const char* proof_method(const cell_outcome& outcome) {
  const bool in_place =
      outcome.answers_proven > 0 && outcome.proven_in_place == outcome.answers_proven;
  return in_place ? "certificate on the device" : "certificate";
}

}  // namespace

std::string utc_time(std::chrono::system_clock::time_point when) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(when)));
}

json algorithm_json(const registered& entry) {
  const algorithm& a = *entry.algorithm;
  json record = {{"name", a.name},
                 {"family", a.family},
                 {"source", a.source},
                 {"file", entry.file},
                 {"source_hash", entry.source_hash}};
  if (find_plugin(entry.file) != nullptr) record["plugin"] = entry.file;
  return record;
}

namespace {

// What only the cells of a task that was added have.
void add_task_members(json& record, const cell& c, const cell_outcome& outcome) {
  record["task"] = c.task->name();
  json stages = json::object(), counts = json::object();
  for (const stage_log& stage : outcome.stages) {
    json& told = stages[stage.name] = summary_json(summarise(stage.rounds_ns));
    told["unit"] = "ns";
    told["of_time"] = stage.of_time;
    told["rounds"] = times_json(stage.rounds_ns);
  }
  for (const auto& [name, value] : outcome.counts) counts[name] = value;
  record["stages"] = std::move(stages);
  record["counts"] = std::move(counts);
  if (!outcome.proof.empty()) record["verify"]["method"] = outcome.proof;
}

}  // namespace

std::string cell_record(const cell& c, const cell_outcome& outcome, const cell_context& context) {
  json record = {
      {"schema", schema_version},
      {"key", c.key},
      {"status", to_string(outcome.status)},
      {"reason", outcome.reason},
      {"problem", problem_json(c)},
      {"input", context.input},
      {"algorithm", entry_json(c)},
      {"executor", to_string(c.executor)},
      {"threads", context.threads},
      {"time", or_null(outcome.time, time_json)},
      {"throttled", outcome.throttled},
      {"pinned", outcome.pinned},
      {"floor", or_null(outcome.floor, floor_json)},
      {"counters", or_null(outcome.work, counters_json)},
      {"places", or_null(outcome.work, places_json)},
      {"graph", or_null(outcome.graph, graph_json)},
      {"gpu_state", or_null(outcome.gpu, gpu_span_json)},
      {"inputs", inputs_json(outcome)},
      {"workspace_bytes", outcome.workspace_bytes},
      {"verify",
       {{"method", proof_method(outcome)},
        {"rows", outcome.proven_before ? c.problem.q : 0},
        {"answers", outcome.answers_proven},
        {"before", outcome.proven_before},
        {"after", outcome.proven_after}}},
      {"started", utc_time(outcome.started)},
      {"elapsed_s", outcome.elapsed_s},
  };
  if (context.confined) record["multiprocessors"] = confinement_json(*context.confined);
  if (c.task != nullptr) add_task_members(record, c, outcome);
  return dump(record, -1);
}

std::string meta_record(const run_context& run, run_state state,
                        const std::map<executor_kind, memory_ceilings>& ceilings) {
  json floor = json::object();
  for (const auto& [kind, value] : ceilings) floor[std::string(to_string(kind))] = to_json(value);
  json record = {
      {"schema", schema_version},
      {"run", run.config.name},
      {"state", to_string(state)},
      {"started", utc_time(run.started)},
      {"arguments", run.arguments},
      {"config", resolved_json(run.config)},
      {"plan", plan_json(run.part)},
      {"input", run.input.description()},
      {"git", git_json()},
      {"build", build_json()},
      {"cost_table", run.cost_table},
      {"host", run.host},
      {"gpu", gpu_json()},
      {"floor", std::move(floor)},
  };
  if (run.confined) record["multiprocessors"] = confinement_json(*run.confined);
  if (!loaded_plugins().empty()) record["plugins"] = plugins_json();
  if (const std::string cut = shared_cut(); !cut.empty()) record["shared_cut_kib"] = cut;
  if (const std::string block = ceiling_block(); !block.empty()) {
    record["ceiling_block_mib"] = block;
  }
  return dump(record, 2) + "\n";
}

}  // namespace kselect::harness
