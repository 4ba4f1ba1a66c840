#include "harness/counters/work_counters.hpp"

#include <fstream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/record/file.hpp"
#include "harness/run/count_work.hpp"
#include "kselect/simt/counters.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"

namespace kselect::harness {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view work_schema = "kselect-counters/1";

work named_values(const simt::counters& counts) {
  work values;
  for (const auto& counter : names<simt::counter>) {
    if (counts[counter.value] != 0) values[std::string(counter.name)] = counts[counter.value];
  }
  return values;
}

// Always one thread: an algorithm may size its work by the number of threads.
work count_cell(const cell& c, const input_source& input) {
  const host_buffer rows(c.problem.input_bytes());
  input.fill(c.problem, {rows.data(), c.problem.input_bytes()});
  try {
    const auto counted = count_work(c, {rows.data(), c.problem.input_bytes()}, 1);
    return counted ? named_values(counted->counters) : work{};
  } catch (const error& failed) {
    const bool wrong = failed.category() == failure::wrong_answer;
    throw error(
        wrong ? failure::wrong_answer : failure::cells,
        fmt::format("{} {}: {}", c.entry->algorithm->name, to_string(c.problem), failed.what()));
  }
}

}  // namespace

work_record count_work(const sweep_config& config, const input_source& input,
                       const std::optional<std::string>& filter) {
  backends places(measure_policy{.threads = 1});
  work_record counted;
  for (const cell& c : plan_cells({config, input, executor_kind::fiber, filter}, places)) {
    if (c.foreseen != cell_status::ok || c.problem.n == 0 || c.problem.q == 0) continue;
    work values = count_cell(c, input);
    // An adapter that only copies to the host launches no kernel.
    if (values.empty()) continue;
    counted[{std::string(c.entry->algorithm->name), to_string(c.problem)}] = std::move(values);
  }
  return counted;
}

void write_work(const work_record& counted, const std::filesystem::path& path) {
  std::string text = fmt::format("{{\n  \"schema\": \"{}\",\n  \"cells\": [", work_schema);
  const char* separator = "\n";
  for (const auto& [key, values] : counted) {
    const json line = {{"algorithm", key.first}, {"problem", key.second}, {"counters", values}};
    text += separator + ("    " + line.dump());
    separator = ",\n";
  }
  write_snapshot(path, text + "\n  ]\n}\n");
}

work_record read_work(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) {
    throw error(failure::input,
                fmt::format("{}: cannot be read; make it with --update", path.string()));
  }
  const json file = read_json(path);
  try {
    if (file.at("schema") != work_schema) {
      throw error(failure::input,
                  fmt::format("has schema {}, not {}", file["schema"].dump(), work_schema));
    }
    work_record recorded;
    for (const json& line : file.at("cells")) {
      recorded[{line.at("algorithm"), line.at("problem")}] = line.at("counters").get<work>();
    }
    return recorded;
  } catch (const std::exception& problem) {
    throw error(failure::input, fmt::format("{}: is no record of counters: {}", path.string(),
                                            runtime::reason_of(problem)));
  }
}

work_check check_work(const work_record& recorded, const work_record& now) {
  work_check check;
  for (const auto& [key, was] : recorded) {
    const auto found = now.find(key);
    if (found == now.end()) {
      check.gone.push_back(key);
      continue;
    }
    std::set<std::string> counters;
    for (const auto& [name, value] : was) counters.insert(name);
    for (const auto& [name, value] : found->second) counters.insert(name);
    const auto value = [](const work& of, const std::string& name) {
      const auto entry = of.find(name);
      return entry == of.end() ? 0 : entry->second;
    };
    for (const std::string& name : counters) {
      const work_difference d{key.first, key.second, name, value(was, name),
                              value(found->second, name)};
      if (d.now > d.recorded) check.more.push_back(d);
      if (d.now < d.recorded) check.less.push_back(d);
    }
  }
  for (const auto& [key, values] : now) {
    if (!recorded.contains(key)) check.added.push_back(key);
  }
  return check;
}

std::string to_string(const work_difference& d) {
  const std::int64_t change = d.now - d.recorded;
  const std::string share = d.recorded == 0
                                ? ""
                                : fmt::format(" ({:+.1f} %)", 100.0 * static_cast<double>(change) /
                                                                  static_cast<double>(d.recorded));
  return fmt::format("{} {}: {}: recorded {}, now {}: {:+}{}", d.algorithm, d.problem, d.counter,
                     d.recorded, d.now, change, share);
}

}  // namespace kselect::harness
