#include "harness/tune/tuning_data.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/auto_select/choose.hpp"
#include "runtime/error.hpp"

namespace kselect::harness::tune {
namespace {

using compare::recorded_cell;
using compare::recorded_run;

// The first GPU in the meta data; null if there is none.
compare::json first_gpu(const recorded_run& run) {
  const compare::json gpus = run.fact({"gpu"});
  return gpus.is_array() && !gpus.empty() ? gpus.front() : compare::json(nullptr);
}

tuned_device device_of(const recorded_run& run) {
  const compare::json gpu = first_gpu(run);
  tuned_device device;
  if (gpu.is_null()) {
    const compare::json name = run.fact({"host", "cpu"});
    device.kind = executor_kind::cpu;
    device.name = name.is_string() ? name.get<std::string>() : "a processor";
    const compare::json threads = run.fact({"host", "threads"});
    device.multiprocessors = threads.is_number_integer() ? std::max(threads.get<int>(), 1) : 1;
    return device;
  }
  if (!run.fact({"multiprocessors"}).is_null()) {
    throw error(
        failure::input,
        fmt::format("{}: was confined to some of the GPU's multiprocessors; cost tables are "
                    "of whole GPUs",
                    run.path));
  }
  device.name = gpu.value("name", "");
  device.multiprocessors = gpu.value("multiprocessors", 0);
  device.compute_capability = gpu.value("compute_capability", 0);
  if (device.name.empty() || device.multiprocessors < 1) {
    throw error(failure::input,
                fmt::format("{}: its meta data lacks the GPU's name or multiprocessors", run.path));
  }
  return device;
}

nlohmann::ordered_json source_of(const recorded_run& run) {
  const compare::json first = first_gpu(run);
  const auto gpu = [&](const char* fact) {
    return first.contains(fact) ? first[fact] : compare::json(nullptr);
  };
  return {{"run", run.fact({"run"})},
          {"plan", run.fact({"plan", "hash"})},
          {"started", run.fact({"started"})},
          {"driver", gpu("driver")},
          {"cuda", gpu("cuda_runtime")},
          {"version", run.fact({"build", "version"})},
          {"commit", run.fact({"git", "commit"})},
          {"cells", run.cells.size()}};
}

// "tune of 2026-11-21, driver 580.1, kselect 0.1.0"; of a processor without the driver
std::string in_one_line(const nlohmann::ordered_json& source) {
  const auto text = [&](const char* key) {
    return source.at(key).is_string() ? source.at(key).get<std::string>() : std::string("?");
  };
  const std::string driver =
      source.at("driver").is_string() ? ", driver " + text("driver") : std::string();
  return fmt::format("{} of {}{}, kselect {}", text("run"), text("started").substr(0, 10), driver,
                     text("version"));
}

// Per entry: the sum of the logarithms of its times and their number, over all runs.
struct gathered {
  workload problem;
  std::map<std::string, std::pair<double, int>> times;  // of entries by name
};

double mean_of(const gathered& from, const std::string& entry) {
  const auto found = from.times.find(entry);
  if (found == from.times.end()) return untimed;
  return std::exp(found->second.first / found->second.second);
}

// The times of cells by problem, in the order in which the problems first appear.
class gathered_times {
 public:
  void add(const recorded_cell& cell) {
    const auto [place, added] = places_.try_emplace(to_string(cell.problem), problems_.size());
    if (added) problems_.push_back({cell.problem, {}});
    auto& [sum, count] = problems_[place->second].times[cell.algorithm];
    sum += std::log(cell.time->median);
    ++count;
  }
  const std::vector<gathered>& problems() const { return problems_; }

 private:
  std::vector<gathered> problems_;
  std::map<std::string, std::size_t> places_;  // from a problem to its position
};

// The device of all runs so far; throws if this one is of another.
void join_device(tuning_data& data, const tuned_device& device, const recorded_run& run,
                 const recorded_run& first) {
  if (data.device.name.empty()) data.device = device;
  if (data.device.name == device.name && data.device.multiprocessors == device.multiprocessors) {
    return;
  }
  throw error(failure::input,
              fmt::format("{}: was measured on {}, but {} on {}; one device at a time", run.path,
                          device.name, first.path, data.device.name));
}

// Whether a cell has a time of `auto` or of a member. On a CPU, where rules choose, any entry
// counts.
bool is_of_use(const recorded_cell& cell, executor_kind kind) {
  if (cell.executor != to_string(kind) || cell.status != cell_status::ok || !cell.time) {
    return false;
  }
  return kind == executor_kind::cpu || cell.algorithm == "auto" ||
         find_member(cell.algorithm) != nullptr;
}

// Adds the cells of one run, and the entries that are members of `auto`.
void add_cells(tuning_data& data, gathered_times& times, const recorded_run& run,
               executor_kind kind) {
  for (const recorded_cell& cell : run.cells) {
    if (!is_of_use(cell, kind)) continue;
    times.add(cell);
    const bool known = std::ranges::find(data.members, cell.algorithm) != data.members.end();
    if (cell.algorithm != "auto" && !known) data.members.push_back(cell.algorithm);
  }
}

}  // namespace

tuning_data collect(const std::vector<recorded_run>& runs) {
  tuning_data data;
  data.sources = nlohmann::ordered_json::array();
  std::vector<std::string> lines;
  gathered_times times;
  for (const recorded_run& run : runs) {
    const tuned_device device = device_of(run);
    join_device(data, device, run, runs.front());
    data.sources.push_back(source_of(run));
    lines.push_back(in_one_line(data.sources.back()));
    add_cells(data, times, run, device.kind);
  }
  if (data.members.empty()) {
    throw error(failure::input, fmt::format("{}: no cell of a member of auto has a time",
                                            runs.empty() ? "no run" : runs.front().path));
  }
  data.source = fmt::format("{}", fmt::join(lines, "; "));
  for (const gathered& one : times.problems()) {
    timed_problem& p = data.problems.emplace_back();
    p.problem = one.problem;
    p.chosen = mean_of(one, "auto");
    for (const std::string& member : data.members) p.times.push_back(mean_of(one, member));
  }
  return data;
}

tuning_data typical(const tuning_data& data) {
  tuning_data kept = data;
  std::erase_if(kept.problems, [](const timed_problem& timed) {
    const workload& p = timed.problem;
    return p.distribution.kind != distribution_kind::uniform || p.layout != layout::row_major ||
           p.payload != payload::values_and_indices;
  });
  return kept;
}

}  // namespace kselect::harness::tune
