// Buffered bitonic merge selection, one pass: the design of the fastest one-pass kernels of the
// last decade (Awad et al.; GridSelect, Zhang et al. 2023; "bits", Jakl & Krulis, J. Parallel
// Distrib. Comput. 2024). Written anew on the seam.
//
// A row a block. The first elements of the row fill a list in shared memory: K best (k rounded up
// to a power of two, at least 128) and a buffer. It is sorted in runs of K, and those are merged
// pairwise, keeping the K best. Then all threads read the row once, 16 bytes at a time, two loads
// in flight, and put what is better than the k-th best so far into the buffer; when it is full the
// same is done again, which lowers the threshold. The answer comes out sorted.
//
// Cost: each element is read once, converted and compared; a barrier for every 8 elements a
// thread; about k ln(n/k) elements of a row in random order go through the buffer. A sort of a run
// takes log2 K (log2 K + 1) / 2 steps and a merge log2 K, those at distances below 128 in
// registers. A descending row sends every element through the buffer. A row never has more than
// one block, so few long rows leave the GPU idle.
//
// Its authors tuned block size and batch per K and card: here +t128, +t256, +t512 threads a block;
// by default 128, 256 or 512 by k and the row's length. The list has room for 4 elements a thread,
// and for 2 K. Shared memory bounds k: 4096.

#include <algorithm>
#include <bit>

#include "baselines/bitonic_runs.cuh"

namespace kselect::bitonic_merge {
namespace {

using baselines::answer;
using baselines::answer_view;
using baselines::no_position;
using baselines::position;
using baselines::rows_view;
using baselines::shared_list;
using baselines::sorted_runs;
using baselines::unrolled;

inline constexpr std::int64_t most_k = 4096;
inline constexpr int in_flight = 2;  // loads of a thread; with 4, fewer blocks fit

template <class T, answer what>
struct kernel {
  static constexpr int max_threads = 512;
  static constexpr int min_blocks = 2;
  using key = order_key_t<T>;
  static constexpr bool indexed = what == answer::pairs;
  using list = shared_list<key, indexed>;
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  static constexpr int items = in_flight * width;  // of a thread in a tile

  struct storage {
    std::uint32_t buffered;
    std::uint32_t open;  // the k-th best is still padding: every element may enter
    key limit;           // else: the k-th best so far
    // Whether one of a tile's elements found no place; of a tile, the next, and the one after it,
    // so that a barrier a tile is enough.
    std::uint32_t overflown[3];
  };
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    position log_run;  // of K
    position places;   // of the list: a multiple of K, at least 2 K
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    selection<Simt> step(simt, shared, a);
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      step.select(row);
      simt.sync_block();  // the next row uses the same lists
    }
  }

 private:
  template <class Simt>
  class selection {
   public:
    KSELECT_HD selection(Simt& simt, storage& shared, const args& a)
        : simt_(simt),
          shared_(shared),
          a_(a),
          run_(position{1} << a.log_run),
          list_(list::at(simt.dynamic_shared(), a.places)) {}

    KSELECT_HD void select(std::int64_t row) {
      if (simt_.thread() < 3) shared_.overflown[simt_.thread()] = 0;
      take_row(baselines::row_at(simt_, a_.matrix, row));
      flush();
      for (position i = thread(); i < a_.matrix.k; i += threads()) {
        const auto found = list_.get(i);
        baselines::write_answer<what>(simt_, a_.out, row * a_.matrix.k + i, found.key, found.at,
                                      a_.matrix.wanted);
      }
    }

   private:
    KSELECT_HD position thread() const { return static_cast<position>(simt_.thread()); }
    KSELECT_HD position threads() const { return static_cast<position>(simt_.threads()); }

    // The row in tiles of aligned loads, then what they do not cover, fewer than 32 elements.
    KSELECT_HD void take_row(simt::global<const T> row) {
      const auto misaligned =
          static_cast<position>(reinterpret_cast<std::uintptr_t>(row.data) % 16);
      const auto n = static_cast<position>(row.size);
      position head = misaligned == 0 ? 0 : (16 - misaligned) / static_cast<position>(sizeof(T));
      if (head > n) head = n;
      const position vectors = (n - head) / width;
      const auto body =
          as_vec<width>(simt_.slice(row, head, static_cast<std::int64_t>(vectors) * width));
      position first = vectors < a_.places / width ? vectors : a_.places / width;
      fill(body, head, first);
      for (; first < vectors; first += threads() * in_flight) {
        take_tile(body, head, first, vectors);
      }
      const position tail = n - head - vectors * width;
      if (head + tail != 0) take_rest(row, head, n - tail, n);
    }

    // The first `vectors` of the row fill the list, as nothing is known yet to keep any out.
    KSELECT_HD void fill(simt::global<const simt::vec<T, width>> body, position head,
                         position vectors) {
      for (position i = thread(); i < vectors; i += threads()) {
        const auto loaded = simt_.load(body, i);
        unrolled<width>([&](auto e) {
          const auto offset = static_cast<position>(decltype(e)::value);
          list_.set(offset * vectors + i,
                    {selection_key(loaded[decltype(e)::value], a_.matrix.wanted),
                     head + i * width + offset});
        });
      }
      keep_best(0, vectors * width);
    }

    KSELECT_HD void take_tile(simt::global<const simt::vec<T, width>> body, position head,
                              position first, position vectors) {
      key own[items] = {};
      std::uint32_t entering = 0;  // one bit for each of them
      const bool open = shared_.open != 0;
      const key limit = shared_.limit;
      simt::vec<T, width> loaded[in_flight];
      unrolled<in_flight>([&](auto v) {
        const position i = first + static_cast<position>(v) * threads() + thread();
        if (i < vectors) loaded[v] = simt_.load(body, i);
      });
      unrolled<items>([&](auto j) {
        constexpr int v = decltype(j)::value / width;
        const position i = first + static_cast<position>(v) * threads() + thread();
        if (i < vectors) {
          own[j] = selection_key(loaded[v][decltype(j)::value % width], a_.matrix.wanted);
          if (own[j] < limit || open) entering |= 1U << decltype(j)::value;
        }
      });
      offer(own, entering, [&](int j) {
        const position i = first + static_cast<position>(j / width) * threads() + thread();
        return head + i * width + static_cast<position>(j % width);
      });
    }

    KSELECT_HD void take_rest(simt::global<const T> row, position head, position tail_first,
                              position n) {
      const position i = thread() < head ? thread() : tail_first + (thread() - head);
      key own[items] = {};
      std::uint32_t entering = 0;
      if (i < n) {
        own[0] = selection_key(simt_.load(row, i), a_.matrix.wanted);
        entering = own[0] < shared_.limit || shared_.open != 0 ? 1U : 0U;
      }
      offer(own, entering, [&](int) { return i; });
    }

    // Puts the entering ones of the block into the buffer. As often as it overflows it is merged,
    // and those that found no place and still are better than the k-th best try again.
    template <class Position>
    KSELECT_HD void offer(const key (&own)[items], std::uint32_t entering, const Position& at) {
      while (true) {
        if (entering != 0) {
          const auto count = static_cast<position>(simt_.popc(entering));
          position place = run_ + simt_.atomic_add(shared_.buffered, count);
          if (place + count > a_.places) shared_.overflown[turn_] = 1;
          unrolled<items>([&](auto j) {
            if ((entering >> decltype(j)::value & 1U) == 0 || place >= a_.places) return;
            list_.set(place++, {own[j], at(decltype(j)::value)});
            entering &= ~(1U << decltype(j)::value);
          });
        }
        simt_.sync_block();
        const bool full = shared_.overflown[turn_] != 0;
        const int before_last = turn_ == 0 ? 2 : turn_ - 1;  // and the one after the next
        if (simt_.thread() == 0) shared_.overflown[before_last] = 0;
        turn_ = turn_ == 2 ? 0 : turn_ + 1;
        if (!full) return;
        flush();
        unrolled<items>([&](auto j) {
          const bool still = own[j] < shared_.limit || shared_.open != 0;
          if (!still) entering &= ~(1U << decltype(j)::value);
        });
      }
    }

    // Merges the buffer into the best and empties it.
    KSELECT_HD void flush() {
      simt_.sync_block();
      const position filled = run_ + shared_.buffered;
      keep_best(1, filled < a_.places ? filled : a_.places);
    }

    // Of the first `filled` places, of which runs from `unsorted` on are not sorted yet.
    KSELECT_HD void keep_best(position unsorted, position filled) {
      if (simt_.thread() == 0) simt_.count(simt::counter::buffer_flushes);
      position runs = (filled + run_ - 1) >> a_.log_run;
      if (runs == 0) runs = 1;
      for (position i = filled + thread(); i < runs << a_.log_run; i += threads()) {
        list_.set(i, baselines::padding<key, indexed>());
      }
      sorted_runs<Simt, key, indexed> sorting(simt_, list_, a_.log_run);
      sorting.sort(unsorted, runs);
      sorting.keep_best(runs);
      if (simt_.thread() == 0) {
        const auto kth = list_.get(a_.matrix.k - 1);
        shared_.buffered = 0;
        shared_.limit = kth.key;
        shared_.open = indexed && kth.at == no_position ? 1U : 0U;
      }
      simt_.sync_block();
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    position run_;
    list list_;
    int turn_ = 0;  // of `overflown`
  };
};

int threads_of(int wanted, const problem& p, const device& where) {
  if (wanted != 0) return wanted;
  if (where.kind != executor_kind::cuda) return 128;
  if (p.n > 1 << 17) return 512;
  return p.k > 1024 ? 256 : 128;
}

template <int wanted_threads>
status enqueue(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  return baselines::visit_list_answer(p, [&]<class T, answer what>() {
    const int threads = threads_of(wanted_threads, p, *on.device);
    position log_run = std::bit_width(baselines::least_run) - 1;
    while (position{1} << log_run < p.k) ++log_run;
    const position places = std::max(position{2} << log_run, static_cast<position>(4 * threads));
    const std::int64_t blocks = std::min<std::int64_t>(p.q, 1 << 24);
    return simt::launch<kernel<T, what>>(
        on, {blocks, threads, places * kernel<T, what>::list::item_bytes},
        {baselines::rows_of<T>(p, buffers), baselines::answer_in<T>(p, buffers), log_run, places});
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name) {
  algorithm a = baselines::gpu_entry(name, "bitonic merge select",
                                     "after Zhang et al. 2023 (GridSelect) and bits (JPDC 2024)");
  a.promises.ordering = output_ordering::sorted;
  a.promises.limits.max_k = most_k;
  a.enqueue = &enqueue<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("bitonic-merge"),
    entry<128>("bitonic-merge+t128"),
    entry<256>("bitonic-merge+t256"),
    entry<512>("bitonic-merge+t512"),
};

}  // namespace
}  // namespace kselect::bitonic_merge

namespace kselect::entries {

std::span<const algorithm> bitonic_merge_select() { return bitonic_merge::variants; }

}  // namespace kselect::entries
