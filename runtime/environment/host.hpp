#pragma once
// Describes this machine. Every run records it, and `kselect doctor` reports it.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace kselect::runtime {

struct host_facts {
  std::string name;           // host name
  std::string cpu;            // model name
  int threads_available = 0;  // in this process's affinity mask
  int threads_online = 0;     // on the machine
  double memory_gib = 0;      // total
  std::string kernel;         // "Linux 6.1.0 x86_64"
  std::string system;         // "Debian GNU/Linux 12 (bookworm)"
  std::string governor;       // CPU frequency governor; "" if unknown
  double load_1min = 0;
  bool virtual_machine = false;
};

host_facts observe_host();
nlohmann::ordered_json to_json(const host_facts& host);

// The build: version, git commit and dirtiness, compiler, flags, nvcc.
nlohmann::ordered_json build_json();
nlohmann::ordered_json git_json();
// "kselect 0.1.0 (commit 0123456789ab)"
std::string version_line();

// A condition that would distort a measurement, and what to do about it.
struct finding_of_doctor {
  enum class level { good, note, warning } severity;
  std::string subject;  // "build type"
  std::string detail;
};
std::vector<finding_of_doctor> examine(const host_facts& host);

}  // namespace kselect::runtime
