#pragma once
// An NVIDIA GPU as a place to run: the first visible device, one stream of its own.
//
// Host code only, through the runtime API: kernels live with their algorithms.

#include <memory>
#include <string>

#include "harness/backend/backend.hpp"

namespace kselect {

// Why no CUDA device can be used; empty if one can.
std::string why_no_cuda_device();

// `threads` host threads serve the verification (0: all this process may use).
std::unique_ptr<backend> open_cuda_backend(int threads);

}  // namespace kselect
