// Quick multi-select: Komarov, Dashti & D'Souza, "Fast k-NNG Construction with GPU-Based Quick
// Multi-Select", PLOS ONE 9(5): e92409, 2014.
//
// Quickselect on every row at once. A row is partitioned around a pivot into elements below it and
// the rest; if the k wanted ones lie in the left part the right is dropped, else the left part is
// kept and the search for the others goes on in the right. quick_multi_select.cuh has the steps,
// named after the paper's; this file has the three drivers:
//
//   qms-warp   a row a warp          (Methods, first form)
//   qms-block  a row a block         (Methods, "one thread block per query": inter-warp offsets)
//   qms-host   a launch a round, decisions on the host (Algorithm 1 as printed): what a single
//              launch saves
//
// Cost: with a random pivot the first round reads n values and writes n keys and n positions, each
// later one reads and writes what is left, 2n to 3.4n elements in all (expected). With a sampled
// pivot about 1.1n + O(k) are read and O(n / team + k) written. Registers hold `items` elements a
// lane; shared memory one tile a team, and the stack of references. Not limited by k: any k from 1
// to n.
//
// Deviations, and why:
//  - Keys (order.hpp) are partitioned instead of floats: one order for NaN and both zeros, smallest
//    and largest, and a pivot "just above" exists, which splits off elements equal to the pivot. So
//    ties never stall it; the paper does not say how its pivots avoid that.
//  - After 24 rounds pivots halve the range of the keys, so no input takes more than 24 + 2 * 32
//    rounds (64 for float64): the expected linear time of random pivots has no worst case.
//  - A rest of at most one element a thread is ranked in shared memory instead of partitioned on.
//  - The paper counts positions from 1 (its shift keeps the own bit); here popc of the lanes before
//    counts from 0.
//  - A fixed number of teams walks over the rows, each with auxiliary arrays of its own, instead of
//    arrays for all rows: the workspace does not grow with Q and stays in the L2 cache for short
//    rows.
//  - Each warp takes four 32-wide segments at a time, to have four loads in flight.
//  - The default pivot comes from a sample, and then the right side, which is almost surely
//    dropped, is not written; `+random` is the paper's rule with both sides written, `+median3` a
//    third.

#include <algorithm>
#include <array>
#include <vector>

#include "algorithms/quick_multi_select.cuh"
#include "kselect/simt/transfer.hpp"

namespace kselect::qms {
namespace {

// ---- the matrix and its auxiliary arrays, as kernels see them

template <class T>
struct matrix_view {
  simt::global<const T> input;  // Q rows of n, `pitch` apart
  simt::global<T> values;       // [Q][k]
  simt::global<std::int32_t> indices_32;
  simt::global<std::int64_t> indices_64;
  simt::global<order_key_t<T>> keys_0, keys_1;      // [teams][n]
  simt::global<position> positions_0, positions_1;  // [teams][n], or empty
  std::int64_t rows, pitch;
  position n, k;
  direction wanted;
};

template <class Simt, class T>
KSELECT_HD row_view<T> row_of(Simt& simt, const matrix_view<T>& m, std::int64_t row,
                              std::int64_t team) {
  const auto part = [&](auto whole) {
    return whole.size == 0 ? whole : simt.slice(whole, team * m.n, m.n);
  };
  return {simt.slice(m.input, row * m.pitch, m.n),
          part(m.keys_0),
          part(m.keys_1),
          part(m.positions_0),
          part(m.positions_1),
          m.wanted,
          row};
}

template <class Simt, class T>
KSELECT_HD output_view<T> output_of(Simt& simt, const matrix_view<T>& m, std::int64_t row) {
  const auto part = [&](auto whole) {
    return whole.size == 0 ? whole : simt.slice(whole, row * m.k, m.k);
  };
  return {part(m.values), part(m.indices_32), part(m.indices_64), m.wanted};
}

// The stage of team `t` of a block in dynamic shared memory: keys, then positions.
template <class Key, bool indexed, class Simt>
KSELECT_HD stage_view<Key> stage_of(Simt& simt, int team_index, int warps) {
  auto* const start = static_cast<unsigned char*>(simt.dynamic_shared()) +
                      static_cast<std::size_t>(team_index) * stage_bytes<Key>(warps, indexed);
  auto* const keys = reinterpret_cast<Key*>(start);
  return {keys,
          indexed ? reinterpret_cast<position*>(keys + warps * simt::warp_size * items) : nullptr};
}

// ---- the single-launch forms

template <class T, bool indexed>
struct block_kernel {
  struct storage {
    team_storage<order_key_t<T>> team;
  };
  struct args {
    matrix_view<T> matrix;
    pivot_rule rule;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto stage = stage_of<order_key_t<T>, indexed>(simt, 0, simt.warps());
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      const row_view<T> view = row_of(simt, a.matrix, row, simt.block());
      selection<Simt, T, indexed, true> step(simt, shared.team, stage, view);
      step.select(a.matrix.n, a.matrix.k, a.rule, output_of(simt, a.matrix, row));
      simt.sync_block();  // the next row uses the same storage
    }
  }
};

inline constexpr int rows_per_block = 8;  // of the warp form

template <class T, bool indexed>
struct warp_kernel {
  static constexpr int max_threads = rows_per_block * simt::warp_size;
  struct storage {
    team_storage<order_key_t<T>> team[rows_per_block];
  };
  using args = typename block_kernel<T, indexed>::args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto stage = stage_of<order_key_t<T>, indexed>(simt, simt.warp(), 1);
    const std::int64_t team = std::int64_t{simt.block()} * rows_per_block + simt.warp();
    const std::int64_t teams = std::int64_t{simt.blocks()} * rows_per_block;
    for (std::int64_t row = team; row < a.matrix.rows; row += teams) {
      const row_view<T> view = row_of(simt, a.matrix, row, team);
      selection<Simt, T, indexed, false> step(simt, shared.team[simt.warp()], stage, view);
      step.select(a.matrix.n, a.matrix.k, a.rule, output_of(simt, a.matrix, row));
      simt.sync_warp(simt::full_mask);  // the next row uses the same storage
    }
  }
};

// ---- the host-driven form

// One row's part in a launch: a round of Algorithm 1, or a run of the answer to be written.
template <class Key>
struct job {
  std::int64_t row;
  state<Key> s;
  position next;  // write: where in the row's answer the run goes
};
template <class Key>
struct round_result {
  Key pivot;
  position left;
};

// "Distance computation and partitioning with pivot selection are done on the GPU".
template <class T, bool indexed>
struct round_kernel {
  struct storage {
    team_storage<order_key_t<T>> team;
  };
  struct args {
    matrix_view<T> matrix;
    pivot_rule rule;
    simt::global<const job<order_key_t<T>>> jobs;
    simt::global<round_result<order_key_t<T>>> results;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto mine = simt.load(a.jobs, simt.block());
    const row_view<T> view = row_of(simt, a.matrix, mine.row, mine.row);
    const auto stage = stage_of<order_key_t<T>, indexed>(simt, 0, simt.warps());
    selection<Simt, T, indexed, true> step(simt, shared.team, stage, view);
    const auto pivot = step.choose_pivot(mine.s, a.rule);
    const position left = step.partition(mine.s, pivot, a.rule);
    if (simt.thread() == 0) simt.store(a.results, simt.block(), {pivot, left});
  }
};

template <class T, bool indexed>
struct write_kernel {
  using storage = typename round_kernel<T, indexed>::storage;
  struct args {
    matrix_view<T> matrix;
    simt::global<const job<order_key_t<T>>> jobs;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto mine = simt.load(a.jobs, simt.block());
    const row_view<T> view = row_of(simt, a.matrix, mine.row, mine.row);
    const auto stage = stage_of<order_key_t<T>, indexed>(simt, 0, simt.warps());
    selection<Simt, T, indexed, true> step(simt, shared.team, stage, view);
    step.write_rest(mine.s, mine.next, output_of(simt, a.matrix, mine.row));
  }
};

// ---- launch shapes and workspace

enum class form : std::uint8_t { warp, block, host };

// What distinguishes the registry's entries.
struct variant {
  form how;
  pivot_rule rule;
  int warps;  // of the block form; 0: by the row's length
};

int warps_of(const variant& v, const problem& p) {
  if (v.how == form::warp) return 1;
  if (v.warps != 0) return v.warps;
  // The fastest at n*Q = 2^27 on an H200 (results/nvidia-h200/qms_tuning): about a warp for every
  // 2^14 elements; more would wait for each other, fewer leave the GPU idle where rows are few.
  constexpr struct {
    std::int64_t n;
    int warps;
  } table[] = {{1 << 12, 1}, {1 << 14, 2}, {1 << 16, 4}, {1 << 18, 8}, {1 << 20, 16}};
  for (const auto& row : table) {
    if (p.n <= row.n) return row.warps;
  }
  return most_warps;
}

// Teams that walk over the rows, as many as can be resident; each has its own auxiliary arrays.
std::int64_t teams_of(const variant& v, const problem& p, const device& where) {
  if (v.how == form::host) return p.q;
  constexpr int warps_per_multiprocessor = 64;
  const std::int64_t resident =
      where.kind == executor_kind::cuda
          ? std::int64_t{where.multiprocessors} * (warps_per_multiprocessor / warps_of(v, p))
          : std::int64_t{4} * where.threads;
  const std::int64_t rounding = v.how == form::warp ? rows_per_block : 1;
  return (std::min(resident, p.q) + rounding - 1) / rounding * rounding;
}

// Takes aligned pieces off a workspace; with no memory behind it, adds up their sizes.
class carver {
 public:
  explicit carver(std::byte* start) : start_(start) {}
  template <class T>
  simt::global<T> take(std::int64_t count) {
    constexpr std::size_t alignment = 256;
    auto* const piece = start_ == nullptr ? nullptr : reinterpret_cast<T*>(start_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + alignment - 1) / alignment * alignment;
    return {piece, count};
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* start_;
  std::size_t used_ = 0;
};

template <class T>
struct workspace_view {
  matrix_view<T> matrix;
  simt::global<job<order_key_t<T>>> jobs;  // of the host form
  simt::global<round_result<order_key_t<T>>> results;
};

template <class T>
workspace_view<T> carve(const variant& v, const problem& p, const device& where, carver& memory) {
  workspace_view<T> w{};
  matrix_view<T>& m = w.matrix;
  m.rows = p.q;
  m.pitch = p.effective_pitch();
  m.n = static_cast<position>(p.n);
  m.k = static_cast<position>(p.k);
  m.wanted = p.direction;
  const std::int64_t elements = teams_of(v, p, where) * p.n;
  m.keys_0 = memory.take<order_key_t<T>>(elements);
  m.keys_1 = memory.take<order_key_t<T>>(elements);
  if (p.has_indices()) {
    m.positions_0 = memory.take<position>(elements);
    m.positions_1 = memory.take<position>(elements);
  }
  if (v.how == form::host) {
    w.jobs = memory.take<job<order_key_t<T>>>(p.q);
    w.results = memory.take<round_result<order_key_t<T>>>(p.q);
  }
  return w;
}

template <class T>
void attach(matrix_view<T>& m, const problem& p, const io& buffers) {
  m.input = {static_cast<const T*>(buffers.input), p.input_elements()};
  m.values = {static_cast<T*>(buffers.values), p.q * p.k};
  if (!p.has_indices()) return;
  if (p.index == index_type::int32) {
    m.indices_32 = {static_cast<std::int32_t*>(buffers.indices), p.q * p.k};
  } else {
    m.indices_64 = {static_cast<std::int64_t*>(buffers.indices), p.q * p.k};
  }
}

// ---- Algorithm 1 on the host

template <class T, bool indexed>
class host_driver {
 public:
  using key = order_key_t<T>;

  host_driver(const variant& v, const problem& p, const workspace_view<T>& w, const executor& on)
      : rule_(v.rule), w_(w), on_(on), threads_(warps_of(v, p) * simt::warp_size) {
    for (std::int64_t row = 0; row < p.q; ++row) {
      rows_.push_back({row, initial_state<key>(w.matrix.n, w.matrix.k), 0});
    }
  }

  status run() {
    std::vector<job<key>> active = unsettled();
    while (!active.empty()) {
      if (status failed = round(active); !failed.ok()) return failed;
      active = unsettled();
    }
    // The kept parts of all rows, and their settled rests: as many of each row as one launch takes.
    if (status failed = write(kept_); !failed.ok()) return failed;
    return write(rows_);
  }

 private:
  std::vector<job<key>> unsettled() const {
    std::vector<job<key>> active;
    for (const job<key>& row : rows_) {
      if (!settled(row.s, static_cast<position>(threads_))) active.push_back(row);
    }
    return active;
  }

  simt::grid shape(std::size_t jobs) const {
    return {static_cast<std::int64_t>(jobs), threads_,
            stage_bytes<key>(threads_ / simt::warp_size, indexed)};
  }

  // One launch: every active row is partitioned once; then the decisions, here.
  status round(const std::vector<job<key>>& active) {
    std::vector<round_result<key>> results(active.size());
    status done = simt::copy(on_, w_.jobs.data, active.data(), active.size() * sizeof(job<key>));
    if (done.ok()) {
      done = simt::launch<round_kernel<T, indexed>>(
          on_, shape(active.size()), {w_.matrix, rule_, {w_.jobs.data, w_.jobs.size}, w_.results});
    }
    if (done.ok()) {
      done = simt::copy(on_, results.data(), w_.results.data,
                        results.size() * sizeof(round_result<key>));
    }
    if (!done.ok()) return done;
    for (std::size_t i = 0; i < active.size(); ++i) {
      job<key>& row = rows_[static_cast<std::size_t>(active[i].row)];
      const reference left = decide(row.s, results[i].pivot, results[i].left);
      if (left.begin == left.end) continue;
      // A run that is wanted as a whole is a settled state of its own.
      job<key> kept = row;
      kept.s.active = left;
      kept.s.wanted = left.end - left.begin;
      kept_.push_back(kept);
      row.next += left.end - left.begin;
    }
    return {};
  }

  status write(const std::vector<job<key>>& jobs) {
    const auto most = static_cast<std::size_t>(w_.jobs.size);
    for (std::size_t first = 0; first < jobs.size(); first += most) {
      const std::size_t count = std::min(most, jobs.size() - first);
      status done = simt::copy(on_, w_.jobs.data, jobs.data() + first, count * sizeof(job<key>));
      if (done.ok()) {
        done = simt::launch<write_kernel<T, indexed>>(on_, shape(count),
                                                      {w_.matrix, {w_.jobs.data, w_.jobs.size}});
      }
      if (!done.ok()) return done;
    }
    return {};
  }

  pivot_rule rule_;
  const workspace_view<T>& w_;
  const executor& on_;
  int threads_;
  std::vector<job<key>> rows_;  // where each row stands
  std::vector<job<key>> kept_;  // left parts, all of them wanted
};

// ---- the interface

template <class T, bool indexed>
status start(const variant& v, const problem& p, const workspace_view<T>& w, const executor& on) {
  if (v.how == form::host) return host_driver<T, indexed>(v, p, w, on).run();
  const std::int64_t teams = teams_of(v, p, *on.device);
  const int warps = warps_of(v, p);
  if (v.how == form::warp) {
    const simt::grid shape{teams / rows_per_block, rows_per_block * simt::warp_size,
                           rows_per_block * stage_bytes<order_key_t<T>>(1, indexed)};
    return simt::launch<warp_kernel<T, indexed>>(on, shape, {w.matrix, v.rule});
  }
  const simt::grid shape{teams, warps * simt::warp_size,
                         stage_bytes<order_key_t<T>>(warps, indexed)};
  return simt::launch<block_kernel<T, indexed>>(on, shape, {w.matrix, v.rule});
}

template <variant v>
std::size_t workspace(const problem& p, const device& where) {
  carver sizes(nullptr);
  visit(p.type, [&]<class T>(T) { carve<T>(v, p, where, sizes); });
  return sizes.used();
}

template <variant v>
status enqueue(const problem& p, const io& buffers, std::span<std::byte> memory,
               const executor& on) {
  return visit(p.type, [&]<class T>(T) {
    carver pieces(memory.data());
    workspace_view<T> w = carve<T>(v, p, *on.device, pieces);
    attach(w.matrix, p, buffers);
    return p.has_indices() ? start<T, true>(v, p, w, on) : start<T, false>(v, p, w, on);
  });
}

template <variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a;
  a.name = name;
  a.family = "quick multi-select";
  a.source = v.how == form::host ? "Komarov et al. 2014, Methods, Alg. 1"
                                 : "Komarov et al. 2014, Methods, Fig. 2-4, Alg. 1";
  // No atomics, and pivots drawn from the row's number: the same bits on every GPU.
  a.promises.determinism = determinism::run_to_run;
  a.promises.limits.max_n = 0xffffffff;
  a.promises.synchronises = v.how == form::host;
  a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
  a.dtypes = set_of(dtype::float32, dtype::float64);
  a.workspace = &workspace<v>;
  a.enqueue = &enqueue<v>;
  return a;
}

// Names: form [+pivot rule] [+w warps]; what is left out is chosen by default.
constexpr std::array variants = {
    entry<variant{form::warp, pivot_rule::sample, 1}>("qms-warp"),
    entry<variant{form::warp, pivot_rule::random, 1}>("qms-warp+random"),
    entry<variant{form::warp, pivot_rule::median_of_3, 1}>("qms-warp+median3"),
    entry<variant{form::block, pivot_rule::sample, 0}>("qms-block"),
    entry<variant{form::block, pivot_rule::random, 0}>("qms-block+random"),
    entry<variant{form::block, pivot_rule::median_of_3, 0}>("qms-block+median3"),
    entry<variant{form::block, pivot_rule::sample, 1}>("qms-block+w1"),
    entry<variant{form::block, pivot_rule::sample, 2}>("qms-block+w2"),
    entry<variant{form::block, pivot_rule::sample, 4}>("qms-block+w4"),
    entry<variant{form::block, pivot_rule::sample, 8}>("qms-block+w8"),
    entry<variant{form::block, pivot_rule::sample, 16}>("qms-block+w16"),
    entry<variant{form::block, pivot_rule::sample, 32}>("qms-block+w32"),
    entry<variant{form::host, pivot_rule::sample, 0}>("qms-host"),
    entry<variant{form::host, pivot_rule::random, 0}>("qms-host+random"),
};

}  // namespace
}  // namespace kselect::qms

namespace kselect::entries {

std::span<const algorithm> quick_multi_select() { return qms::variants; }

}  // namespace kselect::entries
