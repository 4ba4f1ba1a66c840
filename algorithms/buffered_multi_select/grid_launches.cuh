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
};

// Published minima that each block reads again, at most.
inline constexpr position most_minima = 4096;
// The share of the minima that may lie below the threshold. With more minima fewer elements pass
// (at this share 1.3 for each that has to), but each block reads and counts all of them.
inline constexpr double passing = 0.4;

// Threads that gather from one part: with what they read ahead enough for nearly all parts.
inline constexpr position most_gatherers = 16;

template <class T>
reading grid_reading(const grid_variant& v, const problem& p, const device& where) {
  constexpr int most = most_loads<T>;
  if (where.kind != executor_kind::cuda) return {v.threads == 0 ? 64 : v.threads, most / 2};
  if (v.threads != 0) return {v.threads, most};
  return {p.n < 1 << 20 ? 256 : 512, most};
}

// Blocks that fill the device: 1024 threads a multiprocessor hide each other's latencies.
inline std::int64_t filling(const reading& how, const device& where) {
  if (where.kind != executor_kind::cuda) return 6;
  return std::int64_t{where.multiprocessors} * 1024 / how.threads;
}

template <class T, bool indexed>
std::optional<grid_choice> choose(const grid_variant& v, const problem& p, const device& where) {
  constexpr int width = 16 / sizeof(T);
  grid_choice c{grid_reading<T>(v, p, where), {}, {}, 0};
  const std::int64_t tile = std::int64_t{c.how.threads} * c.how.loads * width;
  c.shared.parts = static_cast<position>(
      std::clamp<std::int64_t>(filling(c.how, where) / p.q, 1, (p.n + tile - 1) / tile));
  const std::size_t most =
      std::min<std::size_t>(where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes, 96 << 10);
  // As few minima as hold enough back; if none do, as many as there may be.
  std::optional<grid_choice> best;
  for (c.shared.lanes = static_cast<position>(c.how.threads); c.shared.lanes > 0;
       c.shared.lanes /= 2) {
    const auto shape = filtering_plan<T, indexed>(p.n, p.k, c.how, most, c.shared);
    if (!shape) continue;
    c.shape = *shape;
    const position threads = c.shared.parts * static_cast<position>(c.how.threads);
    c.row_minima = threads / c.shared.lanes * shape->groups;
    // The minima are searched where the list will be, and gathering reads ahead.
    constexpr position ahead = most_gatherers * gathered_ahead;
    c.shape.capacity = std::max({c.shape.capacity, c.row_minima, ahead});
    if (c.row_minima > most_minima || team_memory<T, indexed>::bytes(c.shape) > most) break;
    best = c;
    if (c.shape.rank + c.shape.slack <= passing * c.row_minima) break;
  }
  return best;
}

// As many threads for each part as there are.
inline position gatherers_of(const grid_choice& c) {
  position each = most_gatherers;
  while (each > 1 && each * c.shared.parts > static_cast<position>(c.how.threads)) each /= 2;
  return each;
}

template <class T, bool indexed>
grid_args<T, indexed> carve(const problem& p, const grid_choice& c, simt::carver& memory) {
  grid_args<T, indexed> a{};
  a.shape = c.shape;
  a.alone = c.shape;
  constexpr int width = 16 / sizeof(T);
  const std::int64_t tile = std::int64_t{c.how.threads} * c.how.loads * width;
  a.alone.tiles = static_cast<position>((p.n + tile - 1) / tile);
  a.parts = c.shared.parts;
  a.lanes = c.shared.lanes;
  a.row_minima = c.row_minima;
  a.gatherers = gatherers_of(c);
  a.memory.minima = memory.take<key_of<T>>(p.q * a.row_minima);
  a.memory.survivors = memory.take<typename candidate_of<T, indexed>::type>(
      p.q * a.parts * std::int64_t{a.shape.capacity});
  a.memory.sizes = memory.take<position>(p.q * a.parts);
  a.memory.finished = memory.take<position>(p.q);
  return a;
}

template <class T, bool indexed, int loads>
status start(const grid_choice& c, const grid_args<T, indexed>& a, const executor& on) {
  simt::grid shape{a.matrix.rows * a.parts, c.how.threads};
  const status sampled = simt::launch<sample_kernel<T, indexed, loads>>(on, shape, a);
  if (!sampled.ok()) return sampled;
  shape.dynamic_shared_bytes = team_memory<T, indexed>::bytes(a.shape);
  shape.overlaps_previous = true;
  return simt::launch<stream_kernel<T, indexed, loads>>(on, shape, a);
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
    constexpr int most = most_loads<T>;
    if (c->how.loads == most / 2) return start<T, indexed, most / 2>(*c, a, on);  // fibers
    return start<T, indexed, most>(*c, a, on);
  });
}

}  // namespace kselect::bms
