#pragma once
// The position of an element in its row, as kernels hold it. 32 bits, so rows have fewer than 2^31
// elements (longest_row).

#include <cstdint>

#include "kselect/hd.hpp"

namespace kselect::kernels {

using position = std::uint32_t;

inline constexpr std::int64_t longest_row = 0x7fffffff;

KSELECT_HD constexpr position least(position a, position b) { return a < b ? a : b; }

}  // namespace kselect::kernels
