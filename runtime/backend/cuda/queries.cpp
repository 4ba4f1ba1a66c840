// Compiled in every build; empty if the configuration found no CUDA.
#if KSELECT_HAS_CUDA

#include "runtime/backend/cuda/queries.hpp"

#include <fmt/format.h>

#include "runtime/backend/fault.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {

std::string describe(cudaError_t code) {
  const char* const name = cudaGetErrorName(code);
  const std::string_view advice = advice_on_fault(name);
  return fmt::format("{}: {}{}{}", name, cudaGetErrorString(code), advice.empty() ? "" : "; ",
                     advice);
}

void require(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw error(failure::unsupported, fmt::format("{} failed: {}", what, describe(code)));
}

int attribute(cudaDeviceAttr which, int number) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, which, number), "cudaDeviceGetAttribute");
  return value;
}

cudaDeviceProp properties_of(int number) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
  return properties;
}

}  // namespace kselect::runtime

#endif
