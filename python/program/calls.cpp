// Sweeps, the battery and the program itself, for the caller's process.

#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "cli/sweep.hpp"
#include "harness/battery/battery.hpp"
#include "harness/run/plugins_of_config.hpp"
#include "python/program/outside.hpp"
#include "runtime/json.hpp"
#include "search/task/tasks.hpp"

namespace kselect::outside {
namespace {

using namespace runtime;
using namespace harness;

template <class Work>
outcome guarded(const Work& work) {
  try {
    return work();
  } catch (const error& failed) {
    return {failed.exit_code(), failed.what()};
  } catch (const std::bad_alloc&) {
    return {static_cast<int>(failure::resources), "out of memory; use fewer or shorter rows"};
  } catch (const std::filesystem::filesystem_error& unusable) {
    return {static_cast<int>(failure::output), unusable.what()};
  } catch (const std::exception& unexpected) {
    return {70, fmt::format("internal error: {}", unexpected.what())};
  }
}

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

executor_kind executor_of(const std::string& name) {
  if (const auto kind = parse<executor_kind>(name)) return *kind;
  throw error(failure::usage, fmt::format("executor '{}' is unknown; take cpu or cuda", name));
}

nlohmann::ordered_json json_of(const battery_case& one, const contender& c) {
  const auto before = std::chrono::steady_clock::now();
  const case_result result = run_case(one, c, "full");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  return {{"case", one.name},          {"executor", to_string(c.executor)},
          {"proven", result.proven},   {"skipped", result.skipped},
          {"problem", result.problem}, {"reason", result.reason},
          {"seconds", took.count()}};
}

}  // namespace

outcome run_sweep(const sweep& wanted) {
  return guarded([&]() -> outcome {
    search::add_search_tasks();
    sweep_request request;
    request.config = load_config(wanted.config);
    load_plugins_of(request.config);
    request.directory = wanted.directory;
    request.resume = wanted.resume;
    request.in_process = true;
    request.arguments = {"kselect.bench.run", wanted.config};
    std::optional<executor_kind> executor;
    if (!wanted.executor.empty()) executor = executor_of(wanted.executor);
    cli::planned_sweep planned(std::move(request),
                               {executor, given(wanted.filter), std::nullopt, {}});
    return {cli::code_of(cli::run_planned(planned)), {}};
  });
}

outcome test_entry(const std::string& name, const std::string& executor, const std::string& cases) {
  return guarded([&]() -> outcome {
    const contender c{&cli::require_algorithm(name), executor_of(executor)};
    if (const std::string why = why_not(c); !why.empty()) {
      return {static_cast<int>(failure::unsupported), why};
    }
    auto results = nlohmann::ordered_json::array();
    for (const battery_case& one : battery_cases()) {
      const bool wanted = matches(cases, one.name) && one.only.value_or(c.executor) == c.executor;
      if (wanted) results.push_back(json_of(one, c));
    }
    if (results.empty()) {
      throw error(failure::usage,
                  fmt::format("cases = '{}' matches no case of {}", cases, to_string(c.executor)));
    }
    return {0, to_text(results)};
  });
}

int program(int argc, char** argv) { return cli::program(argc, argv); }

}  // namespace kselect::outside
