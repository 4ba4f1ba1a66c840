#include "harness/compare/noise.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "harness/record/file.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"

namespace kselect::harness::compare {
namespace {

constexpr std::string_view noise_schema = "kselect-noise/1";

// The largest log-ratio between any two rounds of either side. Each round is a process of its own.
double spread_of_processes(const compared_cell& cell) {
  std::vector<double> medians;
  for (const recorded_cell* side : {cell.base, cell.now}) {
    for (const auto& round : side->time->rounds) {
      if (round) medians.push_back(*round);
    }
  }
  const auto [least, most] = std::ranges::minmax_element(medians);
  return std::log(*most / *least);
}

}  // namespace

json facts_of_machine(const recorded_run& run) {
  json facts = {{"cpu", json::object()}, {"gpu", json::object()}};
  for (const char* const name : {"cpu", "threads"}) facts["cpu"][name] = run.fact({"host", name});
  // The record lists all GPUs; a run uses the first.
  const json all = run.fact({"gpu"});
  const json gpu = all.is_array() && !all.empty() ? all.front() : json::object();
  for (const char* const name :
       {"name", "driver", "driver_version", "cuda_driver", "cuda_runtime", "ecc", "mig"}) {
    facts["gpu"][name] = gpu.value(name, json());
  }
  return facts;
}

void compare_facts(const json& base, const json& now, std::string_view group,
                   std::vector<std::string>& found) {
  if (!base.is_object() || !now.is_object()) return;
  for (const auto& [name, value] : base.items()) {
    const auto other = now.find(name);
    if (value.is_null() || other == now.end() || other->is_null() || *other == value) continue;
    found.push_back(fmt::format("{} {} is {} in the base and {} in the new run", group, name,
                                value.dump(), other->dump()));
  }
}

std::vector<std::string> differences(const json& base, const json& now, bool on_cpu, bool on_gpu) {
  std::vector<std::string> found;
  if (on_cpu) compare_facts(base.at("cpu"), now.at("cpu"), "host", found);
  if (on_gpu) compare_facts(base.at("gpu"), now.at("gpu"), "GPU", found);
  return found;
}

noise_floor noise_of(const comparison& a_against_a) {
  if (!a_against_a.paired) {
    throw error(failure::usage, fmt::format("{} and {} did not take turns: no noise floor follows "
                                            "from them",
                                            a_against_a.base.path, a_against_a.now.path));
  }
  noise_floor floor;
  floor.machine = facts_of_machine(a_against_a.base);
  for (const compared_cell& cell : a_against_a.cells) {
    if (!cell.log_ratio) continue;
    const double farther = std::max(std::abs(cell.bounds.low), std::abs(cell.bounds.high));
    const double unpaired = spread_of_processes(cell);
    // Too few rounds give no finite bound. The spread of the processes then replaces it.
    floor.cells[cell.base->identity] = {std::isfinite(farther) ? farther : unpaired, unpaired};
  }
  return floor;
}

void write_noise(const noise_floor& floor, const std::filesystem::path& path) {
  json cells = json::array();
  for (const auto& [identity, noise] : floor.cells) {
    cells.push_back({{"cell", identity}, {"paired", noise.paired}, {"unpaired", noise.unpaired}});
  }
  const json file = {{"schema", noise_schema},
                     {"unit", "absolute logarithm of the ratio of two times"},
                     {"machine", floor.machine},
                     {"cells", std::move(cells)}};
  write_snapshot(path, to_text(file, 2) + "\n");
}

noise_floor read_noise(const std::filesystem::path& path) {
  const json file = read_json(path);
  try {
    if (file.at("schema") != noise_schema) {
      throw error(failure::input,
                  fmt::format("has schema {}, not {}", file["schema"].dump(), noise_schema));
    }
    noise_floor floor{path.string(), file.at("machine"), {}};
    for (const char* const part : {"cpu", "gpu"}) {
      if (!floor.machine.at(part).is_object()) {
        throw error(failure::input, fmt::format("its machine has no {}", part));
      }
    }
    for (const json& cell : file.at("cells")) {
      const cell_noise noise{cell.at("paired"), cell.at("unpaired")};
      if (!(noise.paired >= 0) || !(noise.unpaired >= 0)) {
        throw error(failure::input, "a cell's noise is negative");
      }
      floor.cells[cell.at("cell")] = noise;
    }
    return floor;
  } catch (const std::exception& problem) {
    throw error(failure::input, fmt::format("{}: is no noise file: {}", path.string(),
                                            runtime::reason_of(problem)));
  }
}

}  // namespace kselect::harness::compare
