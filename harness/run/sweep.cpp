#include "harness/run/sweep.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <unistd.h>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/plan/groups.hpp"
#include "harness/plan/parts.hpp"
#include "harness/record/file.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/meta.hpp"
#include "harness/record/records.hpp"
#include "harness/run/group_runner.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
#include "runtime/json.hpp"
#include "runtime/stop_signal.hpp"

namespace kselect::harness {
namespace {

// What the first signal is answered with. On a terminal it takes the place of the progress.
std::string stopping_line() {
  return fmt::format(
      "{}kselect: stopping: the cells that take turns now are finished and recorded first; a "
      "second signal ends the run at once, without them\n",
      isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "");
}

// A directory holds records of one shard of one config. Throws error(failure::usage) if the earlier
// run had another. Returns that run's meta.json; null if there is none.
nlohmann::ordered_json require_same_sweep(const std::filesystem::path& meta,
                                          const sweep_config& config, const sweep_part& part) {
  std::error_code unknown;
  if (!std::filesystem::exists(meta, unknown)) return {};
  auto old = read_meta(meta);
  if (!old.contains("config")) {
    throw error(failure::input,
                fmt::format("{}: is no record of a run; move it away or use another "
                            "--out",
                            meta.string()));
  }
  if (old["config"] != resolved_json(config)) {
    throw error(failure::usage,
                fmt::format("{} was started with another config than {}; use another --out",
                            meta.parent_path().string(), config.file_name));
  }
  if (!old.contains("plan")) return old;
  const shard before{old["plan"].at("shard"), old["plan"].at("of")};
  if (before != part.shard) {
    throw error(failure::usage, fmt::format("{} was started as shard {}/{}, this is {}/{}; use "
                                            "another --out",
                                            meta.parent_path().string(), before.index, before.count,
                                            part.shard.index, part.shard.count));
  }
  return old;
}

// Keys of the cells that an earlier run ended as ok or unsupported. All others are tried again.
std::unordered_set<std::string> settled_keys(const journal& records) {
  std::unordered_set<std::string> keys;
  for (const auto& line : records.existing()) {
    const std::string name = fmt::format("{}: line {}", records.path().string(), line.line);
    const auto record = parse_json(line.text, name);
    read_members(name, [&] {
      const std::string status = record.at("status"), key = record.at("key");
      if (status == to_string(cell_status::ok) || status == to_string(cell_status::unsupported)) {
        keys.insert(key);
      }
    });
  }
  return keys;
}

class sweep {
 public:
  sweep(const sweep_request& request, const sweep_part& part, const sweep_input& input,
        backends& places, sweep_observer& observer)
      : request_(request),
        part_(part),
        input_(input),
        places_(places),
        observer_(observer),
        confined_(places.confined()),
        started_(std::chrono::system_clock::now()),
        host_(to_json(observe_host())) {}

  sweep_result run() {
    const std::filesystem::path directory = request_.directory;
    journal records =
        journal::open(directory, request_.resume ? open_mode::resume : open_mode::create_new);
    nlohmann::ordered_json before;
    if (request_.resume) {
      before = require_same_sweep(directory / "meta.json", request_.config, part_);
    }
    if (const auto cut = records.cut()) {
      observer_.note(fmt::format("{}: cut {} bytes of a record that a killed run left unfinished",
                                 (directory / "runs.jsonl").string(), cut->bytes));
    }
    done_ = settled_keys(records);
    const std::string line = stopping_line();
    const runtime::stop_on_signal guard(line);
    sweep_result result;
    observer_.planned(part_.cells, count_done());
    // Nothing is left to run after a complete run: keep its meta.json.
    const bool was_complete =
        !before.is_null() && before.value("state", "") == to_string(run_state::complete);
    if (was_complete && all_done()) {
      result.skipped = part_.cells.size();
      return result;
    }
    write_meta(run_state::running);
    run_groups(records, result);
    write_meta(result.interrupted ? run_state::interrupted : run_state::complete);
    // Cells of a group end in any order; they are reported in the plan's order.
    std::ranges::sort(result.cells, std::less<>{},
                      [](const finished_cell& c) { return c.what->number; });
    return result;
  }

 private:
  bool all_done() const {
    return std::ranges::all_of(part_.cells, [&](const cell& c) { return done_.contains(c.key); });
  }

  // How many cells of the plan an earlier run settled.
  std::size_t count_done() const {
    if (done_.empty() || std::ssize(done_) > most_listed ||
        part_.cells.size() > static_cast<std::size_t>(most_listed)) {
      return std::min(done_.size(), part_.cells.size());
    }
    return static_cast<std::size_t>(
        std::ranges::count_if(part_.cells, [&](const cell& c) { return done_.contains(c.key); }));
  }

  void run_groups(journal& records, sweep_result& result) {
    auto at = part_.cells.begin();
    grouping groups([&](cell& c) {
      for (; at != part_.cells.end(); ++at) {
        if (done_.contains(at->key)) {
          ++result.skipped;
          continue;
        }
        c = *at;
        ++at;
        return true;
      }
      return false;
    });
    while (true) {
      if (runtime::stop_requested()) {
        result.interrupted = true;
        return;
      }
      auto group = groups.next();
      if (group.empty()) return;
      observer_.starting(group.front());
      run_and_record(std::make_shared<const std::vector<cell>>(std::move(group)), records, result);
    }
  }

  void run_and_record(const std::shared_ptr<const std::vector<cell>>& group, journal& records,
                      sweep_result& result) {
    const auto done = [&](const cell& c, const std::string& record) {
      records.append(record);
      result.cells.push_back(summary_of({group, &c}, record));
      observer_.finished(result.cells.back());
    };
    std::vector<const cell*> possible;
    for (const cell& c : *group) {
      if (c.foreseen == cell_status::ok) {
        possible.push_back(&c);
        continue;
      }
      cell_outcome outcome;
      outcome.status = c.foreseen;
      outcome.reason = c.reason;
      outcome.started = std::chrono::system_clock::now();
      done(c, cell_record(c, outcome, {input_of_part(input_, c.part).description(), 0}));
    }
    if (possible.empty()) return;
    group_runner& runner = runner_of(possible.front()->part);
    runner.run(possible, done);
    if (runner.ceilings().size() == ceilings_.size()) return;
    ceilings_ = runner.ceilings();
    write_meta(run_state::running);
  }

  // A part has a task, an input and so a worker of its own. Its groups follow each other.
  group_runner& runner_of(std::int32_t part) {
    if (runner_ && part == part_of_runner_) return *runner_;
    runner_.reset();
    request_of_part_ = request_;
    request_of_part_.config = config_of_part(request_.config, part);
    request_of_part_.input = choice_of_part(request_.input, part);
    const sweep_input& input = input_of_part(input_, part);
    runner_ = request_.in_process ? run_in_process(request_of_part_, input, places_)
                                  : run_in_worker(request_of_part_, input, places_);
    runner_->know(ceilings_);
    part_of_runner_ = part;
    return *runner_;
  }

  static finished_cell summary_of(std::shared_ptr<const cell> c, const std::string& text) {
    const auto record = nlohmann::json::parse(text);
    const auto& time = record.at("time");
    return {std::move(c), parse<cell_status>(record.at("status").get<std::string>()).value(),
            record.at("reason"),
            time.is_null() ? std::nullopt : std::optional(time.at("median").get<double>())};
  }

  void write_meta(run_state state) {
    write_snapshot(std::filesystem::path(request_.directory) / "meta.json",
                   meta_record({request_.config, part_, input_, request_.arguments,
                                request_.cost_table, confined_, started_, host_},
                               state, ceilings_));
  }

  const sweep_request& request_;
  const sweep_part& part_;
  const sweep_input& input_;
  backends& places_;
  sweep_observer& observer_;
  std::optional<confinement> confined_;
  sweep_request request_of_part_;  // of the runner, which refers to it
  std::unique_ptr<group_runner> runner_;
  std::int32_t part_of_runner_ = 0;
  std::map<executor_kind, memory_ceilings> ceilings_;
  std::chrono::system_clock::time_point started_;
  std::unordered_set<std::string> done_;  // keys of cells that an earlier run settled
  nlohmann::ordered_json host_;
};

}  // namespace

sweep_result run_sweep(const sweep_request& request, const sweep_part& part,
                       const sweep_input& input, backends& places, sweep_observer& observer) {
  return sweep(request, part, input, places, observer).run();
}

}  // namespace kselect::harness
