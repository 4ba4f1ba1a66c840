#pragma once
// Arrays of numbers in a backend's memory.

#include <cstddef>
#include <cstdint>

#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

template <class T>
device_buffer make_array(backend& place, std::int64_t count) {
  return {place, static_cast<std::size_t>(count) * sizeof(T)};
}

template <class T>
T* as(const device_buffer& memory) {
  return reinterpret_cast<T*>(memory.data());
}

}  // namespace kselect::runtime
