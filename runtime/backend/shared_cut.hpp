#pragma once
// Applies the test switch of src/gpu_device.hpp to a backend's device. A wrong value is a usage
// error.

#include "runtime/error.hpp"
#include "src/gpu_device.hpp"

namespace kselect::runtime {

inline void require_cut(device& where) {
  if (const std::string wrong = cut_shared_memory(where); !wrong.empty()) {
    throw error(failure::usage, wrong);
  }
}

}  // namespace kselect::runtime
