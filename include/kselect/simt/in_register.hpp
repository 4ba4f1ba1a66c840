#pragma once
// Keeps a computed value in a register. Otherwise the compiler may recompute it in each branch that
// uses it.

#include <cstdint>

#include "kselect/hd.hpp"

namespace kselect::simt {

KSELECT_HD inline std::uint32_t in_register(std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm("" : "+r"(value));
#endif
  return value;
}

}  // namespace kselect::simt
