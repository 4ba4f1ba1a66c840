#pragma once
// Buffered multi-select, several blocks a row: plans whose answers are in order, best first, equal
// keys by ascending index. The row's last block puts them in order (in_order.cuh).

#include "algorithms/buffered_multi_select/launches.hpp"

namespace kselect::bms {

// As grid_plan; refused if k is large.
template <class T>
call_plan grid_plan_in_order(const grid_variant& v, const problem& p, const device& where);

// The same for a registered entry; refused if `member` is none of these variants. The problem has
// values, and rows of one length.
call_plan plan_in_order(const algorithm& member, const problem& p, const device& where);

}  // namespace kselect::bms
