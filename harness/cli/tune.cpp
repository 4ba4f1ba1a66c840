// `kselect tune`: learns a cost table of `auto` from a sweep, or judges what `auto` chose.

#include <chrono>
#include <filesystem>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "harness/cli/commands.hpp"
#include "harness/cli/progress.hpp"
#include "harness/error.hpp"
#include "harness/record/file.hpp"
#include "harness/tune/table_file.hpp"

namespace kselect::cli {
namespace {

struct options {
  std::string config = "configs/tune.json";
  std::vector<std::string> from, regret;
  std::string run, out, table;
  int shown = 5;
};

// Runs the tuning sweep and gives the directory of its records.
std::string measure(const options& o, const std::vector<std::string>& arguments) {
  sweep_request request;
  request.config = load_config(o.config);
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  request.directory =
      o.run.empty() ? fmt::format("out/tune-{:%Y%m%d-%H%M%S}", fmt::localtime(now)) : o.run;
  request.arguments = arguments;
  request.executor = executor_kind::cuda;
  backends places(request.config.measure.threads);
  const auto input = open_input(request.config, {}, request.config.measure.threads);
  const sweep_part part =
      part_of(plan_cells({request.config, *input, request.executor, {}}, places),
              request.config.measure, shard{});
  progress shown(isatty(STDERR_FILENO) != 0);
  const sweep_result result = run_sweep(request, part, *input, places, shown);
  if (result.interrupted) {
    throw error(failure::interrupted,
                fmt::format("interrupted; `kselect run {} --out {} --resume` goes on, then "
                            "`kselect tune --from {}`",
                            o.config, request.directory, request.directory));
  }
  fmt::print("records: {}/runs.jsonl\n", request.directory);
  return request.directory;
}

tune::tuning_data read(const std::vector<std::string>& directories) {
  std::vector<compare::recorded_run> runs;
  for (const std::string& directory : directories) {
    runs.push_back(compare::read_run(directory));
    for (const std::string& note : runs.back().notes) fmt::print(stderr, "kselect: {}\n", note);
  }
  return tune::collect(runs);
}

void print_regret(const std::string& what, const tune::regret& r, int shown) {
  if (r.choices.empty()) {
    fmt::print("{:<28} no problem has the times for it\n", what);
    return;
  }
  fmt::print("{:<28} {:.4f} geometric mean, {:.3f} worst, {} problems\n", what, r.mean, r.worst,
             r.choices.size());
  for (int i = 0; i < shown && i < static_cast<int>(r.choices.size()); ++i) {
    const tune::regretted& c = r.choices[static_cast<std::size_t>(i)];
    if (c.ratio < 1.005) break;
    fmt::print("  {:.3f}  {}  {}, best {}\n", c.ratio, to_string(c.problem), c.chosen, c.best);
  }
}

int judge(const options& o) {
  const tune::tuning_data data = read(o.regret);
  print_regret("auto as it ran", tune::of_auto(data), o.shown);
  if (!o.table.empty()) {
    const tune::learned_table table = tune::read_table(o.table);
    const tune::table_view view(table);
    print_regret(o.table, tune::of_table(data, *view), o.shown);
    fmt::print("{:<28} off by a factor of {:.3f}\n", "  its predicted times",
               tune::misjudged(data, *view));
  } else if (const cost_table* const table = find_cost_table(data.device.name)) {
    print_regret("the table of this program", tune::of_table(data, *table), o.shown);
  }
  return 0;
}

int learn(const options& o, const std::vector<std::string>& arguments) {
  if (o.out.empty()) {
    throw error(failure::usage,
                "--out FILE is needed, for example "
                "--out algorithms/auto_select/nvidia-h200.json");
  }
  const tune::tuning_data data =
      tune::typical(read(o.from.empty() ? std::vector{measure(o, arguments)} : o.from));
  const tune::smoothing how = tune::best_smoothing(data);
  const tune::learned_table table = tune::learn(data, how);
  const tune::table_view view(table);
  const tune::table_quality quality{data.problems.size(), tune::of_table(data, *view),
                                    tune::held_out(data, how)};
  write_snapshot(o.out, tune::table_text(table, quality));
  fmt::print("{}: {} members on {}, from {} problems\n", o.out, table.members.size(),
             table.device.name, data.problems.size());
  print_regret("auto as it ran", tune::of_auto(data), o.shown);
  print_regret("the table, fitted", quality.fitted, o.shown);
  print_regret("the table, held out", quality.held_out, o.shown);
  fmt::print("build again to compile it in, if it is in algorithms/auto_select/\n");
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, action& chosen, const std::vector<std::string>& arguments) {
  CLI::App* const command = app.add_subcommand(
      "tune", "Learn what the members of `auto` cost on this GPU, or judge what it chose");
  const auto o = std::make_shared<options>();
  CLI::Option* const config =
      command->add_option("config", o->config, "the sweep to learn from")->capture_default_str();
  CLI::Option* const from =
      command->add_option("--from", o->from, "learn from finished runs instead (directories)");
  CLI::Option* const run = command->add_option(
      "--run", o->run, "directory for the sweep's records; default out/tune-TIME");
  CLI::Option* const out = command->add_option("--out", o->out, "the table's file (JSON)");
  CLI::Option* const regret = command->add_option(
      "--regret", o->regret,
      "judge instead: how much slower auto was in these runs than its best member");
  command->add_option("--table", o->table, "with --regret: also judge the table in this file")
      ->needs(regret);
  command->add_option("--worst", o->shown, "how many of the worst choices to list")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  from->excludes(config)->excludes(run)->excludes(regret);
  regret->excludes(config)->excludes(run)->excludes(out);
  command->callback([&chosen, o, arguments] {
    chosen = [o, arguments] { return o->regret.empty() ? learn(*o, arguments) : judge(*o); };
  });
}

}  // namespace kselect::cli
