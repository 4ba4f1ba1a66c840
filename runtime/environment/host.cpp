#include "runtime/environment/host.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/format.hpp"

namespace kselect::runtime {
namespace {

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The text after `separator` in the first line of `file` that starts with `key`.
std::string field(const char* file, std::string_view key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? std::string{} : line.substr(begin, end - begin + 1);
  }
  return {};
}

bool runs_under_hypervisor() {
  return field("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos;
}

using severity = finding_of_doctor::level;

}  // namespace

host_facts observe_host() {
  host_facts host;
  utsname names{};
  uname(&names);
  host.name = names.nodename;
  host.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  host.system = field("/etc/os-release", "PRETTY_NAME", '=');
  host.cpu = field("/proc/cpuinfo", "model name", ':');
  host.threads_available = available_threads();
  host.threads_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  host.memory_gib = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                    static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1 << 30);
  host.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  host.load_1min = std::strtod(first_line("/proc/loadavg").c_str(), nullptr);
  host.virtual_machine = runs_under_hypervisor();
  return host;
}

nlohmann::ordered_json to_json(const host_facts& host) {
  return {{"name", host.name},
          {"cpu", host.cpu},
          {"threads", host.threads_available},
          {"threads_online", host.threads_online},
          {"memory_gib", host.memory_gib},
          {"kernel", host.kernel},
          {"system", host.system},
          {"governor", host.governor},
          {"load_1min", host.load_1min},
          {"virtual_machine", host.virtual_machine}};
}

host_facts host_from(const nlohmann::ordered_json& host) {
  host_facts read;
  if (!host.is_object()) return read;
  const auto text = [&](const char* key) {
    const auto found = host.find(key);
    return found != host.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto number = [&](const char* key) {
    const auto found = host.find(key);
    return found != host.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  read.name = text("name");
  read.cpu = text("cpu");
  read.threads_available = static_cast<int>(number("threads"));
  read.threads_online = static_cast<int>(number("threads_online"));
  read.memory_gib = number("memory_gib");
  read.kernel = text("kernel");
  read.system = text("system");
  read.governor = text("governor");
  read.load_1min = number("load_1min");
  const auto machine = host.find("virtual_machine");
  read.virtual_machine = machine != host.end() && machine->is_boolean() && machine->get<bool>();
  return read;
}

build_facts this_build() { return {build::type, build::sanitizers, build::commit, build::dirty}; }

build_facts build_from(const nlohmann::ordered_json& build, const nlohmann::ordered_json& git) {
  const auto text = [](const nlohmann::ordered_json& from, const char* key) {
    return from.is_object() && from.contains(key) && from[key].is_string()
               ? from[key].get<std::string>()
               : std::string();
  };
  const bool dirty = git.is_object() && git.contains("dirty") && git["dirty"] == true;
  return {text(build, "type"), text(build, "sanitizers"), text(git, "commit"), dirty};
}

nlohmann::ordered_json build_json() {
  return {{"version", build::version},
          {"type", build::type},
          {"compiler", build::compiler},
          {"flags", build::flags},
          {"sanitizers", build::sanitizers},
          {"nvcc", build::nvcc},
          {"cccl", build::cccl},
          {"cuda_architectures", build::cuda_architectures}};
}

nlohmann::ordered_json git_json() { return {{"commit", build::commit}, {"dirty", build::dirty}}; }

std::string version_line() {
  const std::string commit = std::string(build::commit).substr(0, 12);
  return fmt::format("kselect {} (commit {}{})", build::version,
                     commit.empty() ? "unknown" : commit, build::dirty ? ", modified" : "");
}

std::vector<finding_of_doctor> examine(const host_facts& host, const build_facts& build) {
  std::vector<finding_of_doctor> findings;
  const auto say = [&](bool good, severity otherwise, const char* subject, std::string detail) {
    findings.push_back({good ? severity::good : otherwise, subject, std::move(detail)});
  };
  const bool optimised = build.type == "Release" && build.sanitizers.empty();
  say(optimised, severity::warning, "build",
      optimised
          ? build.type
          : fmt::format("{}{}{}: times mean nothing; build with -DCMAKE_BUILD_TYPE=Release",
                        build.type, build.sanitizers.empty() ? "" : " with ", build.sanitizers));
  const bool committed = !build.dirty && !build.commit.empty();
  say(committed, severity::warning, "git",
      committed     ? build.commit.substr(0, 12)
      : build.dirty ? "built from uncommitted changes: results cannot be traced; commit first"
                    : "not built from a git checkout: results cannot be traced");
  const bool steady = host.governor == "performance";
  say(steady, host.governor.empty() ? severity::note : severity::warning, "CPU governor",
      host.governor.empty() ? "not visible here; clocks may change during a run"
      : steady              ? host.governor
                            : host.governor + ": clocks change during a run; use `performance`");
  const double busy = host.load_1min / std::max(host.threads_online, 1);
  say(busy < 0.1, severity::warning, "other load",
      fmt::format("load average {:.2f} on {}{}", host.load_1min,
                  amount_of(host.threads_online, "thread"),
                  busy < 0.1 ? "" : ": other programs take part of the machine"));
  say(!host.virtual_machine, severity::note, "machine",
      host.virtual_machine ? "virtual: neighbours may disturb; compare within one run only"
                           : "not virtual");
  return findings;
}

}  // namespace kselect::runtime
