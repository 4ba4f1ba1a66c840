#include "runtime/environment/nvml.hpp"

#include <array>
#include <dlfcn.h>

namespace kselect::runtime {
namespace {

// The few declarations of nvml.h that are used here. Only the CUDA toolkit has the header.
struct nvml_device;
using nvml_device_handle = nvml_device*;
constexpr int success = 0, insufficient_size = 7;
constexpr int clock_sm = 1, clock_memory = 2, sensor_gpu = 0;
struct utilization {
  unsigned gpu, memory;
};

}  // namespace

// False if the driver lacks the function or has no answer for this GPU.
template <class... Arguments>
bool nvml::call(const char* function, Arguments... arguments) const {
  void* const found = dlsym(library_, function);
  if (found == nullptr) return false;
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...) == success;
}

std::unique_ptr<nvml> nvml::load(std::string* why, const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    if (why != nullptr) *why = dlerror();
    return nullptr;
  }
  std::unique_ptr<nvml> loaded(new nvml(handle));
  if (loaded->call("nvmlInit_v2")) return loaded;
  if (why != nullptr) *why = std::string(library) + " does not start (nvmlInit_v2 failed)";
  return nullptr;
}

nvml::~nvml() {
  call("nvmlShutdown");
  dlclose(library_);
}

std::string nvml::driver_version() const {
  std::array<char, 96> text{};
  if (!call("nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size())))
    return {};
  return text.data();
}

gpu_state nvml::look(const std::string& pci_bus_id) const {
  gpu_state state;
  nvml_device_handle gpu = nullptr;
  if (!call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &gpu)) return state;

  unsigned value = 0, pending = 0;
  int mode = 0, pending_mode = 0;
  const auto whole = [&](bool known) {
    return known ? std::optional(static_cast<int>(value)) : std::nullopt;
  };
  const auto watts = [&](bool known) {
    return known ? std::optional(static_cast<double>(value) / 1e3) : std::nullopt;
  };
  state.sm_mhz = whole(call("nvmlDeviceGetClockInfo", gpu, clock_sm, &value));
  state.memory_mhz = whole(call("nvmlDeviceGetClockInfo", gpu, clock_memory, &value));
  state.max_sm_mhz = whole(call("nvmlDeviceGetMaxClockInfo", gpu, clock_sm, &value));
  state.temperature_c = whole(call("nvmlDeviceGetTemperature", gpu, sensor_gpu, &value));
  state.power_w = watts(call("nvmlDeviceGetPowerUsage", gpu, &value));
  state.power_limit_w = watts(call("nvmlDeviceGetEnforcedPowerLimit", gpu, &value));
  if (call("nvmlDeviceGetEccMode", gpu, &mode, &pending_mode)) state.ecc = mode != 0;
  if (call("nvmlDeviceGetMigMode", gpu, &value, &pending)) state.mig = value != 0;
  if (call("nvmlDeviceGetPersistenceMode", gpu, &mode)) state.persistence = mode != 0;
  if (utilization busy{}; call("nvmlDeviceGetUtilizationRates", gpu, &busy)) {
    state.utilization_percent = static_cast<int>(busy.gpu);
  }
  // Renamed in driver 535; the old name stays.
  unsigned long long reasons = 0;
  if (call("nvmlDeviceGetCurrentClocksEventReasons", gpu, &reasons) ||
      call("nvmlDeviceGetCurrentClocksThrottleReasons", gpu, &reasons)) {
    state.event_reasons = reasons;
  }
  // With room for none, the call returns their number.
  if (void* const found = dlsym(library_, "nvmlDeviceGetComputeRunningProcesses_v3")) {
    unsigned count = 0;
    const auto ask = reinterpret_cast<int (*)(nvml_device_handle, unsigned*, void*)>(found);
    const int code = ask(gpu, &count, nullptr);
    if (code == success || code == insufficient_size) state.processes = static_cast<int>(count);
  }
  return state;
}

}  // namespace kselect::runtime
