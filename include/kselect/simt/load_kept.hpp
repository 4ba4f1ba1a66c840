#pragma once
// A load of 16 bytes that will soon be read again: on a GPU they stay in L1 as long as anything
// does (PTX: ld.global.L1::evict_last), elsewhere it is a plain load. For what a warp reads as a
// whole and then looks up in parts; a stream that asks for it only keeps the next lines out.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kselect/hd.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::simt {

template <class Simt, class T>
KSELECT_HD std::remove_const_t<T> load_kept(Simt& simt, global<T> from, std::int64_t i) {
  static_assert(sizeof(T) == 16);
#if defined(__CUDA_ARCH__)
  static_cast<void>(simt);
  // Volatile: a caller that reads a second time does so in order not to hold it in registers.
  uint4 bits;
  asm volatile("ld.global.L1::evict_last.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(__cvta_generic_to_global(from.data + i)));
  std::remove_const_t<T> value;
  memcpy(&value, &bits, sizeof(value));
  return value;
#else
  return simt.load(from, i);
#endif
}

}  // namespace kselect::simt
