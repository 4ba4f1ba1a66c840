// The best element of each row, k = 1: what greedy sampling asks for. Ours.
//
//   1. A row is cut into parts, a block each, so many that even one row keeps the device busy. Each
//      thread keeps the best of what it reads, with its position, and the block posts the best of
//      its threads.
//   2. A second launch takes the best of a row's parts, a warp a row. It starts while the first one
//      ends. A row of one part needs none.
//
// Of equal elements the first is taken, so the answer is the same on every device.
//
// Cost: the row is read once. A selection by thresholds needs one more round between the blocks of
// a row. For a row of 2^17 elements this round takes as long as reading.
//
// Entries: best-of-row

#include <algorithm>

#include "kernels/gpu_rows.cuh"
#include "kernels/ragged_rows.cuh"
#include "kselect/simt/device_size.hpp"

namespace kselect::entries {
namespace {

using kernels::position;

// The best of some elements, with its position. An element with the worst key of all is not taken:
// its position stays `nowhere`.
template <class T>
struct best {
  using stored_key = order_key_t<T>;
  using key_type = order_word_t<T>;  // lanes exchange no less than 32 bits
  key_type key;
  position at;

  static constexpr position nowhere = ~position{0};
  KSELECT_HD static best none() { return {static_cast<stored_key>(~stored_key{0}), nowhere}; }
  KSELECT_HD bool before(const best& other) const {
    return key != other.key ? key < other.key : at < other.at;
  }
  KSELECT_HD void take(const best& other) {
    if (other.before(*this)) *this = other;
  }

  // The best of the lanes, in each of them.
  template <class Simt>
  KSELECT_HD void take_of_warp(Simt& simt) {
    for (int apart = simt::warp_size / 2; apart > 0; apart /= 2) {
      const auto other_key = simt.shfl_xor(simt::full_mask, key, apart);
      take({other_key, simt.shfl_xor(simt::full_mask, at, apart)});
    }
  }
};

template <class T>
struct best_args {
  kernels::rows_view<T> matrix;
  kernels::answer_view<T> out;
  simt::global<order_key_t<T>> keys;  // [Q][parts]: the best of each part,
  simt::global<position> positions;   // and where it is
  position parts;                     // of a row
  position length;                    // elements of a part but the last
};

template <class Simt, class T>
KSELECT_HD void answer_row(Simt& simt, const best_args<T>& a, std::int64_t row, const best<T>& b) {
  const auto out = kernels::outputs_at(simt, a.out, row, 1);
  const position at = b.at == best<T>::nowhere ? 0 : b.at;  // all elements have the worst key
  kernels::write_output(
      simt, out, 0, from_selection_key<T>(static_cast<order_key_t<T>>(b.key), a.matrix.wanted), at);
}

template <class T>
struct parts_kernel {
  static constexpr int max_threads = 256;
  struct storage {
    best<T> of_warps[max_threads / simt::warp_size];
  };
  using args = best_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t tasks = a.matrix.rows * a.parts;
    for (std::int64_t task = simt.block(); task < tasks; task += simt.blocks()) {
      const std::int64_t row = task / a.parts;
      const auto first = static_cast<position>(task % a.parts) * a.length;
      best<T> mine = best_of_thread(simt, a, row, first);
      mine.take_of_warp(simt);
      if (simt.lane() == 0) shared.of_warps[simt.warp()] = mine;
      simt.sync_block();
      if (simt.thread() == 0) {
        for (int w = 1; w < simt.warps(); ++w) mine.take(shared.of_warps[w]);
        post(simt, a, task, row, mine);
      }
      simt.sync_block();
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static best<T> best_of_thread(Simt& simt, const args& a, std::int64_t row,
                                           position first) {
    const position left = a.matrix.n - first;
    const auto part =
        simt.slice(kernels::row_at(simt, a.matrix, row), first, left < a.length ? left : a.length);
    best<T> mine = best<T>::none();
    kernels::for_each_element(simt, part, static_cast<position>(simt.thread()),
                              static_cast<position>(simt.threads()), [&](T value, position at) {
                                const auto key = selection_key(value, a.matrix.wanted);
                                if (key < mine.key) mine = {key, first + at};
                              });
    return mine;
  }

  template <class Simt>
  KSELECT_HD static void post(Simt& simt, const args& a, std::int64_t task, std::int64_t row,
                              const best<T>& b) {
    if (a.parts == 1) return answer_row(simt, a, row, b);
    simt.store(a.keys, task, static_cast<order_key_t<T>>(b.key));
    simt.store(a.positions, task, b.at);
  }
};

inline constexpr int rows_of_block = 4;

template <class T>
struct rows_kernel {
  static constexpr int max_threads = rows_of_block * simt::warp_size;
  struct storage {};
  using args = best_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.wait_for_previous();
    const std::int64_t stride = std::int64_t{simt.blocks()} * rows_of_block;
    std::int64_t row = std::int64_t{simt.block()} * rows_of_block + simt.warp();
    for (; row < a.matrix.rows; row += stride) {
      best<T> mine = best<T>::none();
      for (position i = simt.lane(); i < a.parts; i += simt::warp_size) {
        const std::int64_t part = row * a.parts + i;
        mine.take({simt.load(a.keys, part), simt.load(a.positions, part)});
      }
      mine.take_of_warp(simt);
      if (simt.lane() == 0) answer_row(simt, a, row, mine);
    }
  }
};

struct cut {
  position parts, length;  // as best_args
  int threads;             // of a part's block
};

template <class T>
best_args<T> args_of(const cut& c, const problem& p, const io& buffers, simt::carver& memory) {
  best_args<T> a{kernels::rows_of<T>(p, buffers),
                 kernels::answer_in<T>(p, buffers),
                 {},
                 {},
                 c.parts,
                 c.length};
  if (c.parts == 1) return a;
  a.keys = memory.take<order_key_t<T>>(p.q * c.parts);
  a.positions = memory.take<position>(p.q * c.parts);
  return a;
}

template <class T>
status start(const cut& c, const problem& p, const io& buffers, std::span<std::byte> workspace,
             const executor& on) {
  simt::carver memory(workspace.data());
  const best_args<T> a = args_of<T>(c, p, buffers, memory);
  const std::int64_t blocks = std::min(p.q * c.parts, simt::block_limit);
  status done = simt::launch<parts_kernel<T>>(on, {blocks, c.threads}, a);
  if (!done.ok() || c.parts == 1) return done;
  simt::grid shape{std::min((p.q + rows_of_block - 1) / rows_of_block, simt::block_limit),
                   rows_kernel<T>::max_threads};
  shape.overlaps_previous = true;
  return simt::launch<rows_kernel<T>>(on, shape, a);
}

// Parts for all places of the device twice over, but none so short that a thread reads fewer than
// four vectors.
template <class T>
cut cut_for(const problem& p, const device& where) {
  const int wide = simt::block_threads(where, parts_kernel<T>::max_threads);
  const int threads = p.n <= 1024 ? 2 * simt::warp_size : wide;
  const std::int64_t shortest = std::int64_t{4} * threads * 16 / sizeof(T);
  const std::int64_t wanted = (2 * simt::resident_blocks(where, threads) - 1) / p.q + 1;
  const std::int64_t parts = std::clamp<std::int64_t>((p.n - 1) / shortest + 1, 1, wanted);
  const std::int64_t length = ((p.n - 1) / parts / shortest + 1) * shortest;
  return {static_cast<position>((p.n - 1) / length + 1), static_cast<position>(length), threads};
}

call_plan plan(const problem& p, const device& where) {
  return visit_bits(p.type, [&]<class T>(T) {
    const cut c = cut_for<T>(p, where);
    simt::carver sizes(nullptr);
    static_cast<void>(args_of<T>(c, p, io{}, sizes));
    return call_plan::of<&start<T>>(p, sizes.used(), c);
  });
}

constexpr algorithm entry = [] {
  algorithm a = kernels::gpu_entry("best-of-row", "best of parts", "kselect");
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.promises.limits.max_k = 1;
  a.dtypes = every_dtype;
  a.payloads = set_of(payload::values, payload::values_and_indices, payload::indices);
  a.plan = &plan;
  return a;
}();

}  // namespace

std::span<const algorithm> best_of_row() { return {&entry, 1}; }

}  // namespace kselect::entries
