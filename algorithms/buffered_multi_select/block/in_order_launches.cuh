#pragma once
// Buffered multi-select, a row a block or a warp: plans and launches of answers in order.
// Definitions for the files that instantiate them.

#include "algorithms/buffered_multi_select/block/in_order_kernel.cuh"
#include "algorithms/buffered_multi_select/block/launches.cuh"
#include "algorithms/buffered_multi_select/in_order.hpp"

namespace kselect::bms {

// Bytes of shared memory for a row.
template <class T>
std::size_t bytes_of_row(const block_choice& c, bool warp, std::int64_t k) {
  return warp ? bytes_in_order<T>(c.shape, static_cast<position>(k))
              : bytes_in_order<T>(c.shape, c.shape.capacity, c.how.threads);
}

template <class Kernel, class T>
status start_in_order(const block_choice& c, int rows, const problem& p, const io& buffers,
                      const executor& on) {
  const std::size_t each = bytes_of_row<T>(c, rows > 1, p.k);
  const simt::grid shape{(p.q + rows - 1) / rows, c.how.threads * rows,
                         each * static_cast<std::size_t>(rows)};
  return simt::launch<Kernel>(
      on, shape, {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), c.shape});
}

template <class T>
status start_warps_in_order(const block_choice& c, const problem& p, const io& buffers,
                            std::span<std::byte>, const executor& on) {
  constexpr int most = most_loads<T>, rows = rows_per_block;
  if (c.how.loads == most / 4) {
    return start_in_order<warp_kernel_in_order<T, most / 4>, T>(c, rows, p, buffers, on);
  }
  if (c.how.loads == most / 2) {
    return start_in_order<warp_kernel_in_order<T, most / 2>, T>(c, rows, p, buffers, on);
  }
  return start_in_order<warp_kernel_in_order<T, most>, T>(c, rows, p, buffers, on);
}

template <class T>
status start_blocks_in_order(const block_choice& c, const problem& p, const io& buffers,
                             std::span<std::byte>, const executor& on) {
  constexpr int most = most_loads<T>;
  return c.as == form::filtered_many
             ? start_in_order<block_kernel_in_order<T, most, true>, T>(c, 1, p, buffers, on)
             : start_in_order<block_kernel_in_order<T, most, false>, T>(c, 1, p, buffers, on);
}

template <class T>
call_plan block_plan_in_order(const block_variant& v, const problem& p, const device& where) {
  constexpr auto other = "its answers are put in order by a step of their own";
  const std::int64_t rows = v.warp ? rows_per_block : 1;
  const position most_k = v.warp ? most_ordered_by_warp : most_ordered_by_block;
  if (!p.has_indices() || p.k > most_k || p.q > (rows << 24)) return call_plan::refused(other);
  const auto c = choose<T, true>(v, p, where);
  if (!c || (v.warp ? c->as != form::brief : c->as == form::resident)) {
    return call_plan::refused(other);
  }
  const std::size_t each = bytes_of_row<T>(*c, v.warp, p.k);
  const std::size_t own = sizeof(team_storage<key_of<T>>) + sizeof(dealt_counts);
  const auto teams = static_cast<std::size_t>(rows);
  if (teams * each > dynamic_shared(where, teams * own)) return call_plan::refused(other);
  return v.warp ? call_plan::of<&start_warps_in_order<T>>(p, 0, *c)
                : call_plan::of<&start_blocks_in_order<T>>(p, 0, *c);
}

}  // namespace kselect::bms
