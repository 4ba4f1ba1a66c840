// Buffered multi-select, a row a block (bms-block) or a row a warp (bms-warp): the two ideas of the
// papers joined.
//
// Each element is read once, 16 bytes a load, and compared with a threshold (the buffered search of
// Tang et al. 2015); the few survivors are kept in shared memory and cut down to k by
// multi-selection (Komarov et al. 2014), counting in place of partitioning. Device memory is not
// touched again.
//
//   1. The first tile of the row stays in registers. Minima of disjoint groups of it give the
//      threshold (threshold.cuh).
//   2. The tile, and all that follow, are filtered by it into a list in shared memory (stream.cuh).
//      A full list is cut to about k, which lowers the threshold (survivors.cuh): any order and any
//      ties are one pass.
//   3. The list is narrowed down to the exact k smallest (narrowing.cuh, answer.cuh).
//
// Where k is a large part of n a threshold would hold little back: such rows, if they fit, stay in
// registers, and step 3 works on those.
//
// What limits it, on an H200, whose 132 multiprocessors can execute 29 warp instructions in the
// time that its memory takes to bring 32 elements (ncu's counts; times in
// results/nvidia-h200/goal_*):
//   k <= 32, n >= 8192   memory: 85 to 94 % of the read ceiling
//   a warp a row         instructions: 34 for 32 elements at n = 1024, k = 32
//   in registers         instructions: 44 at n = 4096, k = 1024, and shared-memory atomics
//   k of n / 16 and up   instructions: 35 at n = 16384, k = 1024, half of them to enter survivors
// So nothing may spill: a few registers spilt in the stream cost up to a tenth of the time. Loads
// that do not stay in L1 cost up to half the speed; a list longer than it has to be costs nothing.
//
// Exact on every input, in the total order on bits: numbers are compared as such only to pass over
// tiles, all else compares integer keys. Which of equal elements are chosen, and the order of the
// answer, are unspecified and may differ from run to run.

#include "algorithms/buffered_multi_select/kernels.cuh"
#include "algorithms/buffered_multi_select/shape.hpp"

namespace kselect::bms {
namespace {

// One of the registered forms; 0 where the shape decides.
struct variant {
  bool warp;
  int threads;
};

inline constexpr int most_loads = 8;

// What a block may use so that several fit on a multiprocessor, and on fibers.
inline constexpr std::size_t most_shared = 96 << 10;

// Whether k is so large a part of n that rows are better worked on in registers whole. (A threshold
// then lets through half as much again, which is to be written, read and narrowed.)
bool dense(const problem& p) { return 16 * p.k >= p.n; }

// Threads for a row. Few finish a row in less time all told, as fewer wait for each other; many
// hold more of it at once, and more of them are left if rows are few.
int threads_for(const problem& p, const device& where) {
  if (p.q < where.multiprocessors * 2 || (p.k >= 2048 && p.n > 16384)) return 512;
  if (p.n > 16384 || (dense(p) && p.n > 4096)) return 256;
  return 128;
}

reading reading_of(const variant& v, const problem& p, const device& where) {
  if (v.warp) {
    const std::int64_t held = p.type == dtype::float32 ? 128 : 64;  // by a warp, in one load a lane
    int loads = 2;
    while (loads < most_loads && loads * held < p.n) loads *= 2;
    return {simt::warp_size, loads};
  }
  if (where.kind != executor_kind::cuda) return {v.threads == 0 ? 64 : v.threads, 4};
  return {v.threads == 0 ? threads_for(p, where) : v.threads, most_loads};
}

struct choice {
  reading how;
  plan shape;
  form as;
};

template <class T, bool indexed>
std::optional<choice> choose(const variant& v, const problem& p, const device& where) {
  const reading first = reading_of(v, p, where);
  const std::size_t shared = where.shared_bytes == 0 ? 48 << 10 : where.shared_bytes;
  const std::size_t most = std::min(shared, most_shared) / (v.warp ? rows_per_block : 1);
  const auto filtered = [&](const reading& how) -> std::optional<choice> {
    const auto shape = filtering_plan<T, indexed>(p.n, p.k, how, most);
    if (!shape) return {};
    const bool many = !v.warp && 32 * p.k >= p.n;
    return choice{how, *shape, many ? form::filtered_many : form::filtered};
  };
  const auto resident = [&](int threads) -> std::optional<choice> {
    const reading how{threads, most_loads};
    const auto shape = resident_plan<T, indexed>(p.n, p.k, how, most);
    if (!shape) return {};
    return choice{how, *shape, form::resident};
  };
  std::optional<choice> best;
  if (dense(p) && !v.warp) best = resident(first.threads);
  if (!best) best = filtered(first);
  if (!best) best = resident(first.threads);
  // More threads give more groups, and hold more.
  for (int threads = 2 * first.threads; !best && !v.warp && threads <= 512; threads *= 2) {
    best = filtered({threads, first.loads});
    if (!best) best = resident(threads);
  }
  return best;
}

template <class Kernel, class T, bool indexed>
status start(const choice& c, bool warp, const problem& p, const io& buffers, const executor& on) {
  const std::int64_t rows = warp ? rows_per_block : 1;  // of a block
  // Rows are cheap to start, so the card's own scheduler balances them.
  const std::int64_t blocks = std::min<std::int64_t>((p.q + rows - 1) / rows, 1 << 24);
  const std::size_t memory = team_memory<T, indexed>::bytes(c.shape) * rows;
  return simt::launch<Kernel>(
      on, {blocks, warp ? rows_per_block * simt::warp_size : c.how.threads, memory},
      {baselines::rows_of<T>(p, buffers), baselines::answer_in<T>(p, buffers), c.shape});
}

template <variant v>
status enqueue(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  return baselines::visit_list_answer(p, [&]<class T, baselines::answer what>() -> status {
    constexpr bool indexed = what == baselines::answer::pairs;
    const auto c = choose<T, indexed>(v, p, *on.device);
    if (!c) return {status_code::unsupported, "k is too large a part of n"};
    const auto started = [&]<class Kernel>() {
      return start<Kernel, T, indexed>(*c, v.warp, p, buffers, on);
    };
    if constexpr (v.warp) {
      if (c->as == form::resident) {
        return started.template operator()<warp_kernel<T, indexed, 8, form::resident>>();
      }
      switch (c->how.loads) {
        case 2:
          return started.template operator()<warp_kernel<T, indexed, 2, form::filtered>>();
        case 4:
          return started.template operator()<warp_kernel<T, indexed, 4, form::filtered>>();
        default:
          return started.template operator()<warp_kernel<T, indexed, 8, form::filtered>>();
      }
    } else {
      if (c->as == form::resident) {
        return started.template operator()<block_kernel<T, indexed, 8, form::resident>>();
      }
      const bool many = c->as == form::filtered_many;
      if (c->how.loads == 4) {  // fibers
        return many
                   ? started.template operator()<block_kernel<T, indexed, 4, form::filtered_many>>()
                   : started.template operator()<block_kernel<T, indexed, 4, form::filtered>>();
      }
      return many ? started.template operator()<block_kernel<T, indexed, 8, form::filtered_many>>()
                  : started.template operator()<block_kernel<T, indexed, 8, form::filtered>>();
    }
  });
}

template <variant v>
support supports(const problem& p, const device& where) {
  const bool possible = visit(p.type, [&]<class T>(T) {
    return p.has_indices() ? choose<T, true>(v, p, where).has_value()
                           : choose<T, false>(v, p, where).has_value();
  });
  if (possible) return supported();
  return unsupported("k is too large a part of n for a list in shared memory");
}

template <variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = baselines::gpu_entry(name, "buffered multi-select",
                                     "kselect, after Tang et al. 2015 and Komarov et al. 2014");
  a.supports = &supports<v>;
  a.enqueue = &enqueue<v>;
  return a;
}

constexpr std::array variants = {
    entry<variant{true, 0}>("bms-warp"),          entry<variant{false, 0}>("bms-block"),
    entry<variant{false, 128}>("bms-block+t128"), entry<variant{false, 256}>("bms-block+t256"),
    entry<variant{false, 512}>("bms-block+t512"),
};

}  // namespace
}  // namespace kselect::bms

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_block() { return bms::variants; }

}  // namespace kselect::entries
