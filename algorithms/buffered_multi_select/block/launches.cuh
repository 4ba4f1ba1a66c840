#pragma once
// Buffered multi-select, a row a block or a warp: the choice of the kernel and its shape, and the
// launch. Definitions for the files that instantiate them.

#include "algorithms/buffered_multi_select/block/kernel.cuh"
#include "algorithms/buffered_multi_select/launches.hpp"
#include "algorithms/buffered_multi_select/shape.hpp"
#include "algorithms/buffered_multi_select/warp/kernel.cuh"

namespace kselect::bms {

// Whether a warp's registers nearly always hold the survivors, whose number is about Poisson.
inline bool brief(const filtering& shape) {
  return shape.tiles == 1 && shape.survivors + 3 * std::sqrt(shape.survivors) <= brief_most;
}

template <class T>
reading reading_of(const block_variant& v, const problem& p, const device& where) {
  constexpr int most = most_loads<T>;
  if (v.warp && is_word<T>) return {simt::warp_size, most};  // the one instance
  if (v.warp) {
    constexpr std::int64_t held =
        simt::warp_size * 16 / sizeof(T);  // by a warp, in one load a lane
    int loads = most / 4;
    while (loads < most && loads * held < p.n) loads *= 2;
    return {simt::warp_size, loads};
  }
  if (v.threads != 0) return {v.threads, most};
  return {fitted<T>(std::min(threads_for<T>(p, where), simt::busy_threads(where)), p.n), most};
}

struct block_choice {
  reading how;
  plan shape;
  form as;
};

template <class T, bool indexed>
std::optional<block_choice> choose(const block_variant& v, const problem& p, const device& where) {
  const reading first = reading_of<T>(v, p, where);
  const std::size_t rows = v.warp ? rows_per_block : 1;  // of a block
  const std::size_t most = dynamic_shared(where, rows * sizeof(team_storage<key_of<T>>)) / rows;
  const bool many = !v.warp && 64 * p.k >= p.n;
  const auto filtered = [&](reading how) -> std::optional<block_choice> {
    if (many) how.groups = many_groups;
    const auto shape = filtering_plan<T, indexed>(p.n, p.k, how, most);
    if (!shape) return {};
    if (v.warp && brief(*shape)) return block_choice{how, *shape, form::brief};
    const bool half_of_lanes =
        v.warp && 16 * shape->tiles <= shape->survivors;  // have one in a tile
    const bool only_many = v.warp && is_word<T>;
    const form as = many || half_of_lanes || only_many ? form::filtered_many : form::filtered;
    return block_choice{how, *shape, as};
  };
  const auto resident = [&](int threads) -> std::optional<block_choice> {
    const reading how{threads, most_loads<T>};
    const auto shape = resident_plan<T, indexed>(p.n, p.k, how, most);
    if (!shape) return {};
    return block_choice{how, *shape, form::resident};
  };
  std::optional<block_choice> best;
  if (dense(p) && !v.warp) best = resident(first.threads);
  if (!best) best = filtered(first);
  if (v.warp && is_word<T>) return best;
  if (!best) best = resident(first.threads);
  // More threads give more groups and hold more elements.
  for (int threads = 2 * first.threads; !best && !v.warp && threads <= 512; threads *= 2) {
    best = filtered({threads, first.loads});
    if (!best) best = resident(threads);
  }
  return best;
}

// A warp or a block a row. Rows are cheap to start, so the hardware's scheduler balances them.
template <class T, bool indexed>
simt::grid launch_of(const reading& how, const plan& shape, bool warp, std::int64_t q) {
  using memory = team_memory<T, indexed>;
  const std::int64_t rows = warp ? rows_per_block : 1;  // of a block
  const std::int64_t blocks = std::min<std::int64_t>((q + rows - 1) / rows, 1 << 24);
  if (warp) return {blocks, rows_per_block * simt::warp_size, memory::bytes(shape) * rows};
  return {blocks, how.threads, memory::bytes(shape, how.threads)};
}

template <class Kernel, class T, bool indexed>
status start(const block_choice& c, bool warp, const problem& p, const io& buffers,
             const executor& on) {
  return simt::launch<Kernel>(
      on, launch_of<T, indexed>(c.how, c.shape, warp, p.q),
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), c.shape});
}

template <class T, bool indexed>
status start_warps(const block_choice& c, const problem& p, const io& buffers, std::span<std::byte>,
                   const executor& on) {
  // Words have few instances: as many loads as a tile may have, and two forms.
  constexpr int most = most_loads<T>, least = is_word<T> ? most : most / 4;
  const auto started = [&]<int loads, form how>() {
    return start<warp_kernel<T, indexed, loads, how>, T, indexed>(c, true, p, buffers, on);
  };
  const auto with_loads = [&]<form how>() {
    if (c.how.loads == least) return started.template operator()<least, how>();
    if constexpr (least != most) {
      if (c.how.loads == most / 2) return started.template operator()<most / 2, how>();
    }
    return started.template operator()<most, how>();
  };
  if constexpr (is_word<T>) {
    return c.as == form::brief ? with_loads.template operator()<form::brief>()
                               : with_loads.template operator()<form::filtered_many>();
  } else {
    switch (c.as) {
      case form::resident:
        return started.template operator()<most, form::resident>();
      case form::filtered:  // a row of one tile that is not brief has many survivors
        return started.template operator()<most, form::filtered>();
      case form::filtered_many:
        return with_loads.template operator()<form::filtered_many>();
      default:
        return with_loads.template operator()<form::brief>();
    }
  }
}

template <class T, bool indexed>
status start_blocks(const block_choice& c, const problem& p, const io& buffers,
                    std::span<std::byte>, const executor& on) {
  const auto started = [&]<form how>() {
    using kernel = block_kernel<T, indexed, most_loads<T>, how>;
    return start<kernel, T, indexed>(c, false, p, buffers, on);
  };
  switch (c.as) {
    case form::resident:
      return started.template operator()<form::resident>();
    case form::filtered_many:
      return started.template operator()<form::filtered_many>();
    default:
      return started.template operator()<form::filtered>();
  }
}

template <class T, bool indexed>
call_plan block_plan_of(const block_variant& v, const problem& p, const device& where) {
  const auto c = choose<T, indexed>(v, p, where);
  if (!c) {
    return call_plan::refused("k is too large a part of n for a list in shared memory");
  }
  return v.warp ? call_plan::of<&start_warps<T, indexed>>(p, 0, *c)
                : call_plan::of<&start_blocks<T, indexed>>(p, 0, *c);
}

template <class T>
call_plan block_plan(const block_variant& v, const problem& p, const device& where) {
  if constexpr (is_word<T>) {
    return block_plan_of<T, true>(v, p, where);
  } else {
    return p.has_indices() ? block_plan_of<T, true>(v, p, where)
                           : block_plan_of<T, false>(v, p, where);
  }
}

}  // namespace kselect::bms
