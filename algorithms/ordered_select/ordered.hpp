#pragma once
// Ordered selection: any member on fibers or a GPU, and kernels that order its answers
// (ordered_select.cu explains them). promises_of() is the contract of the composed entry.

#include "kselect/algorithm.hpp"

namespace kselect::ordered {

// sorted: best first, equal keys by ascending index.
// stable: also prefers smaller indices among elements equal to the k-th, so the answer is unique.
enum class answer_order : std::uint8_t { sorted, stable };

constexpr contract promises_of(contract member, answer_order wanted) {
  member.ordering = output_ordering::stable_sorted;
  if (wanted == answer_order::stable) {
    member.tie_break = tie_break::prefer_smaller_index;
    member.determinism = determinism::gpu_to_gpu;
  }
  return member;
}

// The places of NaN that a composed entry knows.
inline constexpr auto every_nan_order =
    set_of(nan_order::total_order, nan_order::last, nan_order::first);

// The problem without what only the completed answer has: names by a map, a place of NaN, a k of
// each row, the fill. Rows that are too short get a fill that is sorted last.
inline problem in_positions(const problem& p) {
  problem plain = in_total_order(without_map(p));
  // The answer is cut when it is in order; but rows of fewer than k are ragged.
  const bool own_places = p.lengths != row_numbers::none || p.starts != row_numbers::none;
  if (own_places || p.k <= p.n) plain.k_each = row_numbers::none;
  plain.fill = -1;
  plain.fill_last = plain.ragged();
  return plain;
}

// The most elements beyond k that a member is asked for if ties have to be settled; k < n. With one
// alone, every row with a surplus tie is read again.
std::int64_t extra_for_ties(const problem& p, const device& where);
// The problem that the member then gets.
problem asked_for_ties(const problem& p, std::int64_t extra);

// The plan of a member on fibers or a GPU whose answers' NaNs are then put where `p` wants them,
// and whose elements are named by its map. The member's problem has neither, and has values.
call_plan plan_named(const call_plan& member, const problem& p, const device& where);

// The plan of the member and of what orders its answers. For values with or without indices; the
// k-th value alone needs no order.
call_plan plan_ordered(const algorithm& member, const problem& p, const device& where,
                       answer_order wanted);

}  // namespace kselect::ordered
