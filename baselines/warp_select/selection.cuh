#pragma once
// Warp selection: the kernel, and its launch on rows of one type. warp_select.cu explains it.

#include <algorithm>

#include "baselines/warp_select/launch.hpp"
#include "kernels/bitonic.cuh"

namespace kselect::warp_select {
using kernels::answer;
using kernels::answer_view;
using kernels::item;
using kernels::no_position;
using kernels::position;
using kernels::rows_view;
using kernels::unrolled;
using kernels::warp_list;

inline constexpr int least_queue = 32;
inline constexpr int thread_queue = 8;

// One warp's selection from one row.
template <class Simt, class T, bool indexed, int registers>
class selection {
 public:
  using key = order_key_t<T>;
  using value = item<key, indexed>;
  static constexpr int width = 16 / static_cast<int>(sizeof(T));

  KSELECT_HD selection(Simt& simt, position k, direction wanted)
      : simt_(simt), k_(k), wanted_(wanted) {
    best_.fill_with_padding();
    forget();
  }

  KSELECT_HD void take(simt::global<const T> row) {
    const auto misaligned = static_cast<position>(reinterpret_cast<std::uintptr_t>(row.data) % 16);
    const auto n = static_cast<position>(row.size);
    position head = misaligned == 0 ? 0 : (16 - misaligned) / static_cast<position>(sizeof(T));
    if (head > n) head = n;
    const position vectors = (n - head) / width;
    take_loose(row, head, head + vectors * width);
    take_vectors(row, head, vectors);
  }

  // Calls f(place, item) for the k best, best first.
  template <class F>
  KSELECT_HD void for_each_best(const F& f) const {
    unrolled<registers>([&](auto r) {
      const auto place = static_cast<position>(r * simt::warp_size + simt_.lane());
      if (place < k_) f(place, best_.items[r]);
    });
  }

 private:
  // Takes the elements before `head` and from `tail` on, which no aligned load covers. They are
  // fewer than 32 and the thread queues are empty, so they fit.
  KSELECT_HD void take_loose(simt::global<const T> row, position head, position tail) {
    const auto lane = static_cast<position>(simt_.lane());
    const position i = lane < head ? lane : tail + (lane - head);
    if (i < static_cast<position>(row.size)) {
      offer({selection_key(simt_.load(row, i), wanted_), i});
    }
  }

  // Flushes after every load that might have filled a thread queue, and at the end. Only one place
  // in the code does so, because the unrolled flush is long.
  KSELECT_HD void take_vectors(simt::global<const T> row, position head, position vectors) {
    const auto body =
        as_vec<width>(simt_.slice(row, head, static_cast<std::int64_t>(vectors) * width));
    const auto lane = static_cast<position>(simt_.lane());
    // The next load starts before the elements of the last one are compared.
    simt::vec<T, width> next{};
    if (lane < vectors) next = simt_.load(body, lane);
    bool at_end = false;
    for (position first = 0; !at_end; first += simt::warp_size) {
      at_end = first >= vectors;
      const position i = first + lane;
      const simt::vec<T, width> own = next;
      if (i + simt::warp_size < vectors) next = simt_.load(body, i + simt::warp_size);
      if (i < vectors) {
        unrolled<width>([&](auto j) {
          offer({selection_key(own[j], wanted_), head + i * width + static_cast<position>(j)});
        });
      }
      const bool filled = simt_.any(simt::full_mask, queued_ > thread_queue - width);
      if (filled || at_end) flush();
    }
  }

  KSELECT_HD void offer(const value& v) {
    if (!(v.key < limit_ || open_)) return;
    unrolled<thread_queue - 1>([&](auto j) {
      constexpr int to = thread_queue - 1 - decltype(j)::value;
      queue_.items[to] = queue_.items[to - 1];
    });
    queue_.items[0] = v;
    ++queued_;
  }

  // Merges all thread queues into the warp queue. One is ascending, the other descending; the
  // smaller element at each place belongs to the best of both, which form a bitonic list.
  KSELECT_HD void flush() {
    if (simt_.lane() == 0) simt_.count(simt::counter::queue_merges);
    queue_.sort(simt_, false);
    constexpr int common = registers < thread_queue ? registers : thread_queue;
    unrolled<common>([&](auto r) {
      auto& mine = best_.items[registers - common + decltype(r)::value];
      const auto& entering = queue_.items[thread_queue - common + decltype(r)::value];
      if (before(entering, mine)) mine = entering;
    });
    best_.merge(simt_);
    forget();
    find_limit();
  }

  KSELECT_HD void forget() {
    queue_.fill_with_padding();
    queued_ = 0;
  }

  // Finds the k-th best so far. While it is padding, every element may enter.
  KSELECT_HD void find_limit() {
    value kth = best_.items[0];
    unrolled<registers>([&](auto r) {
      if (static_cast<position>(r) == (k_ - 1) / simt::warp_size) kth = best_.items[r];
    });
    const int lane = static_cast<int>((k_ - 1) % simt::warp_size);
    limit_ = simt_.shfl(simt::full_mask, kth.key, lane);
    if constexpr (indexed) {
      open_ = simt_.shfl(simt::full_mask, kth.at, lane) == no_position;
    } else {
      open_ = false;
    }
  }

  Simt& simt_;
  position k_;
  direction wanted_;
  warp_list<key, indexed, registers> best_;
  warp_list<key, indexed, thread_queue> queue_;
  int queued_ = 0;
  key limit_ = static_cast<key>(~key{0});
  bool open_ = true;
};

template <class T, answer what, int registers>
struct kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    constexpr bool indexed = what == answer::pairs;
    const std::int64_t first = std::int64_t{simt.block()} * simt.warps() + simt.warp();
    const std::int64_t warps = std::int64_t{simt.blocks()} * simt.warps();
    for (std::int64_t row = first; row < a.matrix.rows; row += warps) {
      selection<Simt, T, indexed, registers> selected(simt, a.matrix.k, a.matrix.wanted);
      selected.take(kernels::row_at(simt, a.matrix, row));
      selected.for_each_best([&](position place, const auto& found) {
        kernels::write_answer<what>(simt, a.out, row * a.matrix.k + place, found.key, found.at,
                                    a.matrix.wanted);
      });
    }
  }
};

// Calls f.template operator()<registers>() for the shortest warp queue that holds k.
template <int registers = least_queue / simt::warp_size, class F>
status visit_queue(std::int64_t k, const F& f) {
  if constexpr (registers * simt::warp_size >= most_queue) {
    return f.template operator()<registers>();
  } else {
    if (k <= registers * simt::warp_size) return f.template operator()<registers>();
    return visit_queue<2 * registers>(k, f);
  }
}

template <class T>
status select_rows(int warps, const problem& p, const io& buffers, const executor& on) {
  const auto started = [&]<answer what>() {
    return visit_queue(p.k, [&]<int registers>() {
      const std::int64_t blocks = std::min<std::int64_t>((p.q + warps - 1) / warps, 1 << 24);
      return simt::launch<kernel<T, what, registers>>(
          on, {blocks, warps * simt::warp_size},
          {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers)});
    });
  };
  return p.has_indices() ? started.template operator()<answer::pairs>()
                         : started.template operator()<answer::values>();
}

}  // namespace kselect::warp_select
