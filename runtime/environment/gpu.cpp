#include "runtime/environment/gpu.hpp"

#include <map>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#if KSELECT_HAS_CUDA
#include "runtime/backend/cuda/instruments.hpp"
#include "runtime/backend/cuda_backend.hpp"
#include "src/gpu_code.hpp"
#endif

namespace kselect::runtime {
namespace {

using json = nlohmann::ordered_json;
using severity = finding_of_doctor::level;

constexpr int hot_c = 80;  // server GPUs lower their clock near this

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

#if KSELECT_HAS_CUDA
std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

json observed(int number) {
  json list = json::array();
  if (!why_unavailable(executor_kind::cuda).empty()) return list;
  const device gpu = open_backend(executor_kind::cuda, 0, number)->description();
  const cuda_facts cuda = observe_cuda(number);
  std::string why;
  const auto driver = nvml::load(&why);
  const gpu_state state = driver ? driver->look(cuda.pci_bus_id) : gpu_state{};
  list.push_back({{"index", number},
                  {"name", gpu.name},
                  {"uuid", cuda.uuid},
                  {"driver", driver ? json(driver->driver_version()) : json()},
                  {"cuda_driver", cuda_version(cuda.driver_version)},
                  {"cuda_runtime", cuda_version(cuda.runtime_version)},
                  {"compute_capability", gpu.compute_capability},
                  {"multiprocessors", gpu.multiprocessors},
                  {"memory_bytes", gpu.memory_bytes},
                  {"l2_bytes", gpu.cache_bytes},
                  {"peak_sm_mhz", cuda.peak_sm_mhz},
                  {"sm_mhz", or_null(state.sm_mhz)},
                  {"memory_mhz", or_null(state.memory_mhz)},
                  {"temperature_c", or_null(state.temperature_c)},
                  {"power_w", or_null(state.power_w)},
                  {"power_limit_w", or_null(state.power_limit_w)},
                  {"ecc", or_null(state.ecc)},
                  {"mig", or_null(state.mig)},
                  {"persistence", or_null(state.persistence)},
                  {"processes", or_null(state.processes)},
                  {"nvml", driver ? json("loaded") : json(why)}});
  return list;
}
#endif

}  // namespace

nlohmann::ordered_json gpu_json([[maybe_unused]] int number) {
  // The last known state, for a process that has lost its CUDA context to a kernel's fault.
  static std::mutex guard;
  static std::map<int, json> all;
  const std::scoped_lock lock(guard);
  json& known = all.try_emplace(number, json::array()).first->second;
#if KSELECT_HAS_CUDA
  try {
    if (json now = observed(number); !now.empty()) known = std::move(now);
  } catch (const error&) {
    if (known.empty()) throw;
  }
#endif
  return known;
}

std::vector<finding_of_doctor> examine_gpu(const gpu_state& state) {
  std::vector<finding_of_doctor> findings;
  const auto say = [&](bool known, bool good, severity otherwise, const char* subject,
                       const std::string& detail) {
    if (known) findings.push_back({good ? severity::good : otherwise, subject, detail});
  };
  const bool slow = slows_down(state.event_reasons.value_or(0));
  say(state.event_reasons.has_value(), !slow, severity::warning, "GPU clock",
      fmt::format("{}{}",
                  state.sm_mhz && state.max_sm_mhz
                      ? fmt::format("{} of {} MHz", *state.sm_mhz, *state.max_sm_mhz)
                      : "speed not told",
                  slow ? fmt::format(", held down (event reasons {:#x}): cool it or free its power",
                                     *state.event_reasons)
                       : ""));
  say(state.temperature_c.has_value(), state.temperature_c < hot_c, severity::warning, "GPU heat",
      fmt::format("{} C", state.temperature_c.value_or(0)));
  say(state.persistence.has_value(), state.persistence == true, severity::note, "persistence",
      state.persistence == true ? "on"
                                : "off: the driver unloads between runs, and clocks with it");
  const bool busy = state.processes.value_or(0) > 0 || state.utilization_percent.value_or(0) > 5;
  say(state.processes.has_value() || state.utilization_percent.has_value(), !busy,
      severity::warning, "GPU load",
      busy ? fmt::format("{} other processes, {} % busy: they take part of the GPU",
                         state.processes.value_or(0), state.utilization_percent.value_or(0))
           : "idle");
  say(state.mig.has_value(), state.mig == false, severity::note, "MIG",
      state.mig == true ? "on: other instances share memory bandwidth and power" : "off");
  say(state.ecc.has_value(), true, severity::note, "ECC", state.ecc == true ? "on" : "off");
  return findings;
}

std::vector<finding_of_doctor> examine_gpu() {
  if (const std::string none = why_no_gpu_code(); !none.empty()) {
    return {{severity::warning, "GPU code", none}};
  }
  if (const std::string none = why_unavailable(executor_kind::cuda); !none.empty()) {
    return {{severity::note, "GPU", "none usable: " + none}};
  }
  std::vector<finding_of_doctor> findings = {
      {severity::good, "GPU", open_backend(executor_kind::cuda)->description().name}};
#if KSELECT_HAS_CUDA
  const std::string refused = why_code_does_not_load();
  findings.push_back(refused.empty()
                         ? finding_of_doctor{severity::good, "GPU code",
                                             "for " + code_in_words(built_architectures())}
                         : finding_of_doctor{severity::warning, "GPU code", refused});
#endif
  std::string why;
  const auto driver = nvml::load(&why);
  if (!driver) {
    findings.push_back({severity::note, "NVML", "clocks and load are not known: " + why});
    return findings;
  }
#if KSELECT_HAS_CUDA
  const auto more = examine_gpu(driver->look(observe_cuda().pci_bus_id));
  findings.insert(findings.end(), more.begin(), more.end());
#endif
  return findings;
}

gpu_watch::gpu_watch() {
#if KSELECT_HAS_CUDA
  if (!why_unavailable(executor_kind::cuda).empty()) return;
  driver_ = nvml::load();
  pci_bus_id_ = observe_cuda().pci_bus_id;
#endif
}

gpu_state gpu_watch::look() const { return driver_ ? driver_->look(pci_bus_id_) : gpu_state{}; }

}  // namespace kselect::runtime
