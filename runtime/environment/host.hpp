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
// The inverse, for a run's meta.json. A member that is missing keeps its default.
host_facts host_from(const nlohmann::ordered_json& host);

// The build: version, git commit and dirtiness, compiler, flags, nvcc.
nlohmann::ordered_json build_json();
nlohmann::ordered_json git_json();
// "kselect 0.1.0 (commit 0123456789ab)"
std::string version_line();

// What of a build decides whether its times can be trusted.
struct build_facts {
  std::string type, sanitizers, commit;
  bool dirty = false;
};
build_facts this_build();
// The same of a recorded run, from the members "build" and "git" of its meta.json.
build_facts build_from(const nlohmann::ordered_json& build, const nlohmann::ordered_json& git);

// A condition that would distort a measurement, and what to do about it.
struct finding_of_doctor {
  enum class level { good, note, warning } severity;
  std::string subject;  // "build type"
  std::string detail;
};
std::vector<finding_of_doctor> examine(const host_facts& host,
                                       const build_facts& build = this_build());

}  // namespace kselect::runtime
