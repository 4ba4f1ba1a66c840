#pragma once
// What the driver knows about a GPU's state: clocks, temperature, power, modes, and why the clock
// is where it is. Asked of NVML, the driver's management library, which is loaded when the program
// runs: a machine without it loses these facts and nothing else.

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

// The event reasons (nvml.h, nvmlClocksEventReasons) for which a time is not the algorithm's own:
// hardware slow-down 0x8, software thermal 0x20, hardware thermal 0x40, power brake 0x80. The power
// cap 0x4 is none: a GPU at full load lives there.
constexpr bool slows_down(std::uint64_t event_reasons) { return (event_reasons & 0xe8) != 0; }

class nvml {
 public:
  // Null where it cannot be loaded or does not start; `why`, if given, then says so.
  static std::unique_ptr<nvml> load(std::string* why = nullptr,
                                    const char* library = "libnvidia-ml.so.1");
  ~nvml();
  nvml(const nvml&) = delete;
  nvml& operator=(const nvml&) = delete;

  std::string driver_version() const;  // "" if it does not tell
  // Of the GPU at that PCI bus address; every fact that is not to be had stays empty.
  gpu_state look(const std::string& pci_bus_id) const;

 private:
  explicit nvml(void* library) : library_(library) {}
  template <class... Arguments>
  bool call(const char* function, Arguments... arguments) const;

  void* library_;
};

}  // namespace kselect::runtime
