// `kselect run` runs a sweep from a config file.

#include <algorithm>
#include <chrono>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/progress.hpp"
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

int run(const run_arguments& o, const std::vector<std::string>& arguments) {
  sweep_request request;
  request.config = load_config(o.config);
  if (o.multiprocessors != 0) request.config.measure.multiprocessors = o.multiprocessors;
  const shard which = parse_shard(o.shard);
  request.directory = o.out.empty() ? default_directory(request.config, which) : o.out;
  request.resume = o.resume;
  request.in_process = o.in_process;
  request.arguments = arguments;
  request.cost_table = tune::own_table_json();
  const auto executor = o.executor.empty() ? std::nullopt : parse<executor_kind>(o.executor);
  if (o.resume && o.out.empty()) {
    throw error(failure::usage, "--resume needs --out DIR, the directory to continue");
  }

  const int threads = request.config.measure.threads;
  backends places(request.config.measure);
  request.input = choose_input(request.config, given(o.dataset), threads, executor);
  const auto input = open_input(request.input);
  const sweep_part part =
      part_of(make_plan({request.config, *input, executor, given(o.filter)}, places),
              request.config.measure, which);
  if (o.dry_run) {
    print_plan(part);
    return 0;
  }
  const bool gpu_wanted = executor.value_or(executor_kind::cuda) == executor_kind::cuda;
  if (const std::string why = gpu_wanted ? why_no_gpu_code() : std::string(); !why.empty()) {
    print_message("{}\n", why);  // once, in addition to the reasons of the cells
  }
  progress shown(isatty(STDERR_FILENO) != 0);
  const sweep_result result = run_sweep(request, part, *input, places, shown);
  print_summary(result);
  fmt::print("records: {}/runs.jsonl\n", request.directory);
  if (result.interrupted) return static_cast<int>(failure::interrupted);
  const bool failed = std::ranges::any_of(result.cells, [](const finished_cell& c) {
    return c.status != cell_status::ok && c.status != cell_status::unsupported;
  });
  return failed ? static_cast<int>(failure::cells) : 0;
}

}  // namespace

void add_run(CLI::App& app, action& chosen, const std::vector<std::string>& arguments) {
  CLI::App* const command = app.add_subcommand("run", "Run a sweep from a config (JSON)");
  const auto o = std::make_shared<run_arguments>();
  command->add_option("config", o->config, "config file, e.g. configs/quick.json")->required();
  command->add_option("--out", o->out, "directory for the records; default out/NAME-TIME");
  command->add_flag("--resume", o->resume, "continue --out: skip cells that are done");
  command->add_flag("--dry-run", o->dry_run, "only print the cells");
  command->add_option(
      "--filter", o->filter,
      "only cells whose `ALGORITHM PROBLEM` (see --dry-run) matches this glob somewhere");
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
  command->add_option("--dataset", o->dataset, "base vectors, instead of the config's");
  command
      ->add_option("--shard", o->shard,
                   "I/N: run the I-th of N parts of about equal predicted time, for N machines; "
                   "see `kselect merge`")
      ->capture_default_str();
  command->callback(
      [&chosen, o, arguments] { chosen = [o, arguments] { return run(*o, arguments); }; });
}

}  // namespace kselect::cli
