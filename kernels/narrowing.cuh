#pragma once
// The common part of bucket select (bucket_select.cu) and randomized select (randomized_select.cu):
// the whole device narrows down one row, round after round. A *rule* sorts keys into bins, which
// are in the order of the keys. A round counts the bins and finds the bin of the k-th key. It
// writes the elements of earlier bins to the answer and keeps the elements of that bin for the next
// round.
//
// A rule provides
//     static constexpr int bits;                 2^bits bins
//     static constexpr bool wants_extremes;      bounds are the least and greatest key kept
//     rule(bounds<Key>, round, direction)
//     bin(key)                                   monotone
//     single(bin)                                whether a bin can hold only one key
//     key_of(bin)                                that key
// The first round reads the row, later rounds two buffers in turn.

#include <algorithm>

#include "kernels/bin_counts.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::kernels::narrowing {

using kernels::answer;
using kernels::answer_view;
using kernels::bin_storage;
using kernels::position;
using kernels::rows_view;

template <class Key>
struct bounds {
  Key low, high;
};

struct progress {
  position wanted;  // elements wanted of the source
  position left;    // elements of the source
  std::uint32_t finished;
};

enum counter : std::int64_t { written, tied, kept };
inline constexpr std::int64_t counters_per_round = 3;

// The state of a row's rounds in global memory, sized for `rounds` rounds.
template <class T>
struct memory {
  simt::global<progress> rounds;                // [rounds + 1]: at the start of each round
  simt::global<order_key_t<T>> lows, highs;     // [rounds + 1]
  simt::global<std::uint32_t> counts;           // [rounds][bins]
  simt::global<std::uint32_t> counters;         // [rounds + 1][3]; `written` is only in [0]
  simt::global<order_key_t<T>> keys_0, keys_1;  // [n] each
  simt::global<position> positions_0, positions_1;

  KSELECT_HD simt::global<order_key_t<T>> keys(int which) const {
    return which == 0 ? keys_0 : keys_1;
  }
  KSELECT_HD simt::global<position> positions(int which) const {
    return which == 0 ? positions_0 : positions_1;
  }
};

template <class T>
memory<T> carve(const problem& p, int bits, int rounds, simt::carver& pieces) {
  using key = order_key_t<T>;
  memory<T> w;
  w.rounds = pieces.take<progress>(rounds + 1);
  w.lows = pieces.take<key>(rounds + 1);
  w.highs = pieces.take<key>(rounds + 1);
  w.counts = pieces.take<std::uint32_t>(static_cast<std::int64_t>(rounds) << bits);
  w.counters = pieces.take<std::uint32_t>((rounds + 1) * counters_per_round);
  w.keys_0 = pieces.take<key>(p.n);
  w.keys_1 = pieces.take<key>(p.n);
  w.positions_0 = pieces.take<position>(p.has_indices() ? p.n : 0);
  w.positions_1 = pieces.take<position>(p.has_indices() ? p.n : 0);
  return w;
}

// ---- kernels

template <class T>
struct round_args {
  rows_view<T> matrix;  // one row
  answer_view<T> out;
  narrowing::memory<T> memory;
  int round;
};

// Initialises the memory before the first round.
template <class T>
struct start_kernel {
  struct storage {};
  using args = round_args<T>;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    using key = order_key_t<T>;
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    const std::int64_t first = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    const auto fill = [&](auto array, auto value) {
      for (std::int64_t i = first; i < array.size; i += stride) simt.store(array, i, value);
    };
    fill(a.memory.counts, 0U);
    fill(a.memory.counters, 0U);
    fill(a.memory.lows, static_cast<key>(~key{0}));
    fill(a.memory.highs, key{0});
    if (first == 0) simt.store(a.memory.rounds, 0, {a.matrix.k, a.matrix.n, 0});
  }
};

// Walks over a round's source: calls f(key, position in the row).
template <class T, bool indexed, class Simt, class F>
KSELECT_HD void walk(Simt& simt, const round_args<T>& a, position left, const F& f) {
  const auto stride = static_cast<position>(simt.blocks() * simt.threads());
  const auto index = static_cast<position>(simt.block() * simt.threads() + simt.thread());
  if (a.round == 0) {
    if (index == 0) simt.count(simt::counter::passes);
    const direction wanted = a.matrix.wanted;
    kernels::for_each_element(simt, kernels::row_at(simt, a.matrix, 0), index, stride,
                              [&](T value, position at) { f(selection_key(value, wanted), at); });
    return;
  }
  const auto keys = a.memory.keys((a.round - 1) % 2);
  const auto positions = a.memory.positions((a.round - 1) % 2);
  for (position i = index; i < left; i += stride) {
    position at = 0;
    if constexpr (indexed) at = simt.load(positions, i);
    f(simt.load(keys, i), at);
  }
}

// Widens the bounds of a round to include `own` of every thread of the block.
template <class T, class Simt>
KSELECT_HD void widen(Simt& simt, const memory<T>& w, int round, bounds<order_key_t<T>> own) {
  for (int delta = simt::warp_size / 2; delta > 0; delta /= 2) {
    const auto low = simt.shfl_xor(simt::full_mask, own.low, delta);
    const auto high = simt.shfl_xor(simt::full_mask, own.high, delta);
    if (low < own.low) own.low = low;
    if (high > own.high) own.high = high;
  }
  if (simt.lane() == 0 && own.low <= own.high) {
    simt.atomic_min(w.lows, round, own.low);
    simt.atomic_max(w.highs, round, own.high);
  }
}

template <class Key>
KSELECT_HD constexpr bounds<Key> no_bounds() {
  return {static_cast<Key>(~Key{0}), Key{0}};
}

// The least and the greatest key of the row.
template <class T>
struct extremes_kernel {
  static constexpr int max_threads = 512;
  struct storage {};
  using args = round_args<T>;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    bounds<order_key_t<T>> own = no_bounds<order_key_t<T>>();
    walk<T, false>(simt, a, a.matrix.n, [&](order_key_t<T> k, position) {
      if (k < own.low) own.low = k;
      if (k > own.high) own.high = k;
    });
    widen(simt, a.memory, 0, own);
  }
};

template <class T, class Rule, class Simt>
KSELECT_HD Rule rule_of(Simt& simt, const round_args<T>& a) {
  return Rule({simt.load(a.memory.lows, a.round), simt.load(a.memory.highs, a.round)}, a.round,
              a.matrix.wanted);
}

template <class T, class Rule>
struct count_kernel {
  static constexpr int max_threads = 512;
  struct storage {
    bin_storage<Rule::bits> bins;
  };
  using args = round_args<T>;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const progress now = simt.load(a.memory.rounds, a.round);
    if (now.finished != 0) return;
    const Rule rule = rule_of<T, Rule>(simt, a);
    kernels::clear_bins(simt, shared.bins);
    simt.sync_block();
    walk<T, false>(simt, a, now.left, [&](order_key_t<T> k, position) {
      simt.atomic_add(shared.bins.counts[rule.bin(k)], 1U);
    });
    simt.sync_block();
    const std::int64_t first = std::int64_t{a.round} << Rule::bits;
    for (int bin = simt.thread(); bin < 1 << Rule::bits; bin += simt.threads()) {
      const std::uint32_t own = shared.bins.counts[bin];
      if (own != 0) simt.atomic_add(a.memory.counts, first + bin, own);
    }
  }
};

template <class T, class Rule, answer what>
struct filter_kernel {
  static constexpr int max_threads = 512;
  using key = order_key_t<T>;
  struct storage {
    bin_storage<Rule::bits> bins;
  };
  using args = round_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const progress now = simt.load(a.memory.rounds, a.round);
    const bool leader = simt.block() == 0 && simt.thread() == 0;
    if (now.finished != 0) {
      if (leader) simt.store(a.memory.rounds, a.round + 1, now);
      return;
    }
    const std::int64_t first = std::int64_t{a.round} << Rule::bits;
    for (int bin = simt.thread(); bin < 1 << Rule::bits; bin += simt.threads()) {
      shared.bins.counts[bin] = simt.load(a.memory.counts, first + bin);
    }
    simt.sync_block();
    kernels::find_bin(simt, shared.bins, now.wanted);
    const Rule rule = rule_of<T, Rule>(simt, a);
    progress next{now.wanted - shared.bins.before, shared.bins.count, 0};
    next.finished =
        rule.single(shared.bins.bin) || (what != answer::kth && next.wanted == next.left);
    if (leader) simt.store(a.memory.rounds, a.round + 1, next);
    if constexpr (what == answer::kth) {
      if (next.finished != 0) {
        if (leader) {
          const key k = rule.key_of(shared.bins.bin);
          simt.store(a.out.values, 0, from_selection_key<T>(k, a.matrix.wanted));
        }
        return;
      }
    }
    separate(simt, a, now, next, rule, shared.bins.bin);
  }

 private:
  // Writes the elements of bins before `own_bin`. In the last round it also writes as many elements
  // of that bin as are wanted; in other rounds it keeps them.
  template <class Simt>
  KSELECT_HD static void separate(Simt& simt, const args& a, const progress& now,
                                  const progress& next, const Rule& rule, std::uint32_t own_bin) {
    const auto keys = a.memory.keys(a.round % 2);
    const auto positions = a.memory.positions(a.round % 2);
    const auto next_of = [&](counter c) {
      const std::int64_t round = c == written ? 0 : a.round;
      return simt.atomic_add(a.memory.counters, round * counters_per_round + c, 1U);
    };
    const auto write = [&](position place, key k, position at) {
      if constexpr (what != answer::kth) {
        kernels::write_answer<what>(simt, a.out, place, k, at, a.matrix.wanted);
      }
    };
    bounds<key> extremes = no_bounds<key>();
    walk<T, what == answer::pairs>(simt, a, now.left, [&](key k, position at) {
      const std::uint32_t bin = rule.bin(k);
      if (bin > own_bin) return;
      if (bin < own_bin) {
        if (what != answer::kth) write(next_of(written), k, at);
      } else if (next.finished != 0) {
        const position place = next_of(tied);
        if (place < next.wanted) write(a.matrix.k - next.wanted + place, k, at);
      } else {
        const position place = next_of(kept);
        simt.store(keys, place, k);
        if constexpr (what == answer::pairs) simt.store(positions, place, at);
        if (k < extremes.low) extremes.low = k;
        if (k > extremes.high) extremes.high = k;
      }
    });
    if constexpr (Rule::wants_extremes) widen(simt, a.memory, a.round + 1, extremes);
  }
};

inline simt::grid shape_of(const problem& p, const device& where, int wanted_threads) {
  const int threads = kernels::grid_threads(where, wanted_threads);
  return {kernels::parts_of(p.n, 1, threads, where), threads};
}

// Selects from one row after another, in the same memory. select_row(round_args) starts one
// selection. Ends at the first that fails.
template <class T, class SelectRow>
status each_row(const problem& p, const io& buffers, const memory<T>& shared,
                const SelectRow& select_row) {
  status done;
  for (std::int64_t row = 0; done.ok() && row < p.q; ++row) {
    done = select_row(round_args<T>{one_row_of<T>(p, buffers, row),
                                    one_answer_in<T>(p, buffers, row), shared, 0});
  }
  return done;
}

}  // namespace kselect::kernels::narrowing
