// Buffered bitonic merge selection, one pass: the design of the fastest one-pass kernels of the
// last decade (Awad et al.; GridSelect, Zhang et al. 2023; "bits", Jakl & Krulis, J. Parallel
// Distrib. Comput. 2024). Written anew on the seam.
//
// A row a block. All threads read the row once, 16 bytes at a time, four loads in flight, and put
// the elements better than the k-th best so far into one buffer in shared memory. When it is full
// it is sorted by a bitonic network and merged into the K best (k rounded up to a power of two),
// which lowers the threshold. The answer comes out sorted.
//
// Cost: each element is read once, converted and compared; two barriers for every 16 elements a
// thread; about k ln(n/k) elements of a row in random order go through the buffer, and a full
// buffer of B takes log2 B (log2 B + 1) / 2 + log2 K steps in shared memory. A descending row sends
// every element through the buffer. A row never has more than one block, so few long rows leave the
// GPU idle.
//
// Its authors tuned block size and batch per K and card: here +t128, +t256, +t512 threads a block;
// by default 128, 256 or 512 by the row's length. The buffer is as long as K, at least 4 elements a
// thread. Shared memory bounds k: 4096.

#include <algorithm>

#include "baselines/bitonic.cuh"

namespace kselect::bitonic_merge {
namespace {

using baselines::answer;
using baselines::answer_view;
using baselines::no_position;
using baselines::position;
using baselines::rows_view;
using baselines::shared_list;
using baselines::unrolled;

inline constexpr std::int64_t most_k = 4096;
inline constexpr int in_flight = 4;  // loads of a thread

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
  };
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    position best, buffer;  // sizes, powers of two, buffer >= best
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
        : simt_(simt), shared_(shared), a_(a), best_(list::at(simt.dynamic_shared(), a.best)) {
      auto* const start = static_cast<unsigned char*>(simt.dynamic_shared());
      buffer_ = list::at(start + a.best * list::item_bytes, a.buffer);
    }

    KSELECT_HD void select(std::int64_t row) {
      const auto elements = baselines::row_at(simt_, a_.matrix, row);
      for (position i = thread(); i < a_.best; i += threads()) {
        best_.set(i, baselines::padding<key, indexed>());
      }
      if (simt_.thread() == 0) {
        shared_.buffered = 0;
        shared_.open = 1;
        shared_.limit = static_cast<key>(~key{0});
      }
      simt_.sync_block();
      take_row(elements);
      flush();
      for (position i = thread(); i < a_.matrix.k; i += threads()) {
        const auto found = best_.get(i);
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
      for (position first = 0; first < vectors; first += threads() * in_flight) {
        take_tile(body, head, first, vectors);
      }
      const position tail = n - head - vectors * width;
      if (head + tail != 0) take_rest(row, head, n - tail, n);
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
          unrolled<items>([&](auto j) {
            if ((entering >> decltype(j)::value & 1U) == 0) return;
            const position place = simt_.atomic_add(shared_.buffered, 1U);
            if (place >= a_.buffer) return;
            buffer_.set(place, {own[j], at(decltype(j)::value)});
            entering &= ~(1U << decltype(j)::value);
          });
        }
        simt_.sync_block();
        const bool full = shared_.buffered >= a_.buffer;
        simt_.sync_block();  // no count goes on before all have read it
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
      const position filled = shared_.buffered < a_.buffer ? shared_.buffered : a_.buffer;
      if (simt_.thread() == 0) simt_.count(simt::counter::buffer_flushes);
      for (position i = filled + thread(); i < a_.buffer; i += threads()) {
        buffer_.set(i, baselines::padding<key, indexed>());
      }
      baselines::network_on(simt_, buffer_, a_.buffer).sort_descending();
      for (position i = thread(); i < a_.best; i += threads()) {
        const auto entering = buffer_.get(a_.buffer - a_.best + i);
        if (before(entering, best_.get(i))) best_.set(i, entering);
      }
      baselines::network_on(simt_, best_, a_.best).merge_runs(a_.best);
      if (simt_.thread() == 0) {
        const auto kth = best_.get(a_.matrix.k - 1);
        shared_.buffered = 0;
        shared_.limit = kth.key;
        shared_.open = indexed && kth.at == no_position ? 1U : 0U;
      }
      simt_.sync_block();
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    list best_, buffer_;
  };
};

int threads_of(int wanted, const problem& p, const device& where) {
  if (wanted != 0) return wanted;
  if (where.kind != executor_kind::cuda || p.n <= 8192) return 128;
  return p.n <= 65536 ? 256 : 512;
}

template <int wanted_threads>
status enqueue(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  return baselines::visit_list_answer(p, [&]<class T, answer what>() {
    const int threads = threads_of(wanted_threads, p, *on.device);
    const auto best =
        static_cast<position>(std::max<std::int64_t>(baselines::next_power_of_two(p.k), 32));
    const auto buffer = std::max<position>(best, static_cast<position>(4 * threads));
    const std::int64_t blocks = std::min<std::int64_t>(p.q, 1 << 24);
    return simt::launch<kernel<T, what>>(
        on, {blocks, threads, (best + buffer) * kernel<T, what>::list::item_bytes},
        {baselines::rows_of<T>(p, buffers), baselines::answer_in<T>(p, buffers), best, buffer});
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
