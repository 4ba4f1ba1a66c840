#pragma once
// Describes a GPU to algorithms. The library and the harness share it, so that both say the same.

#include <string>

#include "kselect/algorithm.hpp"

#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kselect {

#if KSELECT_HAS_CUDA
device describe_gpu(const cudaDeviceProp& properties);
#endif

// Test only: limits a block's shared memory to this many KiB, on a GPU and on fibers, as on older
// cards. The device's name and all records then show it.
inline constexpr char shared_cut_variable[] = "KSELECT_TEST_SHARED_KIB";

// The variable's value; empty if unset.
std::string shared_cut();

// Limits the device's shared memory to the variable's value, if that is less. Returns what is wrong
// with the value, or nothing.
std::string cut_shared_memory(device& where);

}  // namespace kselect
