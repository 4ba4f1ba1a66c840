// `kselect compare` gives the verdict on two recorded runs.

#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/compare_options.hpp"
#include "runtime/error.hpp"

namespace kselect::cli {
namespace {

struct compare_arguments {
  std::string base, now;
  compare_options how;
};

int judge(const compare_arguments& o) {
  const verdict_criteria criteria(o.how);
  return print_verdict(
      compare::compare_runs(compare::read_run(o.base), compare::read_run(o.now), criteria.how()),
      o.how);
}

}  // namespace

void add_compare(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "compare", "The verdict on two recorded runs: regression, improvement, same, ...");
  const auto o = std::make_shared<compare_arguments>();
  command->add_option("BASE", o->base, "directory of the run to compare with")
      ->required()
      ->type_name("DIR");
  command->add_option("NEW", o->now, "directory of the run to judge")->required()->type_name("DIR");
  add_compare_options(*command, o->how);
  command->callback(
      [&chosen, o] { chosen = [o] { return with_verdict_codes([&] { return judge(*o); }); }; });
}

}  // namespace kselect::cli
