// `kselect ab` measures two builds in turns; `kselect noise` measures one build against itself.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/compare_options.hpp"
#include "cli/stock_configs.hpp"
#include "harness/compare/alternate.hpp"
#include "harness/compare/git_build.hpp"
#include "harness/config/config.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/streams.hpp"

namespace kselect::cli {
namespace {

// Options that both commands pass to every turn.
struct turn_options {
  std::string config, out, executor, filter, dataset;
  int rounds = 11;
  bool resume = false;
};

void add_turn_options(CLI::App& command, turn_options& o) {
  command.add_option("CONFIG", o.config, "config file, e.g. configs/quick.json")
      ->required()
      ->type_name("CONFIG");
  command.add_option("--out", o.out, "directory for the records")->type_name("DIR");
  command
      .add_option("--rounds", o.rounds, "turns of each side; every turn measures the sweep once")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_flag("--resume", o.resume, "finish what an interrupted command left in --out");
  option_filter(command, o.filter);
  command.add_option("--executor", o.executor, "run everything on this executor")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command.add_option("--dataset", o.dataset, "base vectors, instead of the config's")
      ->type_name("FILE");
}

void say(const std::string& line) { print_message("{}\n", line); }

compare::comparison measure_in_turns(const turn_options& o, const std::filesystem::path& base,
                                     const std::filesystem::path& now,
                                     const std::filesystem::path& directory,
                                     const compare::criteria& how) {
  compare::alternation turns{.base = base,
                             .now = now,
                             .config = o.config,
                             .directory = directory,
                             .rounds = o.rounds,
                             .resume = o.resume,
                             .arguments = {},
                             .say = say};
  for (const auto& [option, value] :
       {std::pair{"--filter", o.filter}, std::pair{"--executor", o.executor},
        std::pair{"--dataset", o.dataset}}) {
    if (!value.empty()) turns.arguments.insert(turns.arguments.end(), {option, value});
  }
  const compare::alternated_runs runs = compare::alternate(turns);
  return compare::compare_runs(compare::read_run(runs.base), compare::read_run(runs.now), how);
}

struct ab_options {
  std::string base, now;
  int max_rounds = 0;  // 0: same as `rounds`
  turn_options turns;
  compare_options how;
  compare::build_request build;
};

// One side of the comparison: a program built already, or a commit to build.
struct side {
  std::string name;  // for the directory's name: the program's file or the commit
  std::filesystem::path program;
  std::string commit;
};

side resolve(const compare::build_request& build, const std::string& given) {
  if (std::filesystem::is_regular_file(given)) {
    const auto program = std::filesystem::absolute(given);
    return {program.filename().string(), program, {}};
  }
  const std::string commit = compare::commit_of(build, given);
  return {commit.substr(0, 12), {}, commit};
}

// Measures `rounds` turns per side and doubles them, up to `max_rounds`, until no cell is
// inconclusive. Repeated tests find more false differences. So the level of the tests is divided by
// the number of looks, which keeps the error of all looks together at that of one.
compare::comparison measure_until_conclusive(const ab_options& o, const std::filesystem::path& base,
                                             const std::filesystem::path& now,
                                             const std::string& directory, compare::criteria how) {
  const int most = std::max(o.turns.rounds, o.max_rounds);
  int looks = 1;
  for (int rounds = o.turns.rounds; rounds < most; rounds *= 2) ++looks;
  how.confidence = 1 - (1 - how.confidence) / looks;
  turn_options turns = o.turns;
  for (;;) {
    auto compared = measure_in_turns(turns, base, now, directory, how);
    const std::size_t open = compared.count(compare::verdict::inconclusive);
    if (open == 0 || turns.rounds >= most) return compared;
    turns.rounds = std::min(2 * turns.rounds, most);
    turns.resume = true;
    say(fmt::format("{} inconclusive; going on to {} rounds", open, turns.rounds));
  }
}

int ab(ab_options o) {
  const verdict_criteria criteria(o.how);
  o.turns.config = config_path(o.turns.config).string();
  const std::string config = load_config(o.turns.config).name;  // checked before a build
  o.build.say = say;
  side base = resolve(o.build, o.base), now = resolve(o.build, o.now);
  for (side* const s : {&base, &now}) {
    if (s->program.empty()) s->program = compare::build_commit(o.build, s->commit);
  }
  const std::string directory = o.turns.out.empty()
                                    ? fmt::format("out/ab-{}-{}-{}", config, base.name, now.name)
                                    : o.turns.out;
  const int code = print_verdict(
      measure_until_conclusive(o, base.program, now.program, directory, criteria.how()), o.how);
  say(fmt::format("records: {0}/base and {0}/new", directory));
  return code;
}

std::string percent(double log_ratio) {
  return fmt::format("{:.1f} %", 100 * std::expm1(log_ratio));
}

int noise(turn_options o) {
  o.config = config_path(o.config).string();
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string directory =
      o.out.empty() ? fmt::format("out/noise-{}", load_config(o.config).name) : o.out;
  const std::filesystem::path file = std::filesystem::path(directory) / "noise.json";
  // A folder that is not there yet cannot hold an input, and is made before the first turn.
  std::optional<job_files> held;
  if (std::filesystem::exists(directory)) {
    const named_file inputs[] = {{"the config", o.config}, {"--dataset", o.dataset}};
    const named_file outputs[] = {{"the floor in --out", file}};
    held.emplace(inputs, outputs);
  }
  const compare::comparison against_itself = measure_in_turns(o, self, self, directory, {});
  const compare::noise_floor floor = compare::noise_of(against_itself);
  compare::write_noise(floor, file);
  fmt::print("{:>9}  {:>9}  cell\n", "in turns", "processes");
  for (const auto& [cell, noise] : floor.cells) {
    fmt::print("{:>9}  {:>9}  {}\n", percent(noise.paired), percent(noise.unpaired), cell);
  }
  fmt::print(
      "{} measured against themselves in {} turns each; floor: {}\n"
      "use it: kselect compare BASE NEW --noise {}\n",
      amount_of(floor.cells.size(), "cell"), 2 * o.rounds, file.string(), file.string());
  return 0;
}

}  // namespace

void add_ab(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "ab", "Build two git commits, measure them in turns, and give the verdict");
  const auto o = std::make_shared<ab_options>();
  command
      ->add_option("BASE", o->base,
                   "commit, tag or branch to compare with; or a built kselect program")
      ->required()
      ->type_name("COMMIT");
  command->add_option("NEW", o->now, "commit, tag or branch to judge; or a built kselect program")
      ->required()
      ->type_name("COMMIT");
  add_turn_options(*command, o->turns);
  command
      ->add_option("--max-rounds", o->max_rounds,
                   "while a cell is inconclusive, double the rounds up to this many")
      ->check(CLI::Range(1, 1000));
  add_compare_options(*command, o->how);
  o->build.work = "build/ab";
  command->add_option("--repository", o->build.repository, "git repository of both commits")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--work", o->build.work, "where worktrees and builds are kept")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--cmake", o->build.cmake_arguments,
                      "an argument to add to both configurations");
  command->add_option("--jobs", o->build.jobs, "parallel jobs of the builds")
      ->check(CLI::Range(0, 4096));
  command->callback(
      [&chosen, o] { chosen = [o] { return with_verdict_codes([&] { return ab(*o); }); }; });
}

void add_noise(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "noise", "Measure this build against itself: the floor below which a change means nothing");
  const auto o = std::make_shared<turn_options>();
  add_turn_options(*command, *o);
  command->callback([&chosen, o] { chosen = [o] { return noise(*o); }; });
}

}  // namespace kselect::cli
