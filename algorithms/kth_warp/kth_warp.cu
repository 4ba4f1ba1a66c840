// The k-th value of short rows, by bisection: one warp holds a row's keys in registers and finds
// the k-th smallest bit by bit. Ours.
//
//   1. The bits that the least and the greatest key share are the first bits of every key.
//   2. For each lower bit, from the highest on: if fewer than k keys are less than the key found so
//      far with this bit set, the k-th key has the bit.
//   3. If exactly k keys are less, the k-th is the greatest of these. Of random keys this ends the
//      search after about log2(n) + 2 bits.
//
// Cost: the row is read once. A bit takes two instructions for each key of a lane, and one sum over
// the warp. No shared memory, no workspace, no barrier.
//
// Entries: kth-warp

#include <limits>

#include "kernels/bin_counts.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::entries {
namespace {

using kernels::position;

inline constexpr int most_keys = 64;  // of a lane, in registers
inline constexpr int rows_of_block = 4;

template <class T, int keys>
struct kth_kernel {
  static constexpr int max_threads = rows_of_block * simt::warp_size;
  struct storage {};
  struct args {
    kernels::rows_view<T> matrix;
    kernels::answer_view<T> out;
  };
  using key = order_key_t<T>;
  static constexpr key greatest = std::numeric_limits<key>::max();

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * rows_of_block + simt.warp();
    if (row >= a.matrix.rows) return;  // the whole warp
    const auto elements = kernels::row_at(simt, a.matrix, row);
    key own[keys];
    KSELECT_UNROLL for (int i = 0; i < keys; ++i) {
      const position at = static_cast<position>(i * simt::warp_size + simt.lane());
      own[i] = at < a.matrix.n ? selection_key(simt.load(elements, at), a.matrix.wanted) : greatest;
    }
    const key found = kth(simt, own, a.matrix.k, extremes_of(simt, own, a.matrix.n));
    if (simt.lane() == 0) {
      simt.store(a.out.values, row, from_selection_key<T>(found, a.matrix.wanted));
    }
  }

 private:
  struct extremes {
    key least, most;
  };
  template <class Simt, class Better>
  KSELECT_HD static key best_of_warp(Simt& simt, key mine, const Better& better) {
    for (int apart = simt::warp_size / 2; apart > 0; apart /= 2) {
      const key other = simt.shfl_xor(simt::full_mask, mine, apart);
      if (better(other, mine)) mine = other;
    }
    return mine;
  }
  KSELECT_HD static bool less(key a, key b) { return a < b; }
  KSELECT_HD static bool more(key a, key b) { return a > b; }

  // Of the row's keys: what fills up the last lanes does not count.
  template <class Simt>
  KSELECT_HD static extremes extremes_of(Simt& simt, const key (&own)[keys], position n) {
    extremes e{greatest, 0};
    KSELECT_UNROLL for (int i = 0; i < keys; ++i) {
      const position at = static_cast<position>(i * simt::warp_size + simt.lane());
      if (less(own[i], e.least)) e.least = own[i];
      if (at < n && more(own[i], e.most)) e.most = own[i];
    }
    return {best_of_warp(simt, e.least, less), best_of_warp(simt, e.most, more)};
  }

  template <class Simt>
  KSELECT_HD static position count_less(Simt& simt, const key (&own)[keys], key than) {
    position count = 0;
    KSELECT_UNROLL for (int i = 0; i < keys; ++i) count += own[i] < than ? 1 : 0;
    return simt.reduce_add(simt::full_mask, count);
  }
  template <class Simt>
  KSELECT_HD static key greatest_less(Simt& simt, const key (&own)[keys], key than) {
    key best = 0;
    KSELECT_UNROLL for (int i = 0; i < keys; ++i) {
      if (own[i] < than && own[i] > best) best = own[i];
    }
    return best_of_warp(simt, best, more);
  }

  template <class Simt>
  KSELECT_HD static key kth(Simt& simt, const key (&own)[keys], position k, const extremes& e) {
    const key differ = e.least ^ e.most;
    if (differ == 0) return e.least;
    key bit = key{1} << (std::numeric_limits<key>::digits - 1);
    while ((differ & bit) == 0) bit >>= 1;
    key found = e.least & ~(bit | (bit - 1));  // the bits that all keys share
    for (; bit != 0; bit >>= 1) {
      const key with = found | bit;
      const position below = count_less(simt, own, with);
      if (below == k) return greatest_less(simt, own, with);
      if (below < k) found = with;
    }
    return found;
  }
};

template <class T, int keys>
status start(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  const std::int64_t blocks = (p.q + rows_of_block - 1) / rows_of_block;
  return simt::launch<kth_kernel<T, keys>>(
      on, {blocks, rows_of_block * simt::warp_size},
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers)});
}

// The least power of four that a lane's keys fit into: few kernels, and few keys for nothing.
template <class T, int keys>
call_plan plan_with(const problem& p) {
  if constexpr (keys < most_keys) {
    if (p.n > keys * simt::warp_size) return plan_with<T, 4 * keys>(p);
  }
  return call_plan::of<&start<T, keys>>(p);
}

call_plan plan(const problem& p, const device&) {
  return visit(p.type, [&]<class T>(T) { return plan_with<T, 1>(p); });
}

constexpr algorithm entry = [] {
  algorithm a = kernels::gpu_entry("kth-warp", "k-th by bisection", "kselect");
  a.promises.limits.max_n = most_keys * simt::warp_size;
  a.payloads = kernels::kth_alone;
  a.plan = &plan;
  return a;
}();

}  // namespace

std::span<const algorithm> kth_warp() { return {&entry, 1}; }

}  // namespace kselect::entries
