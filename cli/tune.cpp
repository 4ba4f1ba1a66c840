// `kselect tune` learns a cost table of `auto` from a sweep, or judges the choices of `auto`.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/stock_configs.hpp"
#include "harness/record/file.hpp"
#include "harness/tune/processor_table.hpp"
#include "harness/tune/table_file.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/streams.hpp"
#include "tune_configs.hpp"

namespace kselect::cli {
namespace {

struct tune_arguments {
  std::vector<std::string> configs;  // empty: the compiled-in ones (tune_configs.hpp)
  std::vector<std::string> from, regret;
  std::string run, out, table;
  int shown = 5;
  bool as_json = false;
};

std::string default_directory() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("out/tune-{:%Y%m%d-%H%M%S}", fmt::localtime(now));
}

// Runs one tuning sweep. Returns the directory of its records.
std::string measure(const sweep_config& config, const std::string& directory,
                    const std::vector<std::string>& arguments) {
  require_selection(config, "`kselect tune`");
  sweep_request request;
  request.config = config;
  request.directory = fmt::format("{}/{}", directory, request.config.name);
  request.arguments = arguments;
  if (config.measure.multiprocessors != 0) {
    throw error(failure::usage,
                fmt::format("{}: /measure/multiprocessors: cost tables are of whole "
                            "GPUs; leave it away",
                            config.file_name));
  }
  backends places(request.config.measure);
  request.input =
      choose_input(request.config, {}, request.config.measure.threads, executor_kind::cuda);
  const auto input = open_input(request.input);
  const sweep_part part =
      part_of(plan_cells({request.config, *input, executor_kind::cuda, {}}, places),
              request.config.measure, shard{});
  // Without a GPU no cell can run; the plan has the reason.
  if (std::ranges::none_of(part.cells,
                           [](const cell& c) { return c.foreseen == cell_status::ok; })) {
    throw error(failure::unsupported, fmt::format("{}: no cell can run here: {}", config.file_name,
                                                  part.cells.front().reason));
  }
  progress shown(isatty(STDERR_FILENO) != 0);
  const sweep_result result = run_sweep(request, part, *input, places, shown);
  if (result.interrupted) {
    throw error(failure::interrupted,
                fmt::format("interrupted; `kselect run {} --out {} --resume` goes on, then "
                            "`kselect tune --from {}`",
                            config.file_name, request.directory, request.directory));
  }
  fmt::print("records: {}/runs.jsonl\n", request.directory);
  return request.directory;
}

std::vector<std::string> measure_all(const tune_arguments& o,
                                     const std::vector<std::string>& arguments) {
  const std::string directory = o.run.empty() ? default_directory() : o.run;
  std::vector<std::string> runs;
  for (const std::string& file : o.configs) {
    runs.push_back(measure(load_config(config_path(file)), directory, arguments));
  }
  if (o.configs.empty()) {
    for (const auto& [name, text] : tune_configs) {
      runs.push_back(measure(parse_config(text, std::string(name)), directory, arguments));
    }
  }
  return runs;
}

tune::tuning_data read(const std::vector<std::string>& directories) {
  std::vector<compare::recorded_run> runs;
  for (const std::string& directory : directories) {
    runs.push_back(compare::read_run(directory));
    for (const std::string& note : runs.back().notes)
      print_message("kselect: {}\n", one_line(note));
  }
  return tune::collect(runs);
}

void print_regret(const std::string& what, const tune::regret& r, int shown) {
  if (r.choices.empty()) {
    fmt::print("{:<28} no problem has times of what it chose and of another algorithm\n", what);
    return;
  }
  fmt::print("{:<28} {:.4f} geometric mean, {:.3f} worst, {}\n", what, r.mean, r.worst,
             amount_of(r.choices.size(), "problem"));
  for (int i = 0; i < shown && i < static_cast<int>(r.choices.size()); ++i) {
    const tune::regretted& c = r.choices[static_cast<std::size_t>(i)];
    if (c.ratio < 1.005) break;
    fmt::print("  {:.3f}  {}  {}, best {}\n", c.ratio, to_string(c.problem), c.chosen, c.best);
  }
}

nlohmann::ordered_json regret_json(const tune::regret& r) {
  nlohmann::ordered_json choices = nlohmann::ordered_json::array();
  for (const tune::regretted& c : r.choices) {
    choices.push_back({{"problem", to_string(c.problem)},
                       {"chosen", c.chosen},
                       {"best", c.best},
                       {"ratio", c.ratio}});
  }
  return {{"geometric_mean", r.mean}, {"worst", r.worst}, {"choices", choices}};
}

// Prints the regret of `auto` as it ran, and of a table: from the given file, else this program's.
int judge(const tune_arguments& o) {
  const tune::tuning_data data = read(o.regret);
  const tune::regret ran = tune::of_auto(data);
  std::optional<tune::learned_table> from_file;
  if (!o.table.empty()) from_file = tune::read_table(o.table);
  std::optional<tune::table_view> view;
  if (from_file) view.emplace(*from_file);
  const bool on_gpu = data.device.kind == executor_kind::cuda;
  if (view && tune::is_of_processor(**view) == on_gpu) {
    throw error(failure::input,
                fmt::format("{}: is of a {}, but these runs used {}", o.table,
                            on_gpu ? "processor" : "GPU", on_gpu ? "a GPU" : "none"));
  }
  const cost_table* const table = view     ? &**view
                                  : on_gpu ? find_cost_table(data.device.name)
                                           : nullptr;
  const tune::regret of_table = table == nullptr ? tune::regret{} : tune::of_table(data, *table);
  if (o.as_json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"device", data.device.name},
                                              {"auto", regret_json(ran)},
                                              {"table", regret_json(of_table)}}
                           .dump(2));
    return 0;
  }
  print_regret("auto as it ran", ran, o.shown);
  if (table != nullptr || on_gpu)
    print_regret(view ? o.table : "the table of this program", of_table, o.shown);
  if (table != nullptr) {
    fmt::print("predicted times are off by a factor of {:.3f} in geometric mean\n",
               tune::misjudged(data, *table));
  }
  return 0;
}

// The table's file is held before the sweeps, which take hours.
job_files files_of(const tune_arguments& o) {
  std::vector<named_file> inputs;
  for (const std::string& config : o.configs) inputs.push_back({"the config", config});
  for (const std::string& run : o.from) {
    for (const std::string_view name : {"meta.json", "runs.jsonl", "runs.jsonl.gz"}) {
      inputs.push_back({"--from", std::filesystem::path(run) / name});
    }
  }
  const named_file outputs[] = {{"--out", o.out}};
  return job_files(inputs, outputs);
}

int learn(const tune_arguments& o, const std::vector<std::string>& arguments) {
  if (o.out.empty()) {
    throw error(failure::usage,
                "--out FILE is needed, for example "
                "--out algorithms/auto_select/nvidia-h200.json");
  }
  const job_files held = files_of(o);
  const tune::tuning_data data =
      tune::typical(read(o.from.empty() ? measure_all(o, arguments) : o.from));
  const tune::smoothing how = tune::best_smoothing(data);
  const tune::learned_table table = tune::learn(data, how);
  const tune::table_view view(table);
  const tune::table_quality quality{data.problems.size(), tune::of_table(data, *view),
                                    tune::held_out(data, how)};
  write_snapshot(o.out, tune::table_text(table, quality));
  fmt::print("{}: {} on {}, from {}\n", o.out, amount_of(table.members.size(), "member"),
             table.device.name, amount_of(data.problems.size(), "problem"));
  print_regret("auto as it ran", tune::of_auto(data), o.shown);
  print_regret("the table, fitted", quality.fitted, o.shown);
  print_regret("the table, held out", quality.held_out, o.shown);
  const bool on_gpu = table.device.kind == executor_kind::cuda;
  fmt::print("KSELECT_COST_TABLE={} has {} go by it; in {}/ it is compiled in\n", o.out,
             on_gpu ? "`auto`" : "`explain` and `run --dry-run`",
             on_gpu ? "algorithms/auto_select" : "harness/tune/processors");
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, action& chosen, const std::vector<std::string>& arguments) {
  CLI::App* const command = app.add_subcommand(
      "tune", "Fit a cost table of `auto` to this GPU, or report the regret of its choices");
  const auto o = std::make_shared<tune_arguments>();
  CLI::Option* const config = command->add_option(
      "CONFIGS", o->configs,
      "the sweeps to run and learn from; default: configs/tune.json and tune_types.json");
  config->type_name("CONFIG");
  CLI::Option* const from =
      command->add_option("--from", o->from, "learn from finished runs instead (directories)")
          ->type_name("DIR");
  CLI::Option* const run = command->add_option(
      "--run", o->run, "directory for the sweeps' records; default out/tune-TIME");
  run->type_name("DIR");
  CLI::Option* const out =
      command->add_option("--out", o->out, "the table's file (JSON)")->type_name("FILE");
  CLI::Option* const regret = command->add_option(
      "--regret", o->regret,
      "report the regret of these runs instead: time of auto over time of its fastest member; on a "
      "CPU, of the fastest algorithm");
  regret->type_name("DIR");
  command->add_option("--table", o->table, "with --regret: also judge the table in this file")
      ->type_name("FILE")
      ->needs(regret);
  command->add_option("--worst", o->shown, "how many of the worst choices to list")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_flag("--json", o->as_json, "with --regret: as JSON, with every choice")
      ->needs(regret);
  from->excludes(config)->excludes(run)->excludes(regret);
  regret->excludes(config)->excludes(run)->excludes(out);
  command->callback([&chosen, o, arguments] {
    chosen = [o, arguments] { return o->regret.empty() ? learn(*o, arguments) : judge(*o); };
  });
}

}  // namespace kselect::cli
