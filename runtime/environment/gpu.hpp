#pragma once
// Describes the GPU that the cuda executor would use. Every run records it, a sweep checks it
// between rounds, and `kselect doctor` reports it.

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/environment/host.hpp"
#include "runtime/environment/nvml.hpp"

namespace kselect::runtime {

// The GPU's model and settings, as a list of one; empty without a GPU. `number` as in open_backend.
nlohmann::ordered_json gpu_json(int number = 0);

// Settings and conditions that would distort a measurement on a GPU in this state.
std::vector<finding_of_doctor> examine_gpu(const gpu_state& state);
// The same for this machine's GPU, its name first; a note if there is no GPU.
std::vector<finding_of_doctor> examine_gpu();

// Samples the GPU's state.
class gpu_watch {
 public:
  // Without a GPU or NVML all samples are empty.
  gpu_watch();
  gpu_state look() const;

 private:
  std::unique_ptr<nvml> driver_;
  std::string pci_bus_id_;
};

}  // namespace kselect::runtime
