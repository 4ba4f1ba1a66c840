#pragma once
// Buffered multi-select of ragged rows: the shape of a launch and the launch. Definitions for the
// files that instantiate them.

#include <algorithm>
#include <cmath>

#include "algorithms/buffered_multi_select/block/launches.cuh"
#include "algorithms/buffered_multi_select/block/ragged_kernel.cuh"

namespace kselect::bms {

struct ragged_choice {
  reading how;
  plan shape;
  bool many;
};

// The ranks of all steps that rows of up to n elements have; a step that they do not have has none.
inline rank_steps ranks_of(std::int64_t n, std::int64_t k, std::int64_t tile) {
  rank_steps steps{};
  const std::int64_t most_tiles = (n + tile - 1) / tile;
  const auto wanted = static_cast<position>(k);
  for (int s = 0; s < rank_steps::count; ++s) {
    const std::int64_t tiles = tiles_from(s);
    if (tiles > most_tiles && s != 0) break;
    const position rank = tiles == 1
                              ? wanted
                              : safe_rank(static_cast<double>(k) / static_cast<double>(tiles),
                                          wanted, of_one_among_many);
    // No tile has as many minima, so a greater rank admits every element, too.
    steps.rank[s] = static_cast<std::uint16_t>(std::min<position>(rank, 0xffff));
  }
  return steps;
}

// A list that holds what a row of any length up to n admits, or is cut to hold it.
template <class T>
std::optional<plan> ragged_shape(std::int64_t n, std::int64_t k, const reading& how,
                                 std::size_t most) {
  if (const auto filtered = filtering_plan<T, true>(n, k, how, most)) return *filtered;
  const auto wanted = static_cast<double>(k);
  plan p{};
  const double kept = wanted + std::floor(wanted / 8) + 1;
  const double room = kept + std::max(spare_places, wanted / 2);
  if (room > largest_position) return {};
  p.kept_most = static_cast<position>(kept);
  p.capacity = static_cast<position>(room) / 32 * 32 + 32;
  const bool one_warp = how.threads == simt::warp_size;
  if (!one_warp) p.capacity = std::max(p.capacity, static_cast<position>(4 * how.threads));
  p.bin_bits = one_warp ? 0 : bin_bits_for(how.threads);
  if (team_memory<T, true>::bytes(p, how.threads) > most) return {};
  return p;
}

template <class T>
std::optional<ragged_choice> choose_ragged(const block_variant& v, const problem& p,
                                           const device& where) {
  problem longest = p;  // k may exceed n: then every row is copied
  longest.k = std::min(p.k, p.n);
  ragged_choice c{reading_of<T>(v, longest, where), {}, v.warp || 64 * p.k >= p.n};
  // One instance a form: the most loads, but on fibers half as many in a block (reading_of).
  if (v.warp) c.how.loads = most_loads<T>;
  if (c.many && !v.warp) c.how.groups = many_groups;
  const std::size_t rows = v.warp ? rows_per_block : 1;
  const std::size_t fixed = rows * (sizeof(team_storage<key_of<T>>) + sizeof(plan));
  const auto shape = ragged_shape<T>(p.n, longest.k, c.how, dynamic_shared(where, fixed) / rows);
  if (!shape) return {};
  c.shape = *shape;
  return c;
}

template <class Kernel, class T, simt::launched_on where = simt::launched_on::both>
status start_ragged(const ragged_choice& c, bool warp, const problem& p, const io& buffers,
                    const executor& on) {
  ragged_args<T> a;
  a.matrix = kernels::ragged_rows_of<T>(p, buffers);
  a.out = kernels::answer_in<T>(p, buffers);
  a.shape = c.shape;
  const double passing = warp     ? most_passing_in_warp
                         : c.many ? most_passing_of_many
                                  : most_passing_of_few;
  a.passing = static_cast<position>(std::lround(100 * passing));
  const bool many_of_block = c.many && !warp;
  a.groups = static_cast<position>(many_of_block ? many_groups : few_groups<T>);
  a.slack_part = many_of_block ? 32 : 8;
  const std::int64_t tile = std::int64_t{c.how.threads} * c.how.loads * 16 / sizeof(T);
  a.ranks = ranks_of(p.n, std::min(p.k, p.n), tile);
  return simt::launch<Kernel, where>(on, launch_of<T, true>(c.how, c.shape, warp, p.q), a);
}

template <class T>
status start_ragged_warps(const ragged_choice& c, const problem& p, const io& buffers,
                          std::span<std::byte>, const executor& on) {
  return start_ragged<ragged_kernel<T, true, most_loads<T>, true>, T>(c, true, p, buffers, on);
}

template <class T>
status start_ragged_blocks(const ragged_choice& c, const problem& p, const io& buffers,
                           std::span<std::byte>, const executor& on) {
  constexpr int most = most_loads<T>;
  using simt::launched_on;
  const auto started = [&]<int loads, bool many, launched_on where>() {
    return start_ragged<ragged_kernel<T, false, loads, many>, T, where>(c, false, p, buffers, on);
  };
  if (c.how.loads == most / 2) {  // reading_of() chooses this on fibers only
    return c.many ? started.template operator()<most / 2, true, launched_on::fiber>()
                  : started.template operator()<most / 2, false, launched_on::fiber>();
  }
  return c.many ? started.template operator()<most, true, launched_on::cuda>()
                : started.template operator()<most, false, launched_on::cuda>();
}

template <class T>
call_plan ragged_plan(const block_variant& v, const problem& p, const device& where) {
  const auto c = choose_ragged<T>(v, p, where);
  if (!c) return call_plan::refused("k is too large for a list in shared memory");
  return v.warp ? call_plan::of<&start_ragged_warps<T>>(p, 0, *c)
                : call_plan::of<&start_ragged_blocks<T>>(p, 0, *c);
}

}  // namespace kselect::bms
