// Buffered multi-select, several blocks a row (bms-grid): buffered_multi_select_block.cu has the
// essay, buffered_multi_select/grid.cuh what is different here. For rows so few that a block each
// would leave most of the card idle.

#include "algorithms/buffered_multi_select/grid.cuh"
#include "algorithms/buffered_multi_select/shape.hpp"

namespace kselect::bms {
namespace {

// One of the registered forms; 0 where the device decides.
struct variant {
  int threads;
};

struct choice {
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

reading reading_of(const variant& v, const problem& p, const device& where) {
  if (where.kind != executor_kind::cuda) return {v.threads == 0 ? 64 : v.threads, 4};
  if (v.threads != 0) return {v.threads, 8};
  return {p.n < 1 << 20 ? 256 : 512, 8};
}

// Blocks that fill the device: 1024 threads a multiprocessor hide each other's latencies.
std::int64_t filling(const reading& how, const device& where) {
  if (where.kind != executor_kind::cuda) return 6;
  return std::int64_t{where.multiprocessors} * 1024 / how.threads;
}

template <class T, bool indexed>
std::optional<choice> choose(const variant& v, const problem& p, const device& where) {
  constexpr int width = 16 / sizeof(T);
  choice c{reading_of(v, p, where), {}, {}, 0};
  const std::int64_t tile = std::int64_t{c.how.threads} * c.how.loads * width;
  c.shared.parts = static_cast<position>(
      std::clamp<std::int64_t>(filling(c.how, where) / p.q, 1, (p.n + tile - 1) / tile));
  const std::size_t most =
      std::min<std::size_t>(where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes, 96 << 10);
  // As few minima as hold enough back; if none do, as many as there may be.
  std::optional<choice> best;
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
position gatherers_of(const choice& c) {
  position each = most_gatherers;
  while (each > 1 && each * c.shared.parts > static_cast<position>(c.how.threads)) each /= 2;
  return each;
}

template <class T, bool indexed>
grid_args<T, indexed> carve(const problem& p, const choice& c, simt::carver& memory) {
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
  a.memory.minima = memory.take<order_key_t<T>>(p.q * a.row_minima);
  a.memory.survivors = memory.take<typename candidate_of<T, indexed>::type>(
      p.q * a.parts * std::int64_t{a.shape.capacity});
  a.memory.sizes = memory.take<position>(p.q * a.parts);
  a.memory.finished = memory.take<position>(p.q);
  return a;
}

template <class F>
decltype(auto) visit_types(const problem& p, F&& f) {
  return baselines::visit_list_answer(p, [&]<class T, baselines::answer what>() {
    return f.template operator()<T, what == baselines::answer::pairs>();
  });
}

template <variant v>
support supports(const problem& p, const device& where) {
  const bool possible = visit_types(
      p, [&]<class T, bool indexed>() { return choose<T, indexed>(v, p, where).has_value(); });
  if (!possible) return unsupported("k is too large a part of n for a list in shared memory");
  if (p.q > (simt::block_limit >> 12))
    return unsupported("Q is too large for several blocks a row");
  return supported();
}

template <variant v>
std::size_t workspace(const problem& p, const device& where) {
  simt::carver sizes(nullptr);
  visit_types(p, [&]<class T, bool indexed>() {
    if (const auto c = choose<T, indexed>(v, p, where)) carve<T, indexed>(p, *c, sizes);
  });
  return sizes.used();
}

template <class T, bool indexed, int loads>
status start(const choice& c, const grid_args<T, indexed>& a, const executor& on) {
  simt::grid shape{a.matrix.rows * a.parts, c.how.threads};
  const status sampled = simt::launch<sample_kernel<T, indexed, loads>>(on, shape, a);
  if (!sampled.ok()) return sampled;
  shape.dynamic_shared_bytes = team_memory<T, indexed>::bytes(a.shape);
  shape.overlaps_previous = true;
  return simt::launch<stream_kernel<T, indexed, loads>>(on, shape, a);
}

template <variant v>
status enqueue(const problem& p, const io& buffers, std::span<std::byte> memory,
               const executor& on) {
  return visit_types(p, [&]<class T, bool indexed>() -> status {
    const auto c = choose<T, indexed>(v, p, *on.device);
    if (!c) return {status_code::unsupported, "k is too large a part of n"};
    simt::carver pieces(memory.data());
    auto a = carve<T, indexed>(p, *c, pieces);
    a.matrix = baselines::rows_of<T>(p, buffers);
    a.out = baselines::answer_in<T>(p, buffers);
    if (c->how.loads == 4) return start<T, indexed, 4>(*c, a, on);
    return start<T, indexed, 8>(*c, a, on);
  });
}

template <variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = baselines::gpu_entry(name, "buffered multi-select",
                                     "kselect, after Tang et al. 2015 and Komarov et al. 2014");
  a.supports = &supports<v>;
  a.workspace = &workspace<v>;
  a.enqueue = &enqueue<v>;
  return a;
}

constexpr std::array variants = {
    entry<variant{0}>("bms-grid"),
    entry<variant{256}>("bms-grid+t256"),
    entry<variant{512}>("bms-grid+t512"),
};

}  // namespace
}  // namespace kselect::bms

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_grid() { return bms::variants; }

}  // namespace kselect::entries
