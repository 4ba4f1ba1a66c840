// `kselect doctor` describes this machine and lists what would disturb a measurement on it.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "runtime/environment/gpu.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/format.hpp"
#include "src/gpu_device.hpp"

namespace kselect::cli {
namespace {

using level = finding_of_doctor::level;

std::vector<finding_of_doctor> examine_all(const host_facts& host) {
  std::vector<finding_of_doctor> findings = examine(host);
  const std::vector<finding_of_doctor> of_gpu = examine_gpu();
  findings.insert(findings.end(), of_gpu.begin(), of_gpu.end());
  if (const std::string cut = shared_cut(); !cut.empty()) {
    findings.push_back(
        {level::warning, "shared memory",
         fmt::format("{}={} cuts it, for tests alone: unset it", shared_cut_variable, cut)});
  }
  return findings;
}

void print_text(const host_facts& host, const std::vector<finding_of_doctor>& findings,
                std::ptrdiff_t warnings) {
  fmt::print("{}\n", version_line());
  fmt::print("{} ({} of {}, {:.0f} GiB), {}, {}\n\n", host.cpu, host.threads_available,
             amount_of(host.threads_online, "thread"), host.memory_gib, host.system, host.kernel);
  for (const finding_of_doctor& found : findings) {
    const char* const mark = found.severity == level::good      ? "ok"
                             : found.severity == level::warning ? "WARNING"
                                                                : "note";
    fmt::print("{:<8} {:<13} {}\n", mark, found.subject, found.detail);
  }
  fmt::print("\n{}\n", warnings == 0 ? "Nothing here would spoil a measurement."
                                     : "Times measured now deserve doubt: see the warnings.");
}

void print_json(const host_facts& host, const std::vector<finding_of_doctor>& findings,
                std::ptrdiff_t warnings) {
  using json = nlohmann::ordered_json;
  json list = json::array();
  for (const finding_of_doctor& found : findings) {
    const char* const mark = found.severity == level::good      ? "ok"
                             : found.severity == level::warning ? "warning"
                                                                : "note";
    list.push_back({{"level", mark}, {"subject", found.subject}, {"detail", found.detail}});
  }
  const json all = {{"version", version_line()},
                    {"cpu", host.cpu},
                    {"threads_available", host.threads_available},
                    {"threads_online", host.threads_online},
                    {"memory_gib", host.memory_gib},
                    {"system", host.system},
                    {"kernel", host.kernel},
                    {"warnings", warnings},
                    {"findings", list}};
  fmt::print("{}\n", all.dump(2, ' ', false, json::error_handler_t::replace));
}

int examine_machine(bool as_json) {
  const host_facts host = observe_host();
  const std::vector<finding_of_doctor> findings = examine_all(host);
  const auto warnings = std::ranges::count(findings, level::warning, &finding_of_doctor::severity);
  (as_json ? print_json : print_text)(host, findings, warnings);
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("doctor", "What this machine is and what would spoil a measurement");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "as JSON");
  command->callback(
      [&chosen, as_json] { chosen = [as_json] { return examine_machine(*as_json); }; });
}

}  // namespace kselect::cli
