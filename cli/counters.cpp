// `kselect counters` counts the exact work of every kernel and checks it against a record.

#include <array>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/stock_configs.hpp"
#include "harness/counters/work_counters.hpp"
#include "harness/run/plugins_of_config.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"

namespace kselect::cli {
namespace {

struct counters_arguments {
  std::string config, check, update, filter;
};

void print_work(const work_record& counted) {
  for (const auto& [key, values] : counted) {
    fmt::print("{} {}\n ", key.first, key.second);
    for (const auto& [name, value] : values) fmt::print(" {} {}", name, value);
    fmt::print("\n");
  }
}

int report_check(const work_check& check, const counters_arguments& o, std::size_t counted) {
  for (const work_difference& d : check.more) fmt::print("MORE WORK  {}\n", to_string(d));
  for (const work_difference& d : check.less) fmt::print("LESS WORK  {}\n", to_string(d));
  for (const auto& [algorithm, problem] : check.gone) {
    fmt::print("GONE       {} {}: recorded, but not counted now\n", algorithm, problem);
  }
  if (!check.added.empty()) {
    fmt::print("not recorded yet: {}, the first {} {}\n", amount_of(check.added.size(), "cell"),
               check.added.front().first, check.added.front().second);
  }
  if (check.passed()) {
    fmt::print("exactly the work recorded in {}: {}\n", o.check,
               amount_of(counted - check.added.size(), "cell"));
    return 0;
  }
  fmt::print(
      "more work by {}, less by {}; gone: {}. If that is meant, record it:\n"
      "  kselect counters {} --update {}\n",
      amount_of(check.more.size(), "counter"), amount_of(check.less.size(), "counter"),
      amount_of(check.gone.size(), "cell"), o.config, o.check);
  return static_cast<int>(failure::cells);
}

int counters(counters_arguments o) {
  o.config = config_path(o.config).string();
  const std::array<named_file, 1> inputs = {{{"the config", o.config}}};
  const std::array<named_file, 1> outputs = {{{"--update", o.update}}};
  const job_files held(inputs, outputs);
  const sweep_config config = load_config(o.config);
  load_plugins_of(config);
  require_selection(config, "`kselect counters`");
  const auto input = open_input(choose_input(config, std::nullopt, 1, executor_kind::fiber));
  const auto filter = o.filter.empty() ? std::nullopt : std::optional(o.filter);
  const work_record counted = count_work(config, *input, filter);
  if (!o.update.empty()) {
    write_work(counted, o.update);
    fmt::print("{}: recorded the work of {}\n", o.update, amount_of(counted.size(), "cell"));
    return 0;
  }
  if (o.check.empty()) {
    print_work(counted);
    return 0;
  }
  return report_check(check_work(read_work(o.check), counted), o, counted.size());
}

}  // namespace

void add_counters(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "counters", "Count the exact work of every kernel (on fibers) and check it against a record");
  const auto o = std::make_shared<counters_arguments>();
  command->add_option("CONFIG", o->config, "config file, e.g. configs/counters.json")
      ->required()
      ->type_name("CONFIG");
  CLI::Option* const check =
      command
          ->add_option("--check", o->check,
                       "fail (exit code 1) if the work differs from that recorded in this file")
          ->type_name("FILE");
  CLI::Option* const update =
      command->add_option("--update", o->update, "record the work in this file")->type_name("FILE");
  CLI::Option* const filter = option_filter(*command, o->filter, "only print");
  option_plugins(*command);
  update->excludes(check)->excludes(filter);
  check->excludes(filter);
  command->callback([&chosen, o] { chosen = [o] { return counters(*o); }; });
}

}  // namespace kselect::cli
