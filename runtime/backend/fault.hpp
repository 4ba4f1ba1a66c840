#pragma once
// What to do about a kernel's fault, which the name of the CUDA error alone does not say. Known to
// every build, so that it is tested without a GPU.

#include <string_view>

namespace kselect::runtime {

// For the name of an error that takes the process' CUDA context with it, such as
// "cudaErrorIllegalAddress": what to do, in one line. Empty for all other errors. (CUDA Runtime
// API, cudaError_t: those that leave "the process in an inconsistent state".)
std::string_view advice_on_fault(std::string_view error_name);

}  // namespace kselect::runtime
