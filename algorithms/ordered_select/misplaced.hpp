#pragma once
// Which NaNs problem::nan moves, on the host and on a GPU.

#include "kselect/hd.hpp"
#include "kselect/order.hpp"

namespace kselect::ordered {

// Whether the total order puts this NaN on the other side of all numbers than `where`, last or
// first, does.
template <class T>
KSELECT_HD constexpr bool is_misplaced_nan(T nan, direction wanted, nan_order where) {
  const bool negative = (bits_of(nan) & sign_bit<T>) != 0;
  const bool is_best = negative == (wanted == direction::smallest);
  return is_best == (where == nan_order::last);
}

}  // namespace kselect::ordered
