// `kselect run` runs a sweep from a config file.

#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/run_report.hpp"
#include "cli/stock_configs.hpp"
#include "cli/sweep.hpp"
#include "harness/run/plugins_of_config.hpp"
#include "harness/tune/own_table.hpp"
#include "runtime/error.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

struct run_arguments {
  std::string config, out, executor, filter, dataset;
  std::string shard = "1/1";
  int multiprocessors = 0;
  bool resume = false, dry_run = false, in_process = false;
};

std::string default_directory(const sweep_config& config, const shard& which) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("out/{}-{:%Y%m%d-%H%M%S}{}", config.name, fmt::localtime(now),
                     which.count == 1 ? "" : fmt::format("-{}of{}", which.index, which.count));
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

// The table is of all cells in the directory, so that a resumed run ends with the whole.
void report(const std::string& directory, const sweep_result& result) {
  const compare::recorded_run recorded = compare::read_run(directory);
  const report_options how{table_view::brief, {}, output_width()};
  fmt::print("{}", table_text(recorded, how));
  print_counts(result);
  fmt::print("{}{}records: {}/runs.jsonl\n{}\n", failures_text(recorded), doubts_text(recorded),
             directory, answer_text(recorded, how));
}

void print_idle_entries(const sweep_config& config) {
  for (const sweep_config& part : config.parts) print_idle_entries(part);
  if (!config.parts.empty()) return;
  std::vector<std::string_view> names;
  for (const registered& row : task_of(config.task).entries()) names.push_back(row.algorithm->name);
  for (const std::string& note : idle_entries(config, names)) {
    print_message("kselect: {}\n", one_line(note));
  }
}

int run(const run_arguments& o, const std::vector<std::string>& arguments) {
  sweep_request request;
  request.config = load_config(config_path(o.config));
  load_plugins_of(request.config);
  if (o.multiprocessors != 0) request.config.measure.multiprocessors = o.multiprocessors;
  for (sweep_config& part : request.config.parts) part.measure = request.config.measure;
  const shard which = parse_shard(o.shard);
  request.directory = o.out.empty() ? default_directory(request.config, which) : o.out;
  request.resume = o.resume;
  request.in_process = o.in_process;
  request.arguments = arguments;
  request.cost_table = tune::own_table_json();
  if (o.resume && o.out.empty()) {
    throw error(failure::usage, "--resume needs --out DIR, the directory to continue");
  }
  planned_sweep sweep(std::move(request),
                      {o.executor.empty() ? std::nullopt : parse<executor_kind>(o.executor),
                       given(o.filter), given(o.dataset), which});
  print_idle_entries(sweep.request.config);
  if (o.dry_run) {
    print_plan(sweep.part);
    finish_standard_output();  // before the estimate, where both go to one file
    print_message("{}{}", omitted_line(sweep), estimate_line(sweep));
    return 0;
  }
  const sweep_result result = run_planned(sweep);
  report(sweep.request.directory, result);
  return code_of(result);
}

}  // namespace

void add_run(CLI::App& app, action& chosen, const std::vector<std::string>& arguments) {
  CLI::App* const command = app.add_subcommand("run", "Run a sweep from a config (JSON)");
  const auto o = std::make_shared<run_arguments>();
  command->add_option("CONFIG", o->config, "config file, or the name of a stock config: quick")
      ->required()
      ->type_name("CONFIG");
  command->add_option("--out", o->out, "directory for the records; default out/NAME-TIME")
      ->type_name("DIR");
  command->add_flag(
      "--resume", o->resume,
      "continue --out: skip cells that are done. Ctrl-C and SIGTERM let the cells finish that "
      "take turns just then; a second signal ends the run at once");
  command->add_flag("--dry-run", o->dry_run, "only print the cells and an estimate of the time");
  option_filter(*command, o->filter);
  command->add_option("--executor", o->executor, "run everything on this executor")
      ->check(CLI::IsMember({"cpu", "fiber", "cuda"}));
  command
      ->add_option(
          "--multiprocessors", o->multiprocessors,
          "confine the work on the GPU to about so many of its multiprocessors, instead of "
          "the config's")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--in-process", o->in_process,
                    "run everything in this process, for debuggers; a crash then ends the sweep");
  command->add_option("--dataset", o->dataset, "base vectors, instead of the config's")
      ->type_name("FILE");
  command
      ->add_option("--shard", o->shard,
                   "I/N: run the I-th of N parts of about equal predicted time, for N machines; "
                   "see `kselect merge`")
      ->type_name("I/N")
      ->capture_default_str();
  option_plugins(*command);
  command->callback(
      [&chosen, o, arguments] { chosen = [o, arguments] { return run(*o, arguments); }; });
}

}  // namespace kselect::cli
