// Which GPUs there are, and what they are: the queries of cuda_backend.hpp.

// Compiled in every build; empty if the configuration found no CUDA.
#if KSELECT_HAS_CUDA

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "runtime/backend/cuda/queries.hpp"
#include "runtime/backend/cuda_backend.hpp"
#include "src/gpu_code.hpp"

namespace kselect::runtime {

std::string why_no_cuda_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return describe(code);
  return count == 0 ? "no CUDA device is visible" : why_no_code_for(0);
}

std::string why_no_code_for(int number) {
  device gpu;
  gpu.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, number) +
                           attribute(cudaDevAttrComputeCapabilityMinor, number);
  if (why_no_code(code_here(gpu)).empty()) return {};
  gpu.name = properties_of(number).name;  // a slow call, needed only for the message
  return why_no_code(code_here(gpu));
}

int count_cuda_devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

cuda_facts observe_cuda(int number) {
  const cudaDeviceProp properties = properties_of(number);
  std::array<unsigned char, 16> id{};
  std::memcpy(id.data(), properties.uuid.bytes, id.size());
  cuda_facts facts;
  facts.uuid = "GPU";
  for (std::size_t i = 0; i < id.size(); ++i) {
    const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    facts.uuid += fmt::format("{}{:02x}", dash ? "-" : "", id[i]);
  }
  std::array<char, 32> bus{};
  require(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), number),
          "cudaDeviceGetPCIBusId");
  facts.pci_bus_id = bus.data();
  require(cudaDriverGetVersion(&facts.driver_version), "cudaDriverGetVersion");
  require(cudaRuntimeGetVersion(&facts.runtime_version), "cudaRuntimeGetVersion");
  facts.peak_sm_mhz = attribute(cudaDevAttrClockRate, number) / 1000;
  return facts;
}

}  // namespace kselect::runtime

#endif
