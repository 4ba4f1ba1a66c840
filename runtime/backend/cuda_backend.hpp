#pragma once
// An NVIDIA GPU as a place to run: one of the visible devices, one stream of its own. The thread
// that opens it is bound to that device; others call serve_this_thread first.
//
// Host code only, through the runtime API: kernels live with their algorithms, and those that
// measure in runtime/backend/cuda/. Asking what the GPU is creates no context on it; only the first
// allocation or launch does.

#include <memory>
#include <string>

#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

// Why no CUDA device can be used; empty if the first can.
std::string why_no_cuda_device();

// Why that GPU cannot run this program, which was built for others, and what to build; empty if it
// can.
std::string why_no_code_for(int number);

int count_cuda_devices();

// `threads` host threads serve the verification (0: all this process may use). Throws
// error(failure::unsupported) for a device that is not there.
std::unique_ptr<backend> open_cuda_backend(int threads, int number = 0);

// What the runtime tells about the GPU beyond kselect::device.
struct cuda_facts {
  std::string uuid;        // "GPU-01234567-89ab-...", as the driver's tools print it
  std::string pci_bus_id;  // "00000000:3B:00.0"
  int driver_version = 0;  // the newest CUDA that the driver serves: 13000 for 13.0
  int runtime_version = 0;
  int peak_sm_mhz = 0;
};
cuda_facts observe_cuda(int number = 0);

}  // namespace kselect::runtime
