#pragma once
// Buffered multi-select, several blocks a row: shapes and launches. Definitions for the files that
// instantiate them.

#include "algorithms/buffered_multi_select/grid/kernel.cuh"
#include "algorithms/buffered_multi_select/grid/own.cuh"
#include "algorithms/buffered_multi_select/in_order.hpp"
#include "algorithms/buffered_multi_select/launches.hpp"
#include "algorithms/buffered_multi_select/shape.hpp"

namespace kselect::bms {

struct grid_choice {
  reading how;
  sharing shared;
  plan shape;
  position row_minima;
  position survivors;  // expected of a row
  bool in_order;       // answers are put in order
};

// Room for an answer that is put in order.
inline position listed(const grid_choice& c, std::int64_t k) {
  return c.in_order ? room_in_order(static_cast<position>(k)) : 0;
}

// The most minima of a row; each block reads all of them.
inline constexpr position most_minima = 4096;
// The share s of the minima that may lie below the threshold. Minima of uniform rows lie there as
// often as if each group's count of passing elements were Poisson distributed, so -ln(1 - s) / s
// elements pass for each that has to: 1.33 at 0.45, 1.19 at 0.3. A smaller share needs more minima
// for the same k, and each block reads and counts all of them.
inline constexpr double passing = 0.45;

// How often a block looks for a missing minimum: for some 50 us. Blocks that run side by side see
// all minima within a few looks. If other work holds the device and they cannot, they go on with
// the minima that have arrived.
inline constexpr position most_looks = 64;

template <class T>
std::int64_t tile_of(const reading& how) {
  return std::int64_t{how.threads} * how.loads * (16 / sizeof(T));
}

template <class T>
reading grid_reading(const grid_variant& v, const problem& p, const device& where) {
  constexpr int most = most_loads<T>;
  if (v.threads != 0) return {v.threads, most};
  return {simt::block_threads(where, p.n < 1 << 20 ? 256 : 512), most};
}

template <class T, bool indexed>
std::optional<grid_choice> choose(const grid_variant& v, const problem& p, const device& where,
                                  bool in_order) {
  grid_choice c{};
  c.in_order = in_order;
  c.how = grid_reading<T>(v, p, where);
  const std::int64_t tile = tile_of<T>(c.how);
  c.shared.parts = static_cast<position>(
      std::clamp<std::int64_t>(filling(c.how.threads, where) / p.q, 1, (p.n + tile - 1) / tile));
  using meeting = typename grid_kernel<T, indexed, most_loads<T>>::storage;
  const std::size_t most = dynamic_shared(where, std::max(sizeof(meeting), sizeof(own_storage<T>)));
  // The fewest minima that hold enough back; if none do, the most that are allowed.
  std::optional<grid_choice> best;
  for (c.shared.lanes = static_cast<position>(c.how.threads); c.shared.lanes > 0;
       c.shared.lanes /= 2) {
    const auto shape = filtering_plan<T, indexed>(p.n, p.k, c.how, most, c.shared);
    if (!shape) continue;
    c.shape = *shape;
    c.survivors = shape->survivors;
    const position threads = c.shared.parts * static_cast<position>(c.how.threads);
    c.row_minima = threads / c.shared.lanes * shape->groups;
    c.shape.capacity = std::max(c.shape.capacity, c.row_minima);  // searched where the list will be
    if (c.row_minima > most_minima) break;
    using shared = typename grid_args<T, indexed>::shared;
    if (shared::bytes(c.shape, c.shared.parts, listed(c, p.k)) > most) break;
    best = c;
    if (c.shape.rank + c.shape.slack <= passing * c.row_minima) break;
  }
  return best;
}

// The choice if each part has its own threshold.
struct own_choice {
  position rank;    // of the threshold among the part's minima
  position slots;   // for its survivors
  position enough;  // survivors to post, if there are more than slots
};

// The most survivors that a part nearly always has, if its threshold is the rank-th smallest of its
// minima and rows are in random order: the mean plus four standard deviations. The first tile's
// mean is that of a coupon collector who needs an element from each of `rank` groups. Other tiles
// have the same mean, but vary twice: by chance, and with the threshold.
inline double most_posted(position rank, position tiles) {
  constexpr int groups = own_minima;
  constexpr double deviations = 4;
  double in_tile = 0;
  for (position r = 0; r < rank; ++r) in_tile += static_cast<double>(groups) / (groups - r);
  const double in_others = in_tile * (tiles - 1);
  const double varies = 1.4 * (in_tile - rank) + in_others + in_others * in_others / rank;
  return in_tile + in_others + deviations * std::sqrt(varies) + 1;
}

// The most of a sorted row's k smallest elements that one part has.
template <class T>
position share_of_sorted(const problem& p, const grid_choice& c) {
  const auto k = static_cast<position>(std::min<std::int64_t>(p.k, 1 << 24));
  if (c.shape.tiles > 1) return k;  // segments are not split into chunks
  constexpr position chunk = 64 / sizeof(T);
  const position chunks = (k + chunk - 1) / chunk;
  return std::min(k, (chunks + c.shared.parts - 1) / c.shared.parts * chunk);
}

// A threshold for each part, if the last block's registers can hold all survivors that parts post.
// More elements pass than with one threshold for the row, but no block waits for the others. For
// one row or a few with n = 2^17 to 2^20 this takes a sixth to a third less time.
template <class T>
std::optional<own_choice> own_thresholds(const problem& p, const grid_choice& c) {
  constexpr int groups = own_minima;
  constexpr double risk = 4e-3;      // that the row's last block reads parts again, alone
  constexpr position few_tiles = 4;  // longer parts wait for others a small share of their time
  const auto threads = static_cast<position>(c.how.threads);
  if (c.shared.parts > threads || c.shape.tiles > few_tiles) return {};
  const position room = std::min(entries_awaited<T> * threads / c.shared.parts, c.shape.capacity);
  const double of_part = static_cast<double>(p.k) / c.shared.parts;
  const double each = risk / c.shared.parts;
  own_choice own{safe_rank_of_groups(groups, of_part / c.shape.tiles / groups, each), 0, 0};
  if (own.rank == 0) return {};
  // If there is room, the threshold of a sorted row, too, admits the part's share, the row's ends
  // and one more. In a sorted row successive group minima are one load apart.
  constexpr position width = 16 / sizeof(T);
  const position of_sorted = share_of_sorted<T>(p, c) + 2 * (width - 1) + 1;
  const position to_sorted = of_sorted / width + 2;
  if (own.rank < to_sorted && to_sorted <= position{groups} &&
      most_posted(to_sorted, c.shape.tiles) <= room) {
    own.rank = to_sorted;
  }
  // A part posts all its survivors, or the best: its share of the k smallest is enough.
  const double posted = most_posted(own.rank, c.shape.tiles);
  const position share = safe_rank(of_part, static_cast<position>(p.k), {each, 5});
  if (share > room || posted > c.shape.capacity) return {};
  const position wanted = std::max(share, of_sorted);
  const double most = std::min(std::max(posted, wanted * 1.125), 1e6);
  own.slots = std::min((static_cast<position>(most) + 7) / 8 * 8, room);
  own.enough = wanted <= own.slots ? wanted : std::max(share, own.slots - own.slots / 4);
  return own;
}

// Slots for a part's survivors: too few once in some hundreds of parts. The number of survivors
// varies by chance, and with the threshold, whose relative deviation is 1 / sqrt(rank).
inline position slots_of(const grid_choice& c) {
  constexpr double deviations = 3;
  const double expected = static_cast<double>(c.survivors) / c.shared.parts;
  const double nearly_all =
      expected + 2 + deviations * (expected / std::sqrt(c.shape.rank) + std::sqrt(expected));
  return std::min((static_cast<position>(nearly_all) + 7) / 8 * 8, c.shape.capacity);
}

template <class T, bool indexed>
grid_args<T, indexed> carve(const problem& p, const grid_choice& c, simt::carver& memory) {
  grid_args<T, indexed> a{};
  a.shape = c.shape;
  a.in_order = c.in_order;
  a.alone = c.shape;
  a.alone.tiles = static_cast<position>((p.n + tile_of<T>(c.how) - 1) / tile_of<T>(c.how));
  a.parts = c.shared.parts;
  a.lanes = c.shared.lanes;
  a.messages = c.row_minima / a.parts / minima_each<T>(a.shape);
  a.slots = slots_of(c);
  a.tags = memory.take<std::uint64_t>(p.q);
  a.memory.minima = memory.take<simt::message>(p.q * a.parts * std::int64_t{a.messages});
  a.memory.entries =
      memory.take<simt::message>(p.q * a.parts * std::int64_t{a.slots} * entry_words<T>);
  a.memory.overflow = memory.take<typename candidate_of<T, indexed>::type>(
      p.q * a.parts * std::int64_t{a.shape.capacity});
  return a;
}

template <class T, bool indexed>
own_args<T, indexed> carve(const problem& p, const grid_choice& c, const own_choice& own,
                           simt::carver& memory) {
  own_args<T, indexed> a{};
  a.shape = c.shape;
  a.in_order = c.in_order;
  a.shape.groups = 1;
  a.shape.rank = own.rank;
  a.parts = c.shared.parts;
  a.slots = own.slots;
  a.enough = own.enough;
  const std::int64_t heads = p.q * a.parts * entry_words<T>;
  a.tags = memory.take<std::uint64_t>(p.q);
  a.heads = memory.take<simt::message>(heads);
  a.entries = memory.take<simt::message>(heads * a.slots);
  return a;
}

// What is of one call alone.
template <class T, class Args>
void attach(Args& a, const problem& p, const io& buffers) {
  a.matrix = kernels::rows_of<T>(p, buffers);
  a.out = kernels::answer_in<T>(p, buffers);
  a.call = new_call();
}

template <template <class, bool, int> class Kernel, class T, bool indexed, class Args>
status start(const grid_choice& c, const Args& a, const executor& on) {
  const std::size_t bytes = Args::shared::bytes(a.shape, a.parts, listed(c, a.matrix.k));
  const simt::grid shape{.blocks = a.matrix.rows * a.parts,
                         .threads = c.how.threads,
                         .dynamic_shared_bytes = bytes,
                         .awaits_earlier_blocks = true};
  return simt::launch<Kernel<T, indexed, most_loads<T>>>(on, shape, a);
}

// All blocks of a row meet, and its threshold is that of all parts' minima.
template <class T, bool indexed>
status start_meeting(const grid_choice& c, const problem& p, const io& buffers,
                     std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  auto a = carve<T, indexed>(p, c, pieces);
  attach<T>(a, p, buffers);
  a.patience = most_looks;
  return start<grid_kernel, T, indexed>(c, a, on);
}

struct own_grid_choice {
  grid_choice grid;
  own_choice own;
};

// Each part has its own threshold.
template <class T, bool indexed>
status start_own(const own_grid_choice& c, const problem& p, const io& buffers,
                 std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  auto a = carve<T, indexed>(p, c.grid, c.own, pieces);
  attach<T>(a, p, buffers);
  return a.shape.tiles == 1 ? start<own_kernel_of_tile, T, indexed>(c.grid, a, on)
                            : start<own_kernel_of_tiles, T, indexed>(c.grid, a, on);
}

template <class T, bool indexed>
call_plan grid_plan_of(const grid_variant& v, const problem& p, const device& where,
                       bool in_order) {
  const auto c = choose<T, indexed>(v, p, where, in_order);
  if (!c) return call_plan::refused("k is too large a part of n for a list in shared memory");
  simt::carver sizes(nullptr);
  if (const auto own = own_thresholds<T>(p, *c)) {
    carve<T, indexed>(p, *c, *own, sizes);
    return call_plan::of<&start_own<T, indexed>>(p, sizes.used(), own_grid_choice{*c, *own});
  }
  carve<T, indexed>(p, *c, sizes);
  return call_plan::of<&start_meeting<T, indexed>>(p, sizes.used(), *c);
}

template <class T>
call_plan plan_of_rows(const grid_variant& v, const problem& p, const device& where,
                       bool in_order) {
  if (p.q > (simt::block_limit >> 12)) {
    return call_plan::refused("Q is too large for several blocks a row");
  }
  if constexpr (is_word<T>) {
    return grid_plan_of<T, true>(v, p, where, in_order);
  } else {
    return p.has_indices() ? grid_plan_of<T, true>(v, p, where, in_order)
                           : grid_plan_of<T, false>(v, p, where, in_order);
  }
}

template <class T>
call_plan grid_plan(const grid_variant& v, const problem& p, const device& where) {
  return plan_of_rows<T>(v, p, where, false);
}

template <class T>
call_plan grid_plan_in_order(const grid_variant& v, const problem& p, const device& where) {
  if (p.k > most_in_order) return call_plan::refused("k is too large to rank answers");
  return plan_of_rows<T>(v, p, where, true);
}

}  // namespace kselect::bms
