#include "harness/shards/merge.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/record/file.hpp"
#include "harness/record/journal.hpp"
#include "harness/shards/recorded_shard.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/json.hpp"

namespace kselect::harness::shards {
namespace {

using json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& why) { throw error(failure::usage, why); }

// The first place where two documents differ, such as "/axes/n is [256] and [512]"; else empty.
std::string first_difference(const json& a, const json& b, const std::string& at = "") {
  if (a == b) return {};
  if (a.is_object() && b.is_object()) {
    for (const auto& [name, value] : a.items()) {
      const json other = b.contains(name) ? b.at(name) : json();
      if (auto found = first_difference(value, other, at + '/' + name); !found.empty()) {
        return found;
      }
    }
    for (const auto& [name, value] : b.items()) {
      if (!a.contains(name)) return fmt::format("{}/{} is absent and {}", at, name, value.dump());
    }
  }
  return fmt::format("{} is {} and {}", at.empty() ? "the whole" : at, a.dump(), b.dump());
}

json program_of(const recorded_shard& s) {
  const json& meta = s.meta;
  return {{"version", meta.value("/build/version"_json_pointer, json())},
          {"commit", meta.value("/git/commit"_json_pointer, json())},
          {"modified", meta.value("/git/dirty"_json_pointer, json())}};
}

void require_one_sweep(const std::vector<recorded_shard>& all) {
  const recorded_shard& first = all.front();
  for (const recorded_shard& other : all) {
    if (auto found = first_difference(first.meta.at("config"), other.meta.at("config"));
        !found.empty()) {
      refuse(
          fmt::format("{} and {} are of different configs: {}", first.name(), other.name(), found));
    }
    if (auto found = first_difference(program_of(first), program_of(other)); !found.empty()) {
      refuse(fmt::format("{} and {} were run by different programs: {}; run one of them again",
                         first.name(), other.name(), found));
    }
    if (first.which.count != other.which.count) {
      refuse(fmt::format("{} is of another division than {}", other.name(), first.name()));
    }
    if (first.plan != other.plan) {
      refuse(
          fmt::format("{} and {} planned different cells ({} and {}) from the same config: give "
                      "all shards the same --filter, --executor and --dataset, or machines with "
                      "the same executors",
                      first.name(), other.name(), first.cells_of_all, other.cells_of_all));
    }
  }
}

std::vector<std::string> what_is_missing(const std::vector<recorded_shard>& all) {
  std::vector<std::string> found;
  const int count = all.front().which.count;
  for (int index = 1; index <= count; ++index) {
    if (std::ranges::none_of(all, [&](const auto& s) { return s.which.index == index; })) {
      found.push_back(fmt::format("shard {}/{} is missing", index, count));
    }
  }
  for (const recorded_shard& s : all) {
    if (s.planned != 0 && s.lines.size() < s.planned) {
      found.push_back(fmt::format("{} has {} of {}", s.name(), s.lines.size(),
                                  runtime::amount_of(s.planned, "cell")));
    } else if (s.planned == 0 && s.meta.value("state", "complete") != "complete") {
      found.push_back(fmt::format("{} is {}", s.name(), s.meta.at("state").get<std::string>()));
    }
  }
  return found;
}

// Whether all shards together are the plan: a shard whose records are another's would pass for
// complete by their number alone. Says what is wrong; empty if all is well.
std::string how_union_differs(const std::vector<recorded_shard>& all) {
  std::unordered_map<std::string, const recorded_shard*> owner;
  for (const recorded_shard& s : all) {
    for (const recorded_line& line : s.lines) {
      const auto [at, first] = owner.try_emplace(line.cell, &s);
      if (first || at->second->which == s.which) continue;
      return fmt::format("{} is in {} and in {}, which are different shards", line.title,
                         at->second->name(), s.name());
    }
  }
  const std::size_t planned = all.front().cells_of_all;
  if (planned == 0 || owner.size() == planned) return {};
  return fmt::format("the shards hold {} together, and their plan has {}",
                     runtime::amount_of(owner.size(), "cell"), planned);
}

// All shards that ran on one kind of machine.
struct machine_shards {
  json facts;
  std::vector<const recorded_shard*> shards;
};

std::vector<machine_shards> by_machine(const std::vector<recorded_shard>& all) {
  std::vector<machine_shards> machines;
  for (const recorded_shard& s : all) {
    const json facts = s.machine();
    auto at = std::ranges::find(machines, facts, &machine_shards::facts);
    if (at == machines.end()) at = machines.insert(at, {facts, {}});
    at->shards.push_back(&s);
  }
  return machines;
}

// Each cell once. Throws if two shards have different settled records of a cell.
std::vector<recorded_line> lines_of(const machine_shards& machine) {
  std::vector<recorded_line> lines;
  std::unordered_map<std::string, std::size_t> place;
  for (const recorded_shard* const s : machine.shards) {
    for (const recorded_line& line : s->lines) {
      const auto [at, first] = place.try_emplace(line.key, lines.size());
      if (first) {
        lines.push_back(line);
        continue;
      }
      recorded_line& before = lines[at->second];
      if (is_settled(before.status) && !is_settled(line.status)) continue;
      if (json::parse(before.text) == json::parse(line.text)) continue;
      if (is_settled(before.status)) {
        refuse(
            fmt::format("{} has two different records on one machine: {} and {}; leave one of "
                        "the directories out",
                        line.title, before.place, line.place));
      }
      before = line;
    }
  }
  return lines;
}

// A directory's name from the GPU's or processor's: "nvidia-h200", "intel-xeon-...".
std::string slug_of(const json& machine) {
  const json& gpus = machine.at("gpus");
  const json& name = gpus.empty() ? machine.at("cpu") : gpus.front().at("name");
  std::string slug;
  for (const char c : name.is_string() ? name.get<std::string>() : "") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (slug.ends_with('-')) slug.pop_back();
  return slug.empty() ? "unknown" : slug;
}

json merged_meta(const machine_shards& machine) {
  json meta = machine.shards.front()->meta;
  meta.erase("plan");
  bool complete = true;
  json parts = json::array();
  for (const recorded_shard* const s : machine.shards) {
    complete = complete && s->meta.value("state", "complete") == "complete";
    parts.push_back({{"directory", s->directory.string()},
                     {"shard", s->which.index},
                     {"of", s->which.count},
                     {"host", s->host()},
                     {"started", s->meta.value("started", json())},
                     {"state", s->meta.value("state", json())}});
  }
  meta["state"] = complete ? "complete" : "interrupted";
  meta["merged"] = std::move(parts);
  return meta;
}

// The shards of all directories, in the order of their numbers.
std::vector<recorded_shard> read_shards(const std::vector<std::filesystem::path>& directories) {
  std::vector<recorded_shard> all;
  for (const auto& directory : directories) all.push_back(read_shard(directory));
  if (all.empty()) refuse("no directory to merge; name the --out of each shard");
  std::ranges::stable_sort(all, {}, [](const recorded_shard& s) { return s.which.index; });
  return all;
}

// What the shards lack of their plan. Refuses it unless `partial`, and always more than the plan or
// a cell in two shards.
std::vector<std::string> lacking(const std::vector<recorded_shard>& all, bool partial) {
  std::vector<std::string> missing = what_is_missing(all);
  if (!missing.empty() && !partial) {
    refuse(fmt::format("{}; run or resume what is missing, or take what is there with --partial",
                       fmt::join(missing, "; ")));
  }
  if (const std::string wrong = how_union_differs(all); !wrong.empty()) {
    const bool only_missing = !missing.empty() && wrong.starts_with("the shards hold");
    if (!only_missing) refuse(wrong + "; leave out the directory that is of another run");
  }
  return missing;
}

// A machine's shards, and the lines of its run.
struct planned_run {
  machine_shards machine;
  std::vector<recorded_line> lines;
};

// Writes the run of a machine into a new directory.
merged_run write_run(const planned_run& run, const std::filesystem::path& directory) {
  merged_run made{.directory = directory, .cells = run.lines.size(), .hosts = {}};
  journal records = journal::open(directory, open_mode::create_new);
  for (const recorded_line& line : run.lines) {
    records.append(line.text);
    made.failed += is_settled(line.status) ? 0 : 1;
  }
  write_snapshot(directory / "meta.json", to_text(merged_meta(run.machine), 2) + "\n");
  for (const recorded_shard* const s : run.machine.shards) {
    if (std::ranges::find(made.hosts, s->host()) == made.hosts.end()) {
      made.hosts.push_back(s->host());
    }
  }
  return made;
}

}  // namespace

merge_result merge(const merge_request& request) {
  const std::vector<recorded_shard> all = read_shards(request.directories);
  require_one_sweep(all);
  merge_result result;
  result.notes = lacking(all, request.partial);
  // All lines are read before the first file is written.
  std::vector<planned_run> planned;
  for (machine_shards& machine : by_machine(all)) {
    std::vector<recorded_line> lines = lines_of(machine);
    planned.push_back({std::move(machine), std::move(lines)});
  }
  std::set<std::string> names;
  for (const planned_run& run : planned) {
    const std::string slug = slug_of(run.machine.facts);
    std::string name = slug;
    for (int n = 2; !names.insert(name).second; ++n) name = fmt::format("{}-{}", slug, n);
    result.runs.push_back(write_run(run, request.out / name));
  }
  return result;
}

}  // namespace kselect::harness::shards
