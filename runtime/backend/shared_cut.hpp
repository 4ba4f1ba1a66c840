#pragma once
// The test switch of src/gpu_device.hpp, for backends: a wrong value is an error of usage.

#include "runtime/error.hpp"
#include "src/gpu_device.hpp"

namespace kselect::runtime {

inline void require_cut(device& where) {
  if (const std::string wrong = cut_shared_memory(where); !wrong.empty()) {
    throw error(failure::usage, wrong);
  }
}

}  // namespace kselect::runtime
