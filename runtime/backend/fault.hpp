#pragma once
// Advice on a kernel's fault, beyond the CUDA error's name. In every build, so that it can be
// tested without a GPU.

#include <string_view>

namespace kselect::runtime {

// One line of advice for an error that destroys the process' CUDA context, such as
// "cudaErrorIllegalAddress". Empty for all other errors. (CUDA Runtime API, cudaError_t: errors
// that leave "the process in an inconsistent state".)
std::string_view advice_on_fault(std::string_view error_name);

}  // namespace kselect::runtime
