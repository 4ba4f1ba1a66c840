#pragma once
// Whether a device has the shared memory that a block needs, for an algorithm's `supports`.

#include <cstddef>
#include <string>

#include "kselect/algorithm.hpp"

namespace kselect::simt {

inline bool has_shared(const device& where, std::size_t bytes) {
  return where.shared_bytes == 0 || bytes <= where.shared_bytes;
}

inline support fits_shared(const device& where, std::size_t bytes) {
  if (has_shared(where, bytes)) return supported();
  return unsupported("a block needs " + std::to_string(bytes) + " bytes of shared memory and has " +
                     std::to_string(where.shared_bytes) + " on this device");
}

}  // namespace kselect::simt
