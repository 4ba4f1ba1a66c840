#pragma once
// Buffered multi-select: plans whose answers are in order, best first, equal keys by ascending
// index. The block or warp that writes an answer puts it in order.

#include "algorithms/buffered_multi_select/launches.hpp"

namespace kselect::bms {

// As block_plan; refused for values alone, if k is large, and for rows that stay whole in
// registers. For float and float16.
template <class T>
call_plan block_plan_in_order(const block_variant& v, const problem& p, const device& where);

// As grid_plan; refused if k is large.
template <class T>
call_plan grid_plan_in_order(const grid_variant& v, const problem& p, const device& where);

// The same for a registered entry; refused if `member` is none of these variants. The problem has
// values, and rows of one length.
call_plan plan_in_order(const algorithm& member, const problem& p, const device& where);
// The same if it has several blocks a row.
call_plan plan_of_grid_in_order(const algorithm& member, const problem& p, const device& where);
// The same if it has a row a block or a warp.
call_plan plan_of_block_in_order(const algorithm& member, const problem& p, const device& where);

}  // namespace kselect::bms
