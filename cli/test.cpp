// `kselect test` runs the shared battery (harness/battery) on entries: the proof that an algorithm
// is right, from the program itself.

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "harness/battery/battery.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::cli {
namespace {
using namespace runtime;
using namespace harness;

struct test_options {
  std::string name;
  std::string executor = "all";
  std::string cases = "*";
  bool shared = false;
};

struct tally {
  int passed = 0, failed = 0;
};

std::vector<const registered*> entries_of(const std::string& name) {
  const auto found = match_algorithms(name);
  if (found.empty()) return {&require_algorithm(name)};
  return found;
}

std::vector<const battery_case*> cases_of(const std::string& glob) {
  std::vector<const battery_case*> found;
  std::vector<std::string_view> all;
  for (const battery_case& one : battery_cases()) {
    all.push_back(one.name);
    if (matches(glob, one.name)) found.push_back(&one);
  }
  if (found.empty()) {
    throw error(failure::usage,
                fmt::format("--case {}: no such case; there are {}", glob, fmt::join(all, ", ")));
  }
  return found;
}

void print_failure(const battery_case& one, const contender& c, const case_result& result) {
  if (!result.problem.empty()) fmt::print("    problem  {}\n", result.problem);
  fmt::print("    wrong    {}\n", result.reason);
  fmt::print("    again    kselect test '{}' --executor {} --case {}\n", c.entry->algorithm->name,
             to_string(c.executor), one.name);
}

// The case's line appears before it runs, so that a crash is seen to be its.
void run_and_print(const battery_case& one, const contender& c, const battery_mode& mode,
                   tally& counts) {
  fmt::print("  {:<34} ", one.name);
  std::fflush(stdout);
  const auto before = std::chrono::steady_clock::now();
  const case_result result = run_case(one, c, mode);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  if (!result.skipped.empty()) {
    fmt::print("skipped: {}\n", result.skipped);
  } else if (result.passed() && result.proven == 0) {
    fmt::print("nothing to prove: it promises or takes no such problem\n");
  } else if (result.passed()) {
    ++counts.passed;
    fmt::print("passed  {:>15} {:>8.2f} s\n", amount_of(result.proven, "problem"), took.count());
  } else {
    ++counts.failed;
    fmt::print("FAILED after {}, {:.2f} s\n", amount_of(result.proven, "problem"), took.count());
    print_failure(one, c, result);
  }
  std::fflush(stdout);
}

// Every executor that the entries declare, or the one that is wanted.
std::vector<contender> wanted_contenders(const test_options& options) {
  const auto entries = entries_of(options.name);
  std::vector<contender> all;
  enum_set<executor_kind> has;
  for (const registered* entry : entries) {
    has.bits |= entry->algorithm->executors.bits;
    for (const auto& kind : names<executor_kind>) {
      if (options.executor != "all" && options.executor != kind.name) continue;
      if (entry->algorithm->executors.contains(kind.value)) all.push_back({entry, kind.value});
    }
  }
  if (all.empty()) throw not_written_for(options.name, options.executor, has);
  return all;
}

int run_test(const test_options& options) {
  const auto all = wanted_contenders(options);
  const auto cases = cases_of(options.cases);
  const battery_mode mode = options.shared ? "shared" : "full";
  tally counts;
  int left_out = 0;
  std::string why;
  for (const contender& c : all) {
    const std::string_view name = c.entry->algorithm->name;
    if (std::string reason = why_not(c); !reason.empty()) {
      fmt::print("{} on {}: not run: {}\n", name, to_string(c.executor), reason);
      ++left_out;
      why = reason;
      continue;
    }
    fmt::print("{} on {}\n", name, to_string(c.executor));
    for (const battery_case* one : cases) {
      if (one->only.value_or(c.executor) == c.executor) run_and_print(*one, c, mode, counts);
    }
  }
  if (counts.passed + counts.failed == 0) {
    throw error(failure::unsupported, fmt::format("no case of {} could run here: {}", options.name,
                                                  why.empty() ? "see above" : why));
  }
  fmt::print("{}: {} passed, {} failed{}\n", options.name, amount_of(counts.passed, "case"),
             counts.failed,
             left_out == 0 ? "" : fmt::format("; not here: {}", amount_of(left_out, "executor")));
  return counts.failed == 0 ? 0 : static_cast<int>(failure::wrong_answer);
}

}  // namespace

void add_test(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "test", "Prove an algorithm by the shared battery: sizes, orders, ties, NaN, types");
  auto options = std::make_shared<test_options>();
  command->add_option("NAME", options->name, "an entry's name, or a glob over names")
      ->required()
      ->type_name("ALGORITHM");
  command->add_option("--executor", options->executor, "where to run: all that it declares, or one")
      ->check(CLI::IsMember({"all", "cpu", "fiber", "cuda"}))
      ->capture_default_str();
  command->add_option("--case", options->cases, "a case, or a glob over cases: BoundarySizes")
      ->type_name("GLOB")
      ->capture_default_str();
  command->add_flag("--shared", options->shared,
                    "variants of one file are the same code: each proves a part of the problems");
  option_plugins(*command);
  command->callback([&chosen, options] { chosen = [options] { return run_test(*options); }; });
}

}  // namespace kselect::cli
