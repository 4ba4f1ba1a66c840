#pragma once
// Buffered multi-select of ragged rows: the shape of a launch and the launch. Definitions for the
// files that instantiate them.

#include <algorithm>
#include <cmath>

#include "algorithms/buffered_multi_select/block/launches.cuh"
#include "algorithms/buffered_multi_select/block/ragged_resident.cuh"

namespace kselect::bms {

// The kernel with one warp a row.
template <class T>
using ragged_warps = ragged_kernel<T, true, most_loads<T>, true>;

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

// `typical`: the length of most rows.
template <class T>
std::optional<ragged_choice> choose_ragged(const block_variant& v, const problem& p,
                                           const device& where, std::int64_t typical) {
  problem longest = p;  // k may exceed n: then every row is copied
  longest.k = std::min(p.k, p.n);
  const bool many = v.warp || is_word<T> || 64 * p.k >= typical;
  ragged_choice c{reading_of<T>(v, longest, where), {}, many};
  c.how.loads = most_loads<T>;  // one instance a form
  if (c.many && !v.warp) c.how.groups = many_groups;
  const std::size_t rows = v.warp ? rows_per_block : 1;
  const std::size_t fixed =
      v.warp ? sizeof(typename ragged_warps<T>::storage)
             : sizeof(typename ragged_kernel<T, false, most_loads<T>, true>::storage);
  const auto shape = ragged_shape<T>(p.n, longest.k, c.how, dynamic_shared(where, fixed) / rows);
  if (!shape) return {};
  c.shape = *shape;
  return c;
}

// Rows that a block holds whole in registers; none if k is too small a part of n, or n too large.
template <class T>
std::optional<ragged_choice> choose_resident(const block_variant& v, const problem& p,
                                             const device& where) {
  if (v.warp || !dense(p) || p.q > simt::block_limit) return {};
  problem longest = p;
  longest.k = std::min(p.k, p.n);
  const reading how = reading_of<T>(v, longest, where);
  const std::size_t most =
      dynamic_shared(where, sizeof(team_storage<key_of<T>>) + sizeof(team_task));
  const auto shape = resident_plan<T, true>(p.n, longest.k, how, most);
  if (!shape) return {};
  return ragged_choice{how, *shape, true};
}

// What all launches of a call share.
template <class T>
ragged_args<T> args_of(const ragged_choice& c, bool warp, const problem& p, const io& buffers) {
  ragged_args<T> a;
  a.matrix = kernels::ragged_rows_of<T>(p, buffers);
  a.out = kernels::answer_in<T>(p, buffers);
  a.shape = c.shape;
  const double passing = warp     ? most_passing_in_warp
                         : c.many ? most_passing_of_many
                                  : most_passing_of_few;
  const bool many_of_block = c.many && !warp;
  a.passing = static_cast<position>(std::lround(100 * passing));
  a.groups = static_cast<position>(many_of_block ? many_groups : few_groups<T>);
  a.slack_part = many_of_block ? 32 : 8;
  const std::int64_t tile = std::int64_t{c.how.threads} * c.how.loads * 16 / sizeof(T);
  a.ranks = ranks_of(p.n, std::min(p.k, p.n), tile);
  return a;
}

template <class T>
status start_ragged_warps(const ragged_choice& c, const problem& p, const io& buffers,
                          std::span<std::byte>, const executor& on) {
  return simt::launch<ragged_warps<T>>(on, launch_of<T, true>(c.how, c.shape, true, p.q),
                                       args_of<T>(c, true, p, buffers));
}

// The kernel with one block a row, share or list of candidates, on `tasks` of them.
template <class T>
status launch_blocks(const ragged_choice& c, std::int64_t tasks, const ragged_args<T>& a,
                     const executor& on) {
  simt::grid shape = launch_of<T, true>(c.how, c.shape, false, tasks);
  shape.overlaps_previous = a.cut.shares != 0;
  constexpr int most = most_loads<T>;
  if constexpr (!is_word<T>) {  // words have one instance, as in launches.cuh
    if (!c.many) return simt::launch<ragged_kernel<T, false, most, false>>(on, shape, a);
  }
  return simt::launch<ragged_kernel<T, false, most, true>>(on, shape, a);
}

template <class T>
status start_resident(const ragged_choice& c, const problem& p, const io& buffers,
                      std::span<std::byte>, const executor& on) {
  simt::grid shape = launch_of<T, true>(c.how, c.shape, false, p.q);
  shape.blocks = p.q;
  return simt::launch<ragged_resident_kernel<T, most_loads<T>>>(on, shape,
                                                                args_of<T>(c, false, p, buffers));
}

template <class T>
status start_ragged_blocks(const ragged_choice& c, const problem& p, const io& buffers,
                           std::span<std::byte>, const executor& on) {
  return launch_blocks<T>(c, p.q, args_of<T>(c, false, p, buffers), on);
}

template <class T>
call_plan ragged_plan(const block_variant& v, const problem& p, const device& where) {
  if (const auto held = choose_resident<T>(v, p, where)) {
    return call_plan::of<&start_resident<T>>(p, 0, *held);
  }
  const auto c = choose_ragged<T>(v, p, where, p.n);
  if (!c) return call_plan::refused("k is too large for a list in shared memory");
  return v.warp ? call_plan::of<&start_ragged_warps<T>>(p, 0, *c)
                : call_plan::of<&start_ragged_blocks<T>>(p, 0, *c);
}

// ---- long rows in pieces (cut_rows.cuh)

struct cut_choice {
  ragged_choice rows, of_shares;
  std::optional<ragged_choice> short_rows;        // that warps take in the first launch
  int short_rows_of_block;                        // there
  int threads;                                    // of the first launch, if there are none
  position shortest_row, shortest_share, shares;  // as piece_lists
  int unit_bits;                                  // as well
  std::int64_t blocks;                            // of the last launch
};

template <class T>
cut_lists<T> carve_cuts(const cut_choice& c, const problem& p, simt::carver& memory) {
  cut_lists<T> lists;
  lists.shares = c.shares;
  lists.unit_bits = c.unit_bits;
  lists.shortest_row = c.shortest_row;
  lists.shortest_share = c.shortest_share;
  const std::int64_t shares = c.shares, pieces = 2 * shares;
  lists.totals = memory.take<cut_totals>(1);
  lists.rows = memory.take<cut_row>(shares);
  lists.whole = memory.take<position>(p.q);
  lists.candidates.values = memory.take<T>(pieces * p.k);
  if (p.has_indices()) lists.candidates.indices_32 = memory.take<std::int32_t>(pieces * p.k);
  return lists;
}

// The first launch: lists the long rows. Beside it warps select from short ones.
template <class T>
status start_listing(const cut_choice& c, const problem& p, const io& buffers,
                     const cut_lists<T>& cut, const executor& on) {
  if (!c.short_rows) {
    return simt::launch<cut_kernel<>>(on, {1, c.threads}, {kernels::places_of(p, buffers), cut});
  }
  const ragged_choice& rows = *c.short_rows;
  auto a = args_of<T>(rows, true, p, buffers);
  a.cut = cut;
  const std::int64_t blocks = (p.q - 1) / c.short_rows_of_block + 1;
  const std::size_t bytes = team_memory<T, true>::bytes(rows.shape) * c.short_rows_of_block;
  return simt::launch<ragged_warps<T>>(
      on, {blocks + 1, c.short_rows_of_block * simt::warp_size, bytes}, a);
}

template <class T>
status start_cut(const cut_choice& c, const problem& p, const io& buffers,
                 std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  const cut_lists<T> cut = carve_cuts<T>(c, p, pieces);
  auto of_shares = args_of<T>(c.of_shares, false, p, buffers);
  of_shares.cut = cut;
  status done = start_listing<T>(c, p, buffers, cut, on);
  if (done.ok()) done = launch_blocks<T>(c.of_shares, c.shares, of_shares, on);
  auto of_rows = args_of<T>(c.rows, false, p, buffers);
  of_rows.cut = cut;
  of_rows.cut.last_launch = true;
  if (done.ok()) done = launch_blocks<T>(c.rows, c.blocks, of_rows, on);
  return done;
}

// How warps take short rows, if rows are so many that short ones would keep blocks busy.
template <class T>
std::optional<ragged_choice> choose_short(const problem& p, const device& where) {
  if (p.q < std::int64_t{4} * where.multiprocessors) return {};
  problem short_rows = p;
  short_rows.n = std::min(p.n, simt::warp_size * held_by_thread<T>);
  return choose_ragged<T>({true, 0}, short_rows, where, short_rows.n);
}

// The number of short rows of a block. It is large, because the block that lists the long rows has
// as many warps.
template <class T>
int rows_of_block(const plan& shape, const device& where) {
  const int most = simt::block_threads(where, ragged_warps<T>::max_threads) / simt::warp_size;
  const std::size_t memory = dynamic_shared(where, sizeof(typename ragged_warps<T>::storage));
  return std::min(most, static_cast<int>(memory / team_memory<T, true>::bytes(shape)));
}

// Shares of a length that pays: the least, and two for each multiprocessor. If rows are few, a
// share has 512 threads, so a multiprocessor holds two. Each piece more costs k candidates and the
// time of a selection.
template <class T>
std::optional<cut_choice> choose_cut(const problem& p, const device& where) {
  const double longest = static_cast<double>(p.n);
  const std::int64_t balanced = std::llround(std::sqrt(longest * static_cast<double>(p.k)));
  const std::int64_t shortest = std::max({16 * p.k, simt::long_row(where), balanced});
  const auto chosen = [&](std::int64_t rows) {
    problem many = p;
    many.q = std::max(p.q, rows);
    return choose_ragged<T>({false, 0}, many, where, std::min(p.n, shortest));
  };
  const std::int64_t wanted = std::int64_t{2} * where.multiprocessors;
  const auto rows = chosen(wanted), of_shares = chosen(wanted / 2 + 1);
  if (!rows || !of_shares) return {};
  cut_choice c{};
  c.rows = *rows;
  c.of_shares = *of_shares;
  if (shortest >= p.n) return c;  // no row is long enough
  c.short_rows = choose_short<T>(p, where);
  if (c.short_rows) {
    c.shortest_row = simt::warp_size * held_by_thread<T> + 1;
    c.short_rows_of_block = rows_of_block<T>(c.short_rows->shape, where);
  }
  c.unit_bits = unit_bits_for(p.q, p.n);
  c.shortest_share = static_cast<position>(units_of(shortest, c.unit_bits));
  const std::int64_t units = p.q * units_of(p.n, c.unit_bits);
  c.shares = static_cast<position>(std::min(wanted, units / c.shortest_share + 1));
  c.blocks = std::min(p.q, 4 * filling(rows->how.threads, where));
  c.threads = simt::block_threads(where, cut_kernel<>::max_threads);
  return c;
}

template <class T>
call_plan cut_plan(const problem& p, const device& where) {
  if (p.q > 65536) return call_plan::refused("Q > 65536: one block reads the lengths of the rows");
  const auto c = choose_cut<T>(p, where);
  if (!c) return call_plan::refused("k is too large for a list in shared memory");
  if (c->shares == 0) return call_plan::of<&start_ragged_blocks<T>>(p, 0, c->rows);
  simt::carver sizes(nullptr);
  static_cast<void>(carve_cuts<T>(*c, p, sizes));
  return call_plan::of<&start_cut<T>>(p, sizes.used(), *c);
}

}  // namespace kselect::bms
