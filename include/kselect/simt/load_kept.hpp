#pragma once
// A 16-byte load of data that is soon read again: on a GPU it stays in L1
// (ld.global.L1::evict_last), elsewhere it is a plain load. For data that a warp reads once and
// then looks up in parts. Streamed data would only displace lines that are needed later.

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
  // Volatile: a caller reads twice on purpose, to avoid holding the value in registers.
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
