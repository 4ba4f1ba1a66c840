#include "harness/compare/alternate.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "harness/compare/merged_record.hpp"
#include "harness/compare/recorded_run.hpp"
#include "harness/compare/subprocess.hpp"
#include "harness/config/config.hpp"
#include "harness/config/json_text.hpp"
#include "harness/record/file.hpp"
#include "harness/record/journal.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"

namespace kselect::harness::compare {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Files of lengths, one or in a list.
void make_lengths_absolute(const sweep_config& config, json& part) {
  const json::json_pointer lengths("/axes/lengths");
  if (!part.contains(lengths)) return;
  const auto change = [&](json& one) {
    if (!one.is_object()) return;
    one["file"] = fs::absolute(dataset_path(config, one["file"])).string();
  };
  json& axis = part[lengths];
  change(axis);
  if (!axis.is_array()) return;
  for (json& one : axis) change(one);
}

// The config of one turn: one round of measurement. Datasets and lengths get absolute paths,
// because the copy lies in another folder. `with_rounds` is off for programs older than
// measure.rounds.
json turn_config(const fs::path& file, bool with_rounds) {
  const sweep_config config = load_config(file);  // only for the paths of datasets
  json text = parse_strict_json(text_of(file), file.string());
  if (with_rounds) text["measure"]["rounds"] = 1;
  const auto make_absolute = [&](json& part) {
    make_lengths_absolute(config, part);
    const json::json_pointer dataset("/input/dataset");
    for (const char* const member : {"base", "query"}) {
      if (!part.contains(dataset) || !part[dataset].contains(member)) continue;
      part[dataset][member] = fs::absolute(dataset_path(config, part[dataset][member])).string();
    }
  };
  make_absolute(text);
  if (text.contains("parts")) {
    for (json& part : text["parts"]) make_absolute(part);
  }
  return text;
}

class turns {
 public:
  explicit turns(const alternation& what)
      : what_(what), rounds_(what.directory / "rounds"), config_(what.directory / "turn.json") {}

  void run() {
    make_directories(rounds_);
    write_config();
    for (int round = 0; round < what_.rounds; ++round) {
      const bool base_first = round % 2 == 0;
      turn(base_first, round);
      turn(!base_first, round);
    }
  }

  fs::path directory_of(bool is_base, int round) const {
    return rounds_ / fmt::format("{}-{:03}", is_base ? "base" : "new", round + 1);
  }

 private:
  // Writes one config that both programs accept.
  void write_config() {
    const fs::path log = what_.directory / "dry-run.log";
    for (const bool with_rounds : {true, false}) {
      std::ofstream(config_) << turn_config(what_.config, with_rounds).dump(2) << '\n';
      const bool accepted =
          std::ranges::all_of(std::vector{what_.base, what_.now}, [&](const fs::path& program) {
            return run_process(command(program, {"--dry-run"}), log) == 0;
          });
      if (accepted) return;
    }
    throw error(failure::usage, fmt::format("one of the programs refuses {}: {}",
                                            what_.config.string(), last_line(log)));
  }

  std::vector<std::string> command(const fs::path& program,
                                   std::initializer_list<std::string> more) const {
    std::vector<std::string> line = {program.string(), "run", config_.string()};
    line.insert(line.end(), what_.arguments.begin(), what_.arguments.end());
    line.insert(line.end(), more);
    return line;
  }

  void turn(bool is_base, int round) {
    const fs::path directory = directory_of(is_base, round);
    if (what_.say) {
      what_.say(fmt::format("round {}/{}: {}", round + 1, what_.rounds, is_base ? "base" : "new"));
    }
    fs::path log = directory;
    log += ".log";
    const int code = run_process(
        command(is_base ? what_.base : what_.now, {"--out", directory.string(), "--resume"}), log);
    if (code == static_cast<int>(failure::interrupted)) {
      throw error(failure::interrupted, "interrupted; continue with --resume");
    }
    // Some cell failed. Its record says so, and the verdict will, too.
    if (code == 0 || code == static_cast<int>(failure::cells)) return;
    throw error(failure::usage, fmt::format("{} ended with exit code {}: {}",
                                            directory.filename().string(), code, last_line(log)));
  }

  const alternation& what_;
  fs::path rounds_, config_;
};

void merge(const fs::path& into, const std::vector<recorded_run>& turns, const json& alternated) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const recorded_cell*>> cells;
  for (std::size_t round = 0; round < turns.size(); ++round) {
    for (const recorded_cell& cell : turns[round].cells) {
      auto& of = cells[cell.identity];
      if (of.empty()) {
        order.push_back(cell.identity);
        of.assign(turns.size(), nullptr);
      }
      of[round] = &cell;
    }
  }
  fs::remove(into / journal_name);
  journal records = journal::open(into, open_mode::create_new);
  for (const std::string& identity : order) records.append(merged_record(cells[identity]).dump());
  json meta = merged_meta(turns);
  meta["alternated"] = alternated;
  write_snapshot(into / "meta.json", to_text(meta, 2) + "\n");
}

}  // namespace

alternated_runs alternate(const alternation& what) {
  if (fs::exists(what.directory) && !what.resume) {
    throw error(failure::output,
                fmt::format("{} exists; give another --out, or --resume to finish it",
                            what.directory.string()));
  }
  turns all(what);
  all.run();
  const alternated_runs merged = {what.directory / "base", what.directory / "new"};
  std::string id;
  for (const bool is_base : {true, false}) {
    std::vector<recorded_run> runs;
    for (int round = 0; round < what.rounds; ++round) {
      runs.push_back(read_run(all.directory_of(is_base, round)));
    }
    if (id.empty()) {
      id = fmt::format("{} {}", fs::absolute(what.directory).filename().string(),
                       runs.front().fact({"started"}).dump());
    }
    merge(is_base ? merged.base : merged.now, runs,
          {{"id", id}, {"side", is_base ? "base" : "new"}, {"rounds", what.rounds}});
  }
  return merged;
}

}  // namespace kselect::harness::compare
