#pragma once
// Warp selection's launch by element type. Each type is compiled in its own file.

#include "kselect/algorithm.hpp"

namespace kselect::warp_select {

inline constexpr int most_queue = 1024;  // the largest k

// Selects from all rows of `p`: one warp a row, `warps` warps a block. `T`: the rows' type.
template <class T>
status select_rows(int warps, const problem& p, const io& buffers, const executor& on);

}  // namespace kselect::warp_select
