#pragma once
// An NVIDIA GPU as a place to run: the first visible device, one stream of its own.
//
// Host code only, through the runtime API: kernels live with their algorithms, and those that
// measure in harness/backend/cuda/. Asking what the GPU is creates no context on it; only the first
// allocation or launch does.

#include <memory>
#include <string>

#include "harness/backend/backend.hpp"

namespace kselect {

// Why no CUDA device can be used; empty if one can.
std::string why_no_cuda_device();

// `threads` host threads serve the verification (0: all this process may use).
std::unique_ptr<backend> open_cuda_backend(int threads);

// What the runtime tells about the GPU beyond kselect::device.
struct cuda_facts {
  std::string uuid;        // "GPU-01234567-89ab-...", as the driver's tools print it
  std::string pci_bus_id;  // "00000000:3B:00.0"
  int driver_version = 0;  // the newest CUDA that the driver serves: 13000 for 13.0
  int runtime_version = 0;
  int peak_sm_mhz = 0;
};
cuda_facts observe_cuda();

}  // namespace kselect
