#pragma once
// Radix select with several blocks a row, one launch a pass. The blocks of a row count in shared
// memory and add their counts in global memory. Each block of the next launch searches the sums
// itself, so nothing waits for a last block and nothing returns to the host.

#include <algorithm>

#include "baselines/radix_select.cuh"

namespace kselect::radix {

template <class T>
struct grid_memory {
  simt::global<state<order_key_t<T>>> states;  // [rows][pass_count + 1], at the start of each pass
  simt::global<std::uint32_t> counts;          // [rows][pass_count][bins]
  simt::global<std::uint32_t> counters;        // [rows][3]: written, tied, kept
  simt::global<order_key_t<T>> keys;           // [rows][capacity]
  simt::global<position> positions;            // the same, for pairs
  position capacity;
};

// Candidates are kept if they are at most 1 / kept_fraction of the row. Writing and reading them
// then costs little beside reading the row again.
inline constexpr position kept_fraction = 16;

template <class T, int bits>
grid_memory<T> carve_grid(const problem& p, std::int64_t rows, simt::carver& memory) {
  using key = order_key_t<T>;
  constexpr int passes = pass_count<key, bits>;
  grid_memory<T> w;
  w.capacity = static_cast<position>(p.n) / kept_fraction;
  w.states = memory.take<state<key>>(rows * (passes + 1));
  w.counts = memory.take<std::uint32_t>(rows * (passes << bits));
  w.counters = memory.take<std::uint32_t>(rows * 3);
  w.keys = memory.take<key>(rows * w.capacity);
  w.positions = memory.take<position>(p.has_indices() ? rows * w.capacity : 0);
  return w;
}

template <class Key>
struct grid_sink {
  simt::global<std::uint32_t> counters;  // of this row
  simt::global<Key> keys;
  simt::global<position> positions;

  template <class Simt>
  KSELECT_HD position next_written(Simt& simt) {
    return simt.atomic_add(counters, 0, 1U);
  }
  template <class Simt>
  KSELECT_HD position next_tied(Simt& simt) {
    return simt.atomic_add(counters, 1, 1U);
  }
  template <class Simt>
  KSELECT_HD position next_kept(Simt& simt) {
    return simt.atomic_add(counters, 2, 1U);
  }
  template <class Simt>
  KSELECT_HD void keep(Simt& simt, position place, Key k, position at) {
    simt.store(keys, place, k);
    if (positions.size != 0) simt.store(positions, place, at);
  }
  template <class Simt>
  KSELECT_HD Key key_at(Simt& simt, position i) const {
    return simt.load(keys, i);
  }
  template <class Simt>
  KSELECT_HD position position_at(Simt& simt, position i) const {
    return positions.size != 0 ? simt.load(positions, i) : 0;
  }
};

template <class T, int bits, answer what>
struct pass_kernel {
  static constexpr int max_threads = 512;
  static constexpr int min_blocks = 2;
  using key = order_key_t<T>;
  static constexpr int passes = pass_count<key, bits>;

  struct storage {
    bin_storage<bits> digits;
  };
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    grid_memory<T> memory;
    int pass;   // 0 ... passes; the last one only writes
    int parts;  // blocks a row
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t row = simt.block() / a.parts;
    const int part = simt.block() % a.parts;
    state<key> s = initial_state<key>(a.matrix.n, a.matrix.k);
    if (a.pass > 0) {
      s = simt.load(a.memory.states, row * (passes + 1) + a.pass - 1);
      if (s.finished == 0) s = after_last_pass(simt, shared, a, row, s);
    }
    const bool done_before = s.finished != 0;
    if (!done_before && settled<what>(s)) s.finished = 1;
    if (part == 0 && simt.thread() == 0) {
      simt.store(a.memory.states, row * (passes + 1) + a.pass, s);
    }
    if (done_before) return;
    clear_bins(simt, shared.digits);
    simt.sync_block();
    grid_sink<key> sink = sink_of(simt, a, row);
    const auto stride = static_cast<position>(a.parts * simt.threads());
    const auto index = static_cast<position>(part * simt.threads() + simt.thread());
    pass_over<T, bits, what, Simt, grid_sink<key>>(simt, shared.digits, sink, a.matrix, a.out, row,
                                                   a.memory.capacity)
        .run(s, a.pass, index, stride);
    if (s.finished == 0) add_counts(simt, shared, a, row);
  }

 private:
  // The state that the counts of the last pass lead to.
  template <class Simt>
  KSELECT_HD static state<key> after_last_pass(Simt& simt, storage& shared, const args& a,
                                               std::int64_t row, const state<key>& s) {
    const auto counts = counts_of(simt, a, row, a.pass - 1);
    for (int bin = simt.thread(); bin < 1 << bits; bin += simt.threads()) {
      shared.digits.counts[bin] = simt.load(counts, bin);
    }
    simt.sync_block();
    find_bin(simt, shared.digits, s.wanted);
    const state<key> next = advanced(s, shared.digits, a.pass - 1, a.memory.capacity);
    simt.sync_block();  // the counts are cleared next
    return next;
  }

  template <class Simt>
  KSELECT_HD static void add_counts(Simt& simt, storage& shared, const args& a, std::int64_t row) {
    simt.sync_block();
    const auto counts = counts_of(simt, a, row, a.pass);
    for (int bin = simt.thread(); bin < 1 << bits; bin += simt.threads()) {
      const std::uint32_t own = shared.digits.counts[bin];
      if (own != 0) simt.atomic_add(counts, bin, own);
    }
  }

  template <class Simt>
  KSELECT_HD static simt::global<std::uint32_t> counts_of(Simt& simt, const args& a,
                                                          std::int64_t row, int pass) {
    return simt.slice(a.memory.counts, (row * passes + pass) << bits, 1 << bits);
  }

  template <class Simt>
  KSELECT_HD static grid_sink<key> sink_of(Simt& simt, const args& a, std::int64_t row) {
    const grid_memory<T>& w = a.memory;
    grid_sink<key> sink;
    sink.counters = simt.slice(w.counters, row * 3, 3);
    sink.keys = simt.slice(w.keys, row * w.capacity, w.capacity);
    if constexpr (what == answer::pairs) {
      sink.positions = simt.slice(w.positions, row * w.capacity, w.capacity);
    }
    return sink;
  }
};

// The blocks of a row and their threads. `wanted_threads` 0: the default.
struct grid_shape {
  int threads, parts;
};
inline grid_shape grid_shape_of(const problem& p, std::int64_t rows, const device& where,
                                int wanted_threads = 0) {
  const int threads = kernels::grid_threads(where, wanted_threads);
  return {threads, kernels::parts_of(p.n, rows, threads, where)};
}

// Selects from all rows of `m` by pass_count + 2 launches.
template <class T, int bits, answer what>
status select_on_grid(const rows_view<T>& m, const answer_view<T>& out, const grid_memory<T>& w,
                      const grid_shape& shape, const executor& on) {
  const auto [threads, parts] = shape;
  const std::int64_t cleared = w.counts.size / threads + 1;
  status done = simt::launch<kernels::clear_kernel>(
      on, {std::min<std::int64_t>(cleared, 1024), threads}, {w.counts, w.counters});
  for (int pass = 0; done.ok() && pass <= pass_count<order_key_t<T>, bits>; ++pass) {
    done = simt::launch<pass_kernel<T, bits, what>>(on, {m.rows * parts, threads},
                                                    {m, out, w, pass, parts});
  }
  return done;
}

}  // namespace kselect::radix
