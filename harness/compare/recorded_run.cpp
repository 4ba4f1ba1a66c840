#include "harness/compare/recorded_run.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "harness/compare/statistics.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/meta.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/json.hpp"

namespace kselect::harness::compare {
namespace {

// The enum value that `member` names. Throws if this program does not know the name.
template <named_enum Enum>
Enum known(const json& record, const char* member) {
  const std::string name = record.at(member);
  if (const auto value = parse<Enum>(name)) return *value;
  throw error(failure::input, fmt::format("unknown {} '{}'", member, name));
}

// As a plan writes it: 0 for 0.0.
std::string setting_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

// The members of a problem that a task added, in the record's order.
std::string settings_of(const json& problem) {
  constexpr std::array<std::string_view, 11> usual = {
      "n",       "q",      "k",     "dtype",        "index", "direction",
      "payload", "layout", "pitch", "distribution", "seed"};
  std::string text;
  for (const auto& [name, value] : problem.items()) {
    if (std::ranges::find(usual, name) != usual.end()) continue;
    text += fmt::format("/{}={}", name, setting_text(value));
  }
  return text;
}

recorded_problem problem_of(const json& from) {
  recorded_problem p;
  p.settings = settings_of(from);
  p.n = runtime::whole<std::int64_t>(from.at("n"));
  p.q = runtime::whole<std::int64_t>(from.at("q"));
  p.k = runtime::whole<std::int64_t>(from.at("k"));
  p.type = known<dtype>(from, "dtype");
  p.index = known<index_type>(from, "index");
  p.direction = known<direction>(from, "direction");
  p.payload = known<payload>(from, "payload");
  p.layout = known<layout>(from, "layout");
  p.pitch = runtime::whole<std::int64_t>(from.at("pitch"));
  p.seed = runtime::whole<std::uint64_t>(from.at("seed"));
  const std::string distribution = from.at("distribution");
  // Rows of a dataset or a file. No config can ask the generator for it.
  if (distribution == to_string(distribution_kind::external)) {
    p.distribution = {distribution_kind::external, 0};
    return p;
  }
  const auto parsed = parse_distribution(distribution);
  if (!parsed) throw error(failure::input, fmt::format("unknown distribution '{}'", distribution));
  p.distribution = *parsed;
  return p;
}

recorded_time time_of(const json& from) {
  recorded_time time;
  time.clock = from.at("clock");
  time.median = from.at("median");
  time.low = from.at("ci95").at(0);
  time.high = from.at("ci95").at(1);
  if (const auto samples = from.find("samples"); samples != from.end()) {
    for (const json& sample : *samples) time.samples.push_back(sample);
  }
  if (const auto rounds = from.find("rounds"); rounds != from.end()) {
    for (const json& round : *rounds) {
      time.rounds.push_back(round.is_null() ? std::nullopt : std::optional<double>(round));
    }
  } else {
    for (const double block : block_medians(time.samples, made_rounds)) {
      time.rounds.emplace_back(block);
    }
  }
  return time;
}

recorded_cell cell_of(json record) {
  recorded_cell cell;
  cell.problem = problem_of(record.at("problem"));
  cell.algorithm = record.at("algorithm").at("name");
  cell.executor = record.at("executor");
  cell.threads = runtime::whole<int>(record.at("threads"));
  cell.status = known<cell_status>(record, "status");
  cell.reason = record.value("reason", "");
  cell.throttled = record.value("throttled", false);
  cell.pinned = record.value("pinned", true);
  if (const json& time = record.at("time"); !time.is_null()) cell.time = time_of(time);
  if (const auto counters = record.find("counters");
      counters != record.end() && counters->is_object()) {
    for (const auto& [name, value] : counters->items()) cell.counters[name] = value;
  }
  // Sorted members: the identity must not depend on the order in which a version writes them.
  const nlohmann::json input = record.at("input");
  cell.identity = fmt::format("{} {} {} {}", cell.algorithm, cell.executor, to_string(cell.problem),
                              input.dump());
  cell.record = std::move(record);
  return cell;
}

}  // namespace

std::vector<double> block_medians(const std::vector<double>& samples, std::size_t count) {
  const std::size_t blocks = std::min(count, samples.size());
  std::vector<double> medians;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t first = b * samples.size() / blocks;
    const std::size_t end = (b + 1) * samples.size() / blocks;
    medians.push_back(median(std::span(samples).subspan(first, end - first)));
  }
  return medians;
}

const recorded_cell* recorded_run::find(const std::string& identity) const {
  const auto found = place_.find(identity);
  return found == place_.end() ? nullptr : &cells[found->second];
}

void recorded_run::add(recorded_cell cell) {
  const auto [at, first] = place_.try_emplace(cell.identity, cells.size());
  if (first) {
    cells.push_back(std::move(cell));
  } else if (cell.time || !cells[at->second].time) {
    cells[at->second] = std::move(cell);
  }
}

json recorded_run::fact(std::initializer_list<const char*> where) const {
  const json* at = &meta;
  for (const char* const step : where) {
    if (!at->is_object() || !at->contains(step)) return nullptr;
    at = &(*at)[step];
  }
  return *at;
}

recorded_run read_run(const std::filesystem::path& path) {
  const bool is_directory = std::filesystem::is_directory(path);
  const std::filesystem::path directory = is_directory ? path : path.parent_path();
  const std::filesystem::path file = is_directory ? journal_in(path) : path;
  recorded_run run;
  run.path = path.string();
  const journal_contents contents = read_journal(file);
  run.meta = read_meta(directory / "meta.json");
  if (contents.torn) {
    run.notes.push_back(fmt::format("{}: ignored an unfinished record of {} bytes at its end",
                                    file.string(), contents.torn->bytes));
  }
  std::size_t without_rounds = 0;
  for (const record_line& line : contents.records) {
    try {
      recorded_cell cell = cell_of(parse_json(line.text, "the record"));
      if (cell.time && !cell.record["time"].contains("rounds")) ++without_rounds;
      run.add(std::move(cell));
    } catch (const std::exception& problem) {
      throw error(failure::input,
                  fmt::format("{}:{}: {}", file.string(), line.line, runtime::reason_of(problem)));
    }
  }
  if (without_rounds != 0) {
    run.notes.push_back(fmt::format(
        "{}: no rounds in {}; they are made of {} consecutive blocks of samples, which hide "
        "slow drift",
        run.path, runtime::amount_of(without_rounds, "record"), made_rounds));
  }
  return run;
}

}  // namespace kselect::harness::compare
