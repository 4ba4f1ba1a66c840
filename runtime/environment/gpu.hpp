#pragma once
// The GPU that the cuda executor would use: recorded with every run, looked at between rounds and
// by `kselect doctor`.

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/environment/host.hpp"
#include "runtime/environment/nvml.hpp"

namespace kselect::runtime {

// What it is and how it is set up, a list of one; empty if there is none. `number` as
// open_backend's.
nlohmann::ordered_json gpu_json(int number = 0);

// What would spoil a measurement on a GPU in this state.
std::vector<finding_of_doctor> examine_gpu(const gpu_state& state);
// The same of the GPU that is here, its name first; a note if there is none.
std::vector<finding_of_doctor> examine_gpu();

// Looks at that GPU now and then.
class gpu_watch {
 public:
  // Sees nothing where there is no GPU or no NVML.
  gpu_watch();
  gpu_state look() const;

 private:
  std::unique_ptr<nvml> driver_;
  std::string pci_bus_id_;
};

}  // namespace kselect::runtime
