#pragma once
// A number that is computed once and kept: where each of many branches uses it, a compiler may
// compute it anew in each.

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
