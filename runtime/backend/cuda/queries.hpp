#pragma once
// What the CUDA runtime says of a GPU and of a failure, for the host code of the backend.

#include <cuda_runtime_api.h>
#include <string>

namespace kselect::runtime {

// "cudaErrorX: what it means", with advice where there is some (fault.hpp).
std::string describe(cudaError_t code);

// For calls that fail only if the context is lost or the driver refuses. Throws
// error(failure::unsupported) that ends with the driver's message.
void require(cudaError_t code, const char* what);

int attribute(cudaDeviceAttr which, int number);
cudaDeviceProp properties_of(int number);

}  // namespace kselect::runtime
