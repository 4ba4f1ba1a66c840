// Algorithms, executors and options for several subcommands.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"

namespace kselect::cli {

const registered& require_algorithm(const std::string& name) {
  if (const registered* const found = find_algorithm(name)) return *found;
  const auto nearest = nearest_algorithms(name);
  throw error(failure::usage, fmt::format("unknown algorithm '{}'; {}{}", name,
                                          nearest.empty() ? std::string("see `kselect list`")
                                                          : fmt::format("did you mean {}?",
                                                                        fmt::join(nearest, " or ")),
                                          left_out_hint()));
}

executor_kind require_executor(const std::string& name, const algorithm& entry) {
  if (name != "auto") {
    // CLI11 accepts only known names.
    const executor_kind kind = parse<executor_kind>(name).value();
    if (!entry.executors.contains(kind)) {
      throw error(
          failure::unsupported,
          fmt::format("{} does not run on executor {}; see `kselect list`", entry.name, name));
    }
    if (const std::string reason = why_unavailable(kind); !reason.empty()) {
      throw error(failure::unsupported,
                  fmt::format("executor {} cannot run here: {}", name, reason));
    }
    return kind;
  }
  for (const executor_kind kind : {executor_kind::cuda, executor_kind::cpu}) {
    if (entry.executors.contains(kind) && why_unavailable(kind).empty()) return kind;
  }
  throw error(failure::unsupported,
              fmt::format("{} cannot run here: {}; `--executor fiber` runs its kernel on the CPU, "
                          "slowly, to prove it",
                          entry.name, why_unavailable(executor_kind::cuda)));
}

void option_executor(CLI::App& command, std::string& executor) {
  command
      .add_option("--executor", executor,
                  "where to run: cuda, cpu (native code), fiber (the kernel on the CPU, slow), or "
                  "auto = cuda if it can, else cpu")
      ->check(CLI::IsMember({"auto", "cpu", "fiber", "cuda"}))
      ->capture_default_str();
}

void option_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "host threads to use; 0 means all this process may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

}  // namespace kselect::cli
