#include "harness/run/sweep.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/error.hpp"
#include "harness/record/file.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/records.hpp"

namespace kselect {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

// While it lives, the first SIGINT or SIGTERM asks the sweep to end after the running cell; the
// second does what it did before.
class stop_on_signal {
 public:
  stop_on_signal() {
    stop_requested = 0;
    struct sigaction ours {};
    ours.sa_handler = [](int) { stop_requested = 1; };
    ours.sa_flags = SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &ours, &old_interrupt_);
    sigaction(SIGTERM, &ours, &old_terminate_);
  }
  ~stop_on_signal() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  stop_on_signal(const stop_on_signal&) = delete;
  stop_on_signal& operator=(const stop_on_signal&) = delete;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

// A directory continues one config: another one's cells would make its records a mixture.
void require_same_config(const std::filesystem::path& meta, const sweep_config& config) {
  std::ifstream file(meta);
  if (!file) return;
  const auto old = nlohmann::ordered_json::parse(file, nullptr, false);
  if (!old.is_object() || !old.contains("config")) {
    throw error(failure::input, fmt::format("{}: is no record of a run; move it away or use another "
                                            "--out",
                                            meta.string()));
  }
  if (old["config"] == resolved_json(config)) return;
  throw error(failure::usage,
              fmt::format("{} was started with another config than {}; use another --out",
                          meta.parent_path().string(), config.file_name));
}

// Keys that an earlier run of this directory settled. What ended in an error is tried again.
std::unordered_set<std::string> settled_keys(const journal& records) {
  std::unordered_set<std::string> keys;
  for (const auto& line : records.existing()) {
    const auto record = nlohmann::json::parse(line.text);
    const std::string status = record.at("status");
    if (status == to_string(cell_status::ok) || status == to_string(cell_status::unsupported)) {
      keys.insert(record.at("key"));
    }
  }
  return keys;
}

class sweep {
 public:
  sweep(const sweep_request& request, const input_source& input, backends& places,
        sweep_observer& observer)
      : request_(request),
        input_(input),
        places_(places),
        observer_(observer),
        cache_(input),
        started_(std::chrono::system_clock::now()) {}

  sweep_result run(const std::vector<cell>& cells) {
    const std::filesystem::path directory = request_.directory;
    journal records = journal::open(
        directory, request_.resume ? open_mode::resume : open_mode::create_new);
    if (request_.resume) require_same_config(directory / "meta.json", request_.config);
    if (const auto cut = records.cut()) {
      observer_.note(fmt::format("{}: cut {} bytes of a record that a killed run left unfinished",
                                 (directory / "runs.jsonl").string(), cut->bytes));
    }
    const auto done = settled_keys(records);
    std::vector<const cell*> remaining;
    for (const cell& c : cells) {
      if (!done.contains(c.key)) remaining.push_back(&c);
    }
    const stop_on_signal guard;
    sweep_result result;
    result.skipped = cells.size() - remaining.size();
    observer_.planned(cells, result.skipped);
    write_meta(run_state::running);
    for (const cell* c : remaining) {
      if (stop_requested != 0) {
        result.interrupted = true;
        break;
      }
      observer_.starting(*c);
      result.cells.push_back({c, run_and_record(*c, records)});
      observer_.finished(result.cells.back());
    }
    write_meta(result.interrupted ? run_state::interrupted : run_state::complete);
    return result;
  }

 private:
  cell_outcome run_and_record(const cell& c, journal& records) {
    cell_context context;
    context.input = input_.description();
    context.started = std::chrono::system_clock::now();
    const auto begin = std::chrono::steady_clock::now();
    cell_outcome outcome;
    if (c.foreseen == cell_status::ok) {
      context.threads = places_.open(c.executor).description().threads;
      outcome = run_on_rows(c);
    } else {
      outcome.status = c.foreseen;
      outcome.reason = c.reason;
    }
    context.elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    records.append(cell_record(c, outcome, context));
    return outcome;
  }

  cell_outcome run_on_rows(const cell& c) {
    backend& place = places_.open(c.executor);
    try {
      const auto host = cache_.rows(c.problem);
      // Uploaded once for all cells on the same rows and the same executor.
      if (!rows_ || rows_generation_ != cache_.generation() || rows_executor_ != c.executor) {
        rows_.reset();
        rows_ = std::make_unique<input_rows>(place, host);
        rows_generation_ = cache_.generation();
        rows_executor_ = c.executor;
      }
    } catch (const error& problem) {
      if (problem.category() != failure::resources) throw;
      cell_outcome outcome;
      outcome.status = cell_status::out_of_memory;
      outcome.reason = problem.what();
      return outcome;
    }
    cell_outcome outcome = run_cell(c, *rows_, place, request_.config.measure);
    // An algorithm that went wrong may have written over the rows: the next one gets fresh ones.
    if (outcome.status != cell_status::ok) cache_.forget();
    return outcome;
  }

  void write_meta(run_state state) {
    write_snapshot(std::filesystem::path(request_.directory) / "meta.json",
                   meta_record(request_.config, input_, request_.arguments, state, started_));
  }

  const sweep_request& request_;
  const input_source& input_;
  backends& places_;
  sweep_observer& observer_;
  row_cache cache_;
  std::unique_ptr<input_rows> rows_;
  std::int64_t rows_generation_ = 0;
  executor_kind rows_executor_ = executor_kind::cpu;
  std::chrono::system_clock::time_point started_;
};

}  // namespace

sweep_result run_sweep(const sweep_request& request, const std::vector<cell>& cells,
                       const input_source& input, backends& places, sweep_observer& observer) {
  return sweep(request, input, places, observer).run(cells);
}

}  // namespace kselect
