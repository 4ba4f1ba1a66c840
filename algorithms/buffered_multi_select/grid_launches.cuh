#pragma once
// Buffered multi-select, several blocks a row: shapes and launches. Definitions for the files that
// instantiate them.

#include "algorithms/buffered_multi_select/grid.cuh"
#include "algorithms/buffered_multi_select/launches.hpp"
#include "algorithms/buffered_multi_select/shape.hpp"

namespace kselect::bms {

struct grid_choice {
  reading how;
  sharing shared;
  plan shape;
  position row_minima;
  position survivors;  // that are expected of a row
};

// Published minima that each block reads again, at most.
inline constexpr position most_minima = 4096;
// The share of the minima that may lie below the threshold. With more minima fewer elements pass
// (at this share 1.3 for each that has to), but each block reads and counts all of them.
inline constexpr double passing = 0.45;

// Looks of a block for a minimum that is not there: some 50 us. Blocks that run side by side see
// all within a few; blocks that cannot, as others hold the device, go on with those there are.
inline constexpr position most_looks = 64;

// Blocks that fill the device: 1024 threads a multiprocessor hide each other's latencies.
inline std::int64_t filling(int threads, const device& where) {
  if (where.kind != executor_kind::cuda) return 6;
  return std::int64_t{where.multiprocessors} * 1024 / threads;
}

template <class T>
std::int64_t tile_of(const reading& how) {
  return std::int64_t{how.threads} * how.loads * (16 / sizeof(T));
}

template <class T>
reading grid_reading(const grid_variant& v, const problem& p, const device& where) {
  constexpr int most = most_loads<T>;
  if (where.kind != executor_kind::cuda) return {v.threads == 0 ? 64 : v.threads, most / 2};
  if (v.threads != 0) return {v.threads, most};
  return {p.n < 1 << 20 ? 256 : 512, most};
}

template <class T, bool indexed>
std::optional<grid_choice> choose(const grid_variant& v, const problem& p, const device& where) {
  grid_choice c{grid_reading<T>(v, p, where), {}, {}, 0, 0};
  const std::int64_t tile = tile_of<T>(c.how);
  c.shared.parts = static_cast<position>(
      std::clamp<std::int64_t>(filling(c.how.threads, where) / p.q, 1, (p.n + tile - 1) / tile));
  const std::size_t most =
      std::min<std::size_t>(where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes, 96 << 10);
  // As few minima as hold enough back; if none do, as many as there may be.
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
    if (grid_shared_bytes<T, indexed>(c.shape, c.shared.parts) > most) break;
    best = c;
    if (c.shape.rank + c.shape.slack <= passing * c.row_minima) break;
  }
  return best;
}

// Slots for a part's survivors: as many as it has but once in some hundreds. Their number varies
// with the threshold, which has the spread of a minimum of that rank, and by chance.
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
  a.alone = c.shape;
  a.alone.tiles = static_cast<position>((p.n + tile_of<T>(c.how) - 1) / tile_of<T>(c.how));
  a.parts = c.shared.parts;
  a.lanes = c.shared.lanes;
  a.messages = c.row_minima / a.parts / minima_each<T>(a.shape);
  a.slots = slots_of(c);
  a.memory.minima = memory.take<simt::message>(p.q * a.parts * std::int64_t{a.messages});
  a.memory.entries =
      memory.take<simt::message>(p.q * a.parts * std::int64_t{a.slots} * entry_words<T>);
  a.memory.overflow = memory.take<typename candidate_of<T, indexed>::type>(
      p.q * a.parts * std::int64_t{a.shape.capacity});
  return a;
}

template <class T, bool indexed, int loads>
status start(const grid_choice& c, const grid_args<T, indexed>& a, const executor& on) {
  const simt::grid shape{.blocks = a.matrix.rows * a.parts,
                         .threads = c.how.threads,
                         .dynamic_shared_bytes = grid_shared_bytes<T, indexed>(a.shape, a.parts),
                         .awaits_earlier_blocks = true};
  return simt::launch<grid_kernel<T, indexed, loads>>(on, shape, a);
}

// Calls f.template operator()<indexed>().
template <class F>
decltype(auto) with_or_without_indices(const problem& p, F&& f) {
  return p.has_indices() ? f.template operator()<true>() : f.template operator()<false>();
}

template <class T>
support grid_supports(const grid_variant& v, const problem& p, const device& where) {
  const bool possible = with_or_without_indices(
      p, [&]<bool indexed>() { return choose<T, indexed>(v, p, where).has_value(); });
  if (!possible) return unsupported("k is too large a part of n for a list in shared memory");
  if (p.q > (simt::block_limit >> 12))
    return unsupported("Q is too large for several blocks a row");
  return supported();
}

template <class T>
std::size_t grid_workspace(const grid_variant& v, const problem& p, const device& where) {
  simt::carver sizes(nullptr);
  with_or_without_indices(p, [&]<bool indexed>() {
    if (const auto c = choose<T, indexed>(v, p, where)) carve<T, indexed>(p, *c, sizes);
  });
  return sizes.used();
}

template <class T>
status grid_enqueue(const grid_variant& v, const problem& p, const io& buffers,
                    std::span<std::byte> memory, const executor& on) {
  return with_or_without_indices(p, [&]<bool indexed>() -> status {
    const auto c = choose<T, indexed>(v, p, *on.device);
    if (!c) return {status_code::unsupported, "k is too large a part of n"};
    simt::carver pieces(memory.data());
    auto a = carve<T, indexed>(p, *c, pieces);
    a.matrix = baselines::rows_of<T>(p, buffers);
    a.out = baselines::answer_in<T>(p, buffers);
    a.tag = new_tag();
    // On fibers blocks take turns, and what is not there does not come.
    a.patience = on.device->kind == executor_kind::cuda ? most_looks : 1;
    constexpr int most = most_loads<T>;
    if (c->how.loads == most / 2) return start<T, indexed, most / 2>(*c, a, on);  // fibers
    return start<T, indexed, most>(*c, a, on);
  });
}

}  // namespace kselect::bms
