// `kselect doctor` describes this machine and lists what would disturb a measurement on it.

#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "src/gpu_device.hpp"

namespace kselect::cli {
namespace {

int examine_machine() {
  using level = finding_of_doctor::level;
  const host_facts host = observe_host();
  fmt::print("{}\n", version_line());
  fmt::print("{} ({} of {} threads, {:.0f} GiB), {}, {}\n\n", host.cpu, host.threads_available,
             host.threads_online, host.memory_gib, host.system, host.kernel);
  int warnings = 0;
  std::vector<finding_of_doctor> findings = examine(host);
  const std::vector<finding_of_doctor> of_gpu = examine_gpu();
  findings.insert(findings.end(), of_gpu.begin(), of_gpu.end());
  if (const std::string cut = shared_cut(); !cut.empty()) {
    findings.push_back(
        {level::warning, "shared memory",
         fmt::format("{}={} cuts it, for tests alone: unset it", shared_cut_variable, cut)});
  }
  for (const finding_of_doctor& found : findings) {
    const char* const mark = found.severity == level::good      ? "ok"
                             : found.severity == level::warning ? "WARNING"
                                                                : "note";
    fmt::print("{:<8} {:<13} {}\n", mark, found.subject, found.detail);
    warnings += found.severity == level::warning ? 1 : 0;
  }
  fmt::print("\n{}\n", warnings == 0 ? "Nothing here would spoil a measurement."
                                     : "Times measured now deserve doubt: see the warnings.");
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, action& chosen) {
  app.add_subcommand("doctor", "What this machine is and what would spoil a measurement")
      ->callback([&chosen] { chosen = examine_machine; });
}

}  // namespace kselect::cli
