#include "search/task/call_record.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "harness/measure/statistics.hpp"
#include "harness/record/ceilings.hpp"
#include "harness/record/file.hpp"
#include "harness/record/meta.hpp"
#include "harness/record/records.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* meta_name = "meta.json";

// File names may hold any byte.
std::string text_of(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

// Equal keys measure the same thing, as in a sweep.
std::string key_of(const measured_call& call) {
  const cell& c = call.what;
  std::string identity =
      fmt::format("call|{}|{}|{}|{}|{}|{}|{}|{}", problem_of(c), text_of(call.input, -1),
                  name_of(c), c.entry->source_hash, c.task->source_hash(c), to_string(c.executor),
                  call.device, call.threads);
  for (const setting& s : c.of_entry) identity += '|' + to_string(s);
  return fmt::format("{:016x}", XXH3_64bits(identity.data(), identity.size()));
}

// The last cell of that key that has a time; null if there is none.
json recorded_before(std::span<const record_line> records, const std::string& key) {
  for (auto line = records.rbegin(); line != records.rend(); ++line) {
    json record = json::parse(line->text, nullptr, false);
    if (record.is_object() && record.value("key", "") == key && record["time"].is_object()) {
      return record;
    }
  }
  return {};
}

std::vector<double> joined(const json& before, const std::vector<double>& now) {
  std::vector<double> all;
  if (before.is_array()) all = before.get<std::vector<double>>();
  all.insert(all.end(), now.begin(), now.end());
  return all;
}

timing timing_of(const std::vector<double>& rounds, const std::string& clock) {
  timing t;
  t.clock = clock;
  t.cache = "warm";  // a search fills the caches itself
  t.samples_ns = rounds;
  t.outliers = far_out(rounds);
  t.round_sizes.assign(rounds.size(), 1);
  t.rounds_ns.assign(rounds.begin(), rounds.end());
  t.result = summarise(rounds);
  t.stop = "max_samples";
  return t;
}

cell_outcome outcome_of(const measured_call& call, const json& before) {
  cell_outcome made;
  const json& old = before.is_null() ? before : before.at("time").at("rounds");
  made.time = timing_of(joined(old, call.rounds_ns), call.clock);
  made.proven_before = call.proven;
  made.answers_proven = call.proven ? 1 : 0;
  made.proof = call.proof;
  made.input_copies = 1;
  made.counts = call.counts;
  made.started = call.started;
  made.elapsed_s = call.elapsed_s;
  for (stage_log stage : call.stages) {
    const bool known = before.is_object() && before.at("stages").contains(stage.name);
    if (known) stage.rounds_ns = joined(before["stages"][stage.name].at("rounds"), stage.rounds_ns);
    made.stages.push_back(std::move(stage));
  }
  return made;
}

json meta_of(const std::filesystem::path& folder, const measured_call& call) {
  json floor = json::object();
  if (call.ceilings.read > 0) floor["cuda"] = to_json(call.ceilings);
  const std::string name = std::filesystem::absolute(folder).lexically_normal().filename().string();
  return {{"schema", schema_version},
          {"run", name},
          {"state", to_string(run_state::complete)},
          {"started", utc_time(call.started)},
          {"arguments", json::array()},
          {"config", {{"name", name}, {"task", call.what.task->name()}, {"calls", true}}},
          {"input", call.input},
          {"git", git_json()},
          {"build", build_json()},
          {"cost_table", nullptr},
          {"host", to_json(observe_host())},
          {"gpu", gpu_json()},
          {"floor", std::move(floor)}};
}

// Whether both texts of a machine and a build are of the same.
std::string difference(const json& meta) {
  if (meta["git"] != git_json()) return "another build of the program";
  const json host = to_json(observe_host());
  for (const char* const member : {"name", "cpu"}) {
    if (meta["host"].value(member, "") != host.value(member, "")) return "another machine";
  }
  return {};
}

void require_same_origin(const std::filesystem::path& folder) {
  std::error_code unknown;
  if (!std::filesystem::exists(folder / meta_name, unknown)) return;
  const json meta = read_meta(folder / meta_name);
  const bool calls = meta.contains("config") && meta["config"].value("calls", false);
  const std::string other = calls ? difference(meta) : "a sweep";
  if (other.empty()) return;
  throw error(failure::output, fmt::format("{} has records of {}; give --record another folder",
                                           folder.string(), other));
}

journal opened(const std::filesystem::path& folder) {
  std::error_code unknown;
  if (std::filesystem::exists(folder, unknown) && !std::filesystem::is_directory(folder, unknown)) {
    throw error(failure::output,
                fmt::format("{} is no folder; --record takes the folder of a run, as `kselect run` "
                            "makes one",
                            folder.string()));
  }
  require_same_origin(folder);
  return journal::open(folder, open_mode::resume);
}

}  // namespace

call_record::call_record(const std::filesystem::path& folder)
    : folder_(folder), records_(opened(folder)) {}

void call_record::add(const measured_call& call) {
  cell what = call.what;
  what.key = key_of(call);
  const json before = recorded_before(records_.existing(), what.key);
  json record = json::parse(
      cell_record(what, outcome_of(call, before), {.input = call.input, .threads = call.threads}));
  if (!call.ranks.is_null()) record["ranks"] = call.ranks;
  std::error_code unknown;
  if (!std::filesystem::exists(folder_ / meta_name, unknown)) {
    write_snapshot(folder_ / meta_name, text_of(meta_of(folder_, call), 2) + "\n");
  }
  records_.append(text_of(record, -1));
}

}  // namespace kselect::search
