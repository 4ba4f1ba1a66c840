// Buffered multi-select, several blocks a row (bms-grid): buffered_multi_select_block.cu has the
// essay, buffered_multi_select/grid.cuh what is different here. For rows so few that a block each
// would leave most of the card idle.

#include "algorithms/buffered_multi_select/grid.cuh"
#include "algorithms/buffered_multi_select/shape.hpp"

namespace kselect::bms {
namespace {

struct choice {
  reading how;
  sharing shared;
  plan shape;
};

// Published minima that each block reads again: as few as hold enough back.
inline constexpr position most_minima = 4096;

reading reading_of(const device& where) {
  if (where.kind != executor_kind::cuda) return {64, 4};  // fibers are dear
  return {256, 4};
}

template <class T, bool indexed>
std::optional<choice> choose(const problem& p, const device& where) {
  constexpr int width = 16 / sizeof(T);
  choice c{reading_of(where), {}, {}};
  const std::int64_t tile = std::int64_t{c.how.threads} * c.how.loads * width;
  const std::int64_t filling = where.kind == executor_kind::cuda ? 4 * where.multiprocessors : 6;
  c.shared.parts =
      static_cast<position>(std::clamp<std::int64_t>(filling / p.q, 1, (p.n + tile - 1) / tile));
  const std::size_t most =
      std::min<std::size_t>(where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes, 96 << 10);
  for (c.shared.lanes = simt::warp_size; c.shared.lanes > 0; c.shared.lanes /= 2) {
    const auto shape = filtering_plan<T, indexed>(p.n, p.k, c.how, most, c.shared);
    if (!shape) continue;
    const position minima =
        c.shared.parts * static_cast<position>(c.how.threads) / c.shared.lanes * shape->groups;
    if (minima > most_minima) return {};
    c.shape = *shape;
    // The minima are searched where the list will be.
    c.shape.capacity = std::max(c.shape.capacity, minima);
    if (team_memory<T, indexed>::bytes(c.shape) > most) return {};
    return c;
  }
  return {};
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
  a.row_minima = a.parts * static_cast<position>(c.how.threads) / a.lanes * a.shape.groups;
  a.memory.minima = memory.take<order_key_t<T>>(p.q * a.row_minima);
  a.memory.survivors = memory.take<typename candidate_of<T, indexed>::type>(
      p.q * a.parts * std::int64_t{a.shape.capacity});
  a.memory.appended = memory.take<position>(p.q);
  a.memory.finished = memory.take<position>(p.q);
  return a;
}

template <class F>
decltype(auto) visit_types(const problem& p, F&& f) {
  return baselines::visit_list_answer(p, [&]<class T, baselines::answer what>() {
    return f.template operator()<T, what == baselines::answer::pairs>();
  });
}

support supports(const problem& p, const device& where) {
  const bool possible = visit_types(
      p, [&]<class T, bool indexed>() { return choose<T, indexed>(p, where).has_value(); });
  if (!possible) return unsupported("k is too large a part of n for a list in shared memory");
  if (p.q > (simt::block_limit >> 12))
    return unsupported("Q is too large for several blocks a row");
  return supported();
}

std::size_t workspace(const problem& p, const device& where) {
  simt::carver sizes(nullptr);
  visit_types(p, [&]<class T, bool indexed>() {
    if (const auto c = choose<T, indexed>(p, where)) carve<T, indexed>(p, *c, sizes);
  });
  return sizes.used();
}

status enqueue(const problem& p, const io& buffers, std::span<std::byte> memory,
               const executor& on) {
  return visit_types(p, [&]<class T, bool indexed>() -> status {
    const auto c = choose<T, indexed>(p, *on.device);
    if (!c) return {status_code::unsupported, "k is too large a part of n"};
    simt::carver pieces(memory.data());
    auto a = carve<T, indexed>(p, *c, pieces);
    a.matrix = baselines::rows_of<T>(p, buffers);
    a.out = baselines::answer_in<T>(p, buffers);
    const std::int64_t blocks = p.q * a.parts;
    const status sampled =
        simt::launch<sample_kernel<T, indexed, 4>>(on, {blocks, c->how.threads}, a);
    if (!sampled.ok()) return sampled;
    return simt::launch<stream_kernel<T, indexed, 4>>(
        on, {blocks, c->how.threads, team_memory<T, indexed>::bytes(a.shape)}, a);
  });
}

constexpr algorithm entry() {
  algorithm a = baselines::gpu_entry("bms-grid", "buffered multi-select",
                                     "kselect, after Tang et al. 2015 and Komarov et al. 2014");
  a.supports = &supports;
  a.workspace = &workspace;
  a.enqueue = &enqueue;
  return a;
}

constexpr std::array variants = {entry()};

}  // namespace
}  // namespace kselect::bms

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_grid() { return bms::variants; }

}  // namespace kselect::entries
