#pragma once
// An NVIDIA GPU as a backend, with its own stream. The thread that opens it is bound to the GPU;
// other threads call serve_this_thread first.
//
// Host code only, through the runtime API. Kernels are with their algorithms or, for measurements,
// in runtime/backend/cuda/. Queries create no context; the first allocation or launch does.

#include <memory>
#include <string>

#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

// Why no CUDA device is usable; empty if the first one is.
std::string why_no_cuda_device();

// Why that GPU cannot run this program's code, and what to build; empty if it can.
std::string why_no_code_for(int number);

int count_cuda_devices();

// As open_backend. Throws error(failure::unsupported) if there is no such device.
std::unique_ptr<backend> open_cuda_backend(int threads, int number = 0, int multiprocessors = 0);

// Properties of a GPU beyond kselect::device.
struct cuda_facts {
  std::string uuid;        // "GPU-01234567-89ab-...", as the driver's tools print it
  std::string pci_bus_id;  // "00000000:3B:00.0"
  int driver_version = 0;  // newest CUDA version that the driver supports: 13000 for 13.0
  int runtime_version = 0;
  int peak_sm_mhz = 0;
};
cuda_facts observe_cuda(int number = 0);

}  // namespace kselect::runtime
