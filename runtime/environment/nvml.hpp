#pragma once
// Reads a GPU's state from the driver: clocks, temperature, power, modes, and the reasons for the
// clock. It loads NVML, the driver's management library, at run time. A machine without NVML lacks
// only these facts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kselect::runtime {

struct gpu_state {
  std::optional<int> sm_mhz, memory_mhz, max_sm_mhz;
  std::optional<int> temperature_c;
  std::optional<double> power_w, power_limit_w;
  std::optional<bool> ecc, mig, persistence;
  std::optional<int> utilization_percent;
  std::optional<int> processes;                // with a compute context on it, this one included
  std::optional<std::uint64_t> event_reasons;  // bits, see slows_down
};

// The event reasons (nvml.h, nvmlClocksEventReasons) that make a time invalid: hardware slow-down
// 0x8, software thermal 0x20, hardware thermal 0x40, power brake 0x80. The power cap, 0x4, is not
// one of them, because a GPU at full load usually reaches it.
constexpr bool slows_down(std::uint64_t event_reasons) { return (event_reasons & 0xe8) != 0; }

class nvml {
 public:
  // Null if NVML cannot be loaded or started; then `why`, if given, gets the reason.
  static std::unique_ptr<nvml> load(std::string* why = nullptr,
                                    const char* library = "libnvidia-ml.so.1");
  ~nvml();
  nvml(const nvml&) = delete;
  nvml& operator=(const nvml&) = delete;

  std::string driver_version() const;  // "" if unknown
  // The state of the GPU at this PCI bus address. Unavailable facts stay empty.
  gpu_state look(const std::string& pci_bus_id) const;

 private:
  explicit nvml(void* library) : library_(library) {}
  template <class... Arguments>
  bool call(const char* function, Arguments... arguments) const;

  void* library_;
};

}  // namespace kselect::runtime
