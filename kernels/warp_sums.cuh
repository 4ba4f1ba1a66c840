#pragma once
// Sums over the lanes of a warp.

#include "kselect/hd.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::kernels {

// The sum of the numbers of this lane and lower ones.
template <class Simt, class Number>
KSELECT_HD Number sum_up_to_lane(Simt& simt, Number number) {
  for (int step = 1; step < simt::warp_size; step *= 2) {
    const Number before = simt.shfl_up(simt::full_mask, number, step);
    if (simt.lane() >= step) number += before;
  }
  return number;
}

}  // namespace kselect::kernels
