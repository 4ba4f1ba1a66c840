#pragma once
// What the library and the harness tell algorithms about a GPU, by the same words.

#include <string>

#include "kselect/algorithm.hpp"

#if KSELECT_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace kselect {

#if KSELECT_HAS_CUDA
device describe_gpu(const cudaDeviceProp& properties);
#endif

// For tests alone: so many KiB are all the shared memory of a block, as on older cards, on a GPU and
// on fibers. The device's name then says so, and every record with it.
inline constexpr char shared_cut_variable[] = "KSELECT_TEST_SHARED_KIB";

// What the variable says; empty where it is not set.
std::string shared_cut();

// Cuts the device's shared memory to what the variable says, if it is set and less; returns what is
// wrong with its value, or nothing.
std::string cut_shared_memory(device& where);

}  // namespace kselect
