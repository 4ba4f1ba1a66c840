// Quick multi-select: Komarov, Dashti & D'Souza, "Fast k-NNG Construction with GPU-Based Quick
// Multi-Select", PLOS ONE 9(5): e92409, 2014.
//
// Quickselect on all rows at once. A pivot partitions a row into the elements below it and the
// rest. If the k wanted elements are in the left part, the right part is dropped. Otherwise the
// left part is kept, and the search for the others goes on in the right part. The steps have the
// paper's names and a file each: algorithm_1.cuh, state.cuh (its decisions), pivot.cuh,
// partition.cuh (Fig. 2-4), answer.cuh. Ours alone are filter.cuh, and ranks of small rests in
// answer.cuh. This file has the launch shapes and the entries:
//
//   qms-warp   a row a warp      (Methods, first form)
//   qms-block  a row a block     (Methods, "one thread block per query": inter-warp offsets)
//   qms-host   a launch a round  (Algorithm 1, with decisions on the host)
//
// Cost: with a random pivot the first round reads n values and writes n keys and n positions. Each
// later round reads and writes what is left: 2n to 3.4n elements in all (expected). With a sampled
// pivot about 1.1n + O(k) elements are read and O(n / 32 + k) written. Registers hold 64 bytes of a
// row a lane; shared memory holds one tile a team and the stack of references. Any k from 1 to n is
// supported. On an H200 the limit is instructions that place elements (large k), or latency between
// rounds (small k).
//
// Deviations, and why:
//  - Keys (order.hpp) are partitioned instead of floats: NaN and both zeros have one order, for
//    smallest and largest. A pivot "just above" exists, which splits off elements equal to the
//    pivot, so ties never stall the selection; the paper does not say how its pivots avoid that.
//  - After 24 rounds pivots halve the range of the keys, so no input takes more than 24 + 2 * 32
//    rounds (64 for float64). The expected linear time of random pivots bounds no worst case.
//  - A rest of one or two elements a thread is ranked in shared memory, not partitioned further.
//  - The paper counts positions from 1 (its shift keeps the own bit). Here the popc of the lanes
//    before counts from 0.
//  - A key and its position are one element of the auxiliary arrays: one store instead of two.
//  - A fixed number of teams walks over the rows, each with its own auxiliary arrays. So the
//    workspace does not grow with Q, and for short rows stays in L2.
//  - A warp takes four 32-wide segments at a time, to have four loads in flight. Every thread adds
//    up the counts of a block's warps, not just one thread, which saves a barrier.
//  - The default pivot comes from a sample. If few elements are wanted, it is chosen so that they
//    lie to its left. The right side, which would be dropped, is then not written: no tile is
//    staged, and a lane reads the input 16 bytes at a time. `+random` takes a random pivot, and
//    `+median3` has a third rule; both write both sides. `+both` samples and writes both sides.
//
// quick_multi_select_paper.cu has the paper's own form. A ladder leads from it to qms-block, to
// show what each change gains. A rung has all changes of the rungs above it:
//
//   qms-block+paper    the paper's form
//   qms-ladder+counts  every thread adds up the warps' counts and keeps the places in registers;
//                      the stack is in shared memory; pivots halve the range after 24 rounds
//   qms-ladder+loads   four loads of a lane in flight
//   qms-ladder+rank    a rest of an element a thread is ranked, not partitioned further
//   qms-ladder+teams   as many blocks as are resident walk over the rows
//   qms-block+random   1 to 32 warps a block, by number and length of rows, instead of 16
//   qms-block+both     a sampled pivot
//   qms-block          the right side is not written if few elements are wanted
//
// The entries qms-ladder+... are for this comparison alone and take float32 only.
//
// Entries: qms-warp, qms-block, qms-host, qms-ladder

#include <algorithm>
#include <array>
#include <type_traits>

#include "algorithms/quick_multi_select/host_driver.cuh"
#include "kselect/simt/carver.hpp"
#include "kselect/simt/device_size.hpp"
#include "kselect/simt/shared_fit.hpp"

namespace kselect::qms {
namespace {

// ---- launch shapes and workspace

enum class form : std::uint8_t { warp, block, host };

// Rungs of the ladder (above) after the paper's form. `all`: no entry of the ladder.
enum class rung : std::uint8_t { counts, loads, rank, teams, all };

// What distinguishes the registry's entries.
struct variant {
  form how;
  pivot_rule rule;
  int warps;  // of the block form; 0: chosen from the number and length of the rows
  rung up_to = rung::all;
};

// Shared memory of a block of `warps` warps: the stage for a tile, and the stack.
std::size_t shared_bytes(int warps, const problem& p) {
  const std::size_t stage = visit(p.type, [&]<class T>(T) {
    using key = order_key_t<T>;
    return p.has_indices() ? stage_bytes<key, true>(warps) : stage_bytes<key, false>(warps);
  });
  return stage + sizeof(team_storage<std::uint64_t>);
}

// One warp a row needs no barriers and is fastest if rows occupy all warps. Few rows share the
// warps, as long as each warp has a tile to read (results/nvidia-h200/qms_tuning).
int warps_of(const variant& v, const problem& p, const device& where) {
  if (v.how == form::warp) return 1;
  if (v.warps != 0) return v.warps;
  const std::int64_t wanted =
      std::min(2 * simt::resident_warps(where, resident_warps) / p.q, p.n / 1024);
  int warps = 1;
  const auto more = [&] {
    return 2 * warps <= wanted && simt::has_shared(where, shared_bytes(2 * warps, p));
  };
  while (warps < most_warps && more()) warps *= 2;
  return warps;
}

// Teams that walk over the rows: as many as are resident. Each has its own auxiliary arrays.
std::int64_t teams_of(const variant& v, int warps, const problem& p, const device& where) {
  if (v.how == form::host || v.up_to < rung::teams) return p.q;
  const int most = warps == 1 ? resident_single_warps : resident_warps;
  const std::int64_t teams = simt::resident_warps(where, most) / warps;
  const std::int64_t rounding = v.how == form::warp ? rows_per_block : 1;
  return (std::min(std::max<std::int64_t>(teams, 1), p.q) + rounding - 1) / rounding * rounding;
}

// The decisions of a call.
struct shape {
  variant v;
  int warps;           // of a team
  std::int64_t teams;  // that share the rows
};

template <class T, bool indexed>
workspace_view<T, indexed> carve(const shape& s, const problem& p, simt::carver& memory) {
  workspace_view<T, indexed> w{};
  matrix_view<T, indexed>& m = w.matrix;
  m.rows = p.q;
  m.pitch = p.effective_pitch();
  m.n = static_cast<position>(p.n);
  m.k = static_cast<position>(p.k);
  m.wanted = p.direction;
  const std::int64_t elements = s.teams * p.n;
  m.auxiliary_0 = memory.take<element<order_key_t<T>, indexed>>(elements);
  m.auxiliary_1 = memory.take<element<order_key_t<T>, indexed>>(elements);
  if (s.v.how == form::host) {
    w.jobs = memory.take<job<order_key_t<T>>>(p.q);
    w.results = memory.take<round_result<order_key_t<T>>>(p.q);
  }
  return w;
}

template <class T, bool indexed>
void attach(matrix_view<T, indexed>& m, const problem& p, const io& buffers) {
  m.input = {static_cast<const T*>(buffers.input), p.input_elements()};
  m.values = {static_cast<T*>(buffers.values), p.q * p.k};
  if (!p.has_indices()) return;
  if (p.index == index_type::int32) {
    m.indices_32 = {static_cast<std::int32_t*>(buffers.indices), p.q * p.k};
  } else {
    m.indices_64 = {static_cast<std::int64_t*>(buffers.indices), p.q * p.k};
  }
}

// ---- the interface

template <class T, bool indexed>
status start(const shape& s, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  simt::carver pieces(memory.data());
  auto w = carve<T, indexed>(s, p, pieces);
  attach(w.matrix, p, buffers);
  const auto [v, warps, teams] = s;
  if (v.how == form::host) return host_driver<T, indexed>(v.rule, warps, w, on).run();
  const std::size_t stage = stage_bytes<order_key_t<T>, indexed>(warps);
  if (v.how == form::warp) {
    const simt::grid grid{teams / rows_per_block, rows_per_block * simt::warp_size,
                          rows_per_block * stage};
    return simt::launch<warp_kernel<T, indexed>>(on, grid, {w.matrix, v.rule});
  }
  const simt::grid grid{teams, warps * simt::warp_size, stage};
  if (warps == 1) {
    return simt::launch<block_kernel<T, indexed, true>>(on, grid, {w.matrix, v.rule});
  }
  if constexpr (std::is_same_v<T, float>) {
    if (v.up_to < rung::loads) {
      return simt::launch<block_kernel<T, indexed, false, 1>>(on, grid, {w.matrix, v.rule});
    }
  }
  return simt::launch<block_kernel<T, indexed, false>>(on, grid, {w.matrix, v.rule});
}

// Calls use(T{}, std::bool_constant<whether indices are wanted>{}).
template <class Use>
auto visit_elements(const problem& p, const Use& use) {
  return visit(p.type, [&]<class T>(T value) {
    return p.has_indices() ? use(value, std::true_type{}) : use(value, std::false_type{});
  });
}

template <variant v>
call_plan plan_for(const problem& p, const device& where) {
  const int warps = warps_of(v, p, where);
  const support fits = simt::fits_shared(where, shared_bytes(warps, p));
  if (!fits) return call_plan::refused(fits.reason);
  const shape s{v, warps, teams_of(v, warps, p, where)};
  return visit_elements(p, [&]<class T, bool indexed>(T, std::bool_constant<indexed>) {
    simt::carver sizes(nullptr);
    carve<T, indexed>(s, p, sizes);
    return call_plan::of<&start<T, indexed>>(p, sizes.used(), s);
  });
}

template <variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a;
  a.name = name;
  a.family = "quick multi-select";
  a.source = v.how == form::host ? "Komarov et al. 2014, Methods, Alg. 1"
                                 : "Komarov et al. 2014, Methods, Fig. 2-4, Alg. 1";
  // Places are counted, and pivots depend on the row's number. Only the warps of a row depend on
  // the GPU.
  a.promises.determinism = determinism::run_to_run;
  a.promises.limits.max_n = 0xffffffff;
  a.promises.synchronises = v.how == form::host;
  a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
  a.dtypes = v.up_to == rung::all ? set_of(dtype::float32, dtype::float64) : set_of(dtype::float32);
  a.plan = &plan_for<v>;
  return a;
}

constexpr int paper_warps = 16;  // of a block: "the maximum number of thread warps per block"

// Names: form [+pivot rule] [+w warps], or a rung of the ladder; the rest has defaults.
constexpr std::array variants = {
    entry<variant{form::warp, pivot_rule::sample, 1}>("qms-warp"),
    entry<variant{form::warp, pivot_rule::random, 1}>("qms-warp+random"),
    entry<variant{form::warp, pivot_rule::median_of_3, 1}>("qms-warp+median3"),
    entry<variant{form::warp, pivot_rule::sample_both, 1}>("qms-warp+both"),
    entry<variant{form::block, pivot_rule::sample, 0}>("qms-block"),
    entry<variant{form::block, pivot_rule::random, 0}>("qms-block+random"),
    entry<variant{form::block, pivot_rule::median_of_3, 0}>("qms-block+median3"),
    entry<variant{form::block, pivot_rule::sample_both, 0}>("qms-block+both"),
    entry<variant{form::block, pivot_rule::sample, 1}>("qms-block+w1"),
    entry<variant{form::block, pivot_rule::sample, 2}>("qms-block+w2"),
    entry<variant{form::block, pivot_rule::sample, 4}>("qms-block+w4"),
    entry<variant{form::block, pivot_rule::sample, 8}>("qms-block+w8"),
    entry<variant{form::block, pivot_rule::sample, 16}>("qms-block+w16"),
    entry<variant{form::block, pivot_rule::sample, 32}>("qms-block+w32"),
    entry<variant{form::host, pivot_rule::sample, 0}>("qms-host"),
    entry<variant{form::host, pivot_rule::random, 0}>("qms-host+random"),
    entry<variant{form::block, pivot_rule::random_unranked, paper_warps, rung::counts}>(
        "qms-ladder+counts"),
    entry<variant{form::block, pivot_rule::random_unranked, paper_warps, rung::loads}>(
        "qms-ladder+loads"),
    entry<variant{form::block, pivot_rule::random, paper_warps, rung::rank}>("qms-ladder+rank"),
    entry<variant{form::block, pivot_rule::random, paper_warps, rung::teams}>("qms-ladder+teams"),
};

}  // namespace
}  // namespace kselect::qms

namespace kselect::entries {

std::span<const algorithm> quick_multi_select() { return qms::variants; }

}  // namespace kselect::entries
