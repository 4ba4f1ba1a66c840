// Buffered bitonic merge selection, one pass: the design of the fastest one-pass kernels of the
// last decade (Awad et al.; GridSelect, Zhang et al. 2023; "bits", Jakl & Krulis, J. Parallel
// Distrib. Comput. 2024). Our own implementation.
//
// One block a row. The row's first elements fill a list in shared memory: the K best (k rounded up
// to a power of two, at least 128) and a buffer. Runs of K are sorted and merged pairwise, keeping
// the K best. Then the warps read the row once, with two 16-byte loads a lane and tile; the next
// tile is loaded while one is filtered. Elements better than the k-th best so far enter the buffer.
// A full buffer is sorted and merged in the same way, which lowers the threshold. The answer is
// sorted.
//
// Warps stream independently. They meet only when the buffer is full, each as soon as it has an
// element to enter or has read its part. Most tiles have none, which the minimum of a lane's
// elements shows: one `min` an element and one comparison of numbers. Only if the minimum is not
// rejected are the elements of a load converted to keys and compared one by one.
//
// Cost: each element is read once; about k ln(n/k) elements of a row in random order go through the
// buffer, and all elements of a descending row. Sorting a run takes log2 K (log2 K + 1) / 2 steps
// and a merge log2 K; steps at distances below 128 are in registers. A row never has more than one
// block, so few long rows leave the GPU idle.
//
// Its authors tuned block size and batch by K and card; here +t32 ... +t512 set the threads a
// block. The default is as few as K allows, so that no warp waits for another's sorting, and more
// if rows are few. The list has room for 4 elements a thread and for 2 K. Shared memory bounds k:
// 4096.
//
// Entries: bitonic-merge

#include <algorithm>
#include <bit>

#include "kernels/bitonic_runs.cuh"
#include "kselect/simt/device_size.hpp"
#include "kselect/simt/shared_fit.hpp"

namespace kselect::bitonic_merge {
namespace {

using kernels::answer;
using kernels::answer_view;
using kernels::position;
using kernels::rows_view;
using kernels::shared_list;
using kernels::sorted_runs;
using kernels::unrolled;

inline constexpr std::int64_t most_k = 4096;
inline constexpr int loads = 2;      // of a lane and tile; as many more are in flight
inline constexpr int room_each = 2;  // elements of the buffer for each thread, unless K is more
inline constexpr int most_threads = 1024;

template <class T, answer what>
struct kernel {
  static constexpr int max_threads = most_threads;
  using key = order_key_t<T>;
  static constexpr bool indexed = what == answer::pairs;
  using list = shared_list<key, indexed>;
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  using vector = simt::vec<T, width>;
  using items = std::uint32_t;  // a set of a lane's elements of a tile, one bit each

  struct storage {
    std::uint32_t buffered;  // places claimed in the buffer; above `room`, it has overflowed
    key limit;               // the k-th best so far
  };
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    position log_run;  // of K
    position places;   // of the list: a multiple of K, at least 2 K
    position room;     // of the buffer: K up to places - K
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      selection<Simt> step(simt, shared, a, row);
      step.select(row);
      simt.sync_block();  // the next row uses the same lists
    }
  }

 private:
  template <class Simt>
  class selection {
   public:
    KSELECT_HD selection(Simt& simt, storage& shared, const args& a, std::int64_t row)
        : simt_(simt),
          shared_(shared),
          a_(a),
          run_(position{1} << a.log_run),
          list_(list::at(simt.dynamic_shared(), a.places)) {
      const auto elements = kernels::row_at(simt, a.matrix, row);
      const auto misaligned =
          static_cast<position>(reinterpret_cast<std::uintptr_t>(elements.data) % 16);
      head_ = misaligned == 0 ? 0 : (16 - misaligned) / static_cast<position>(sizeof(T));
      if (head_ > a.matrix.n) head_ = a.matrix.n;
      vectors_ = (a.matrix.n - head_) / width;
      body_ =
          as_vec<width>(simt.slice(elements, head_, static_cast<std::int64_t>(vectors_) * width));
    }

    KSELECT_HD void select(std::int64_t row) {
      stream(fill(kernels::row_at(simt_, a_.matrix, row)));
      while (meet()) {
      }
      for (position i = thread(); i < a_.matrix.k; i += threads()) {
        const auto found = list_.get(i);
        kernels::write_answer<what>(simt_, a_.out, row * a_.matrix.k + i, found.key, found.at,
                                    a_.matrix.wanted);
      }
    }

   private:
    // The vectors that a lane reads at once. Vectors beyond the row keep their old contents.
    struct tile {
      vector x[loads];
    };
    static constexpr position tile_vectors = loads * simt::warp_size;  // of a warp

    KSELECT_HD position thread() const { return static_cast<position>(simt_.thread()); }
    KSELECT_HD position threads() const { return static_cast<position>(simt_.threads()); }
    KSELECT_HD position first_tile() const {
      return static_cast<position>(simt_.warp()) * tile_vectors;
    }
    KSELECT_HD position next_tile(position at) const { return at + threads() * loads; }
    // The number of the lane's vector v in the tile that begins at vector `at`.
    template <class V>
    KSELECT_HD position vector_of(position at, V) const {
      return at + V::value * simt::warp_size + static_cast<position>(simt_.lane());
    }
    KSELECT_HD void read(position at, position end, tile& own) {
      unrolled<loads>([&](auto v) {
        const position i = vector_of(at, v);
        if (i < end) own.x[v] = simt_.load(body_, i);
      });
    }

    // Fills the list with the row's first elements, because there is no threshold yet, and with the
    // elements that aligned loads do not cover. Returns the number of vectors entered.
    KSELECT_HD position fill(simt::global<const T> row) {
      const position rest = a_.matrix.n - vectors_ * width;
      const position most = (a_.places - rest) / width;
      const position end = vectors_ < most ? vectors_ : most;
      for (position at = first_tile(); at < end; at = next_tile(at)) {
        tile own{};
        read(at, end, own);
        unrolled<loads>([&](auto v) {
          const position i = vector_of(at, v);
          if (i >= end) return;
          unrolled<width>([&](auto e) {
            const auto offset = static_cast<position>(decltype(e)::value);
            list_.set(offset * end + i, {key_of(own.x[v][decltype(e)::value]), place_of(i, e)});
          });
        });
      }
      if (thread() < rest) {
        const position at = thread() < head_ ? thread() : vectors_ * width + thread();
        list_.set(end * width + thread(), {key_of(simt_.load(row, at)), at});
      }
      keep_best(0, end * width + rest);
      return end;
    }

    // Filters the row's vectors from `first` on.
    KSELECT_HD void stream(position first) {
      position at = first + first_tile();
      tile own{};
      read(at, vectors_, own);
      for (; at < vectors_; at = next_tile(at)) {
        tile ahead = own;
        read(next_tile(at), vectors_, ahead);
        take(own, at);
        own = ahead;
      }
    }

    KSELECT_HD void take(tile& own, position at) {
      T least[loads];
      if (a_.matrix.wanted == direction::smallest) {
        find_least<false>(own, least);
      } else {
        find_least<true>(own, least);
      }
      T least_of_all = least[0];
      unrolled<loads - 1>([&](auto v) {
        least_of_all = simt_.smaller(least_of_all, least[decltype(v)::value + 1]);
      });
      if (!simt_.any(simt::full_mask, !rejects(least_of_all))) return;
      items entering = 0;
      unrolled<loads>([&](auto v) {
        if (!rejects(least[v]) && vector_of(at, v) < vectors_) entering |= better(own, v);
      });
      while (true) {
        entering = put(own, at, entering);
        if (!simt_.any(simt::full_mask, entering != 0)) return;
        meet();
        own = {};
        read(at, vectors_, own);  // reads again: the tile need not stay in registers meanwhile
        items still = 0;
        unrolled<loads>([&](auto v) { still |= better(own, v); });
        entering &= still;
      }
    }

    // The minimum of each vector; NaN if it holds one. `turned`: numbers are negated, because the
    // largest are wanted.
    template <bool turned>
    KSELECT_HD void find_least(const tile& own, T (&least)[loads]) {
      unrolled<loads>([&](auto v) {
        unrolled<width>([&](auto e) {
          const T value = own.x[v][decltype(e)::value];
          const T x = turned ? -value : value;
          least[v] = decltype(e)::value == 0 ? x : simt_.smaller(least[v], x);
        });
      });
    }
    // True: no number of those with minimum `least` is better than the k-th best. False proves
    // nothing (NaNs, zeros of both signs).
    KSELECT_HD bool rejects(T least) const { return least > bound_; }

    template <class V>
    KSELECT_HD items better(const tile& own, V v) const {
      const key limit = shared_.limit;
      items found = 0;
      unrolled<width>([&](auto e) {
        constexpr int j = V::value * width + decltype(e)::value;
        if (key_of(own.x[v][decltype(e)::value]) < limit) found |= items{1} << j;
      });
      return found;
    }

    // Puts items into the buffer. Returns those that found no place.
    KSELECT_HD items put(const tile& own, position at, items entering) {
      if (entering == 0) return 0;
      const auto count = static_cast<position>(simt_.popc(entering));
      position place = run_ + simt_.atomic_add(shared_.buffered, count);
      const position end = run_ + a_.room;
      unrolled<loads>([&](auto v) {
        constexpr int first = decltype(v)::value * width;
        if ((entering >> first & ((items{1} << width) - 1)) == 0) return;
        unrolled<width>([&](auto e) {
          constexpr items bit = items{1} << (first + decltype(e)::value);
          if ((entering & bit) == 0 || place >= end) return;
          const T value = own.x[v][decltype(e)::value];
          list_.set(place++, {key_of(value), place_of(vector_of(at, v), e)});
          entering &= ~bit;
        });
      });
      return entering;
    }

    KSELECT_HD key key_of(T value) const { return selection_key(value, a_.matrix.wanted); }
    // The position in the row of element e of vector i.
    template <class E>
    KSELECT_HD position place_of(position i, E) const {
      return head_ + i * width + static_cast<position>(E::value);
    }

    // Waits for all warps, merges the buffer into the best and empties it. Returns whether it was
    // full; if not, no warp has items left.
    KSELECT_HD bool meet() {
      simt_.sync_block();
      const position buffered = shared_.buffered;
      const bool full = buffered > a_.room;
      keep_best(1, run_ + (full ? a_.room : buffered));
      return full;
    }

    // Keeps the best of the first `filled` places. Runs from `unsorted` on are not sorted yet.
    KSELECT_HD void keep_best(position unsorted, position filled) {
      if (simt_.thread() == 0) simt_.count(simt::counter::buffer_flushes);
      position runs = (filled + run_ - 1) >> a_.log_run;
      if (runs == 0) runs = 1;
      for (position i = filled + thread(); i < runs << a_.log_run; i += threads()) {
        list_.set(i, kernels::padding<key, indexed>());
      }
      sorted_runs<Simt, key, indexed> sorting(simt_, list_, a_.log_run);
      sorting.sort(unsorted, runs);
      sorting.keep_best(runs);
      if (simt_.thread() == 0) {
        shared_.buffered = 0;
        shared_.limit = list_.get(a_.matrix.k - 1).key;
      }
      simt_.sync_block();
      const T bound = from_selection_key<T>(shared_.limit, a_.matrix.wanted);
      bound_ = a_.matrix.wanted == direction::smallest ? bound : -bound;
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    position run_;
    list list_;
    position head_, vectors_;  // of the row: elements before the first aligned load, and loads
    simt::global<const vector> body_;
    T bound_;  // the k-th best so far, negated if the largest are wanted
  };
};

// Threads of a block: as few as K allows if 32 warps a multiprocessor are to have room for their
// lists; more if rows are too few for so many warps.
int threads_of(int wanted, const problem& p, position run, const device& where) {
  if (wanted != 0) return wanted;
  const int most = simt::block_threads(where, most_threads);
  int threads = std::clamp(static_cast<int>(run) / 8, 32, most);
  while (threads < most && p.q * threads < std::int64_t{896} * where.multiprocessors) {
    threads *= 2;
  }
  return threads;
}

struct block_shape {
  position log_run, places;
  int threads;
};

block_shape shape_of(int wanted_threads, const problem& p, const device& where) {
  position log_run = std::bit_width(kernels::least_run) - 1;
  while (position{1} << log_run < p.k) ++log_run;
  const position run = position{1} << log_run;
  const int threads = threads_of(wanted_threads, p, run, where);
  return {log_run, std::max(2 * run, static_cast<position>(4 * threads)), threads};
}

template <class T, answer what>
status start(const block_shape& shape, const problem& p, const io& buffers, std::span<std::byte>,
             const executor& on) {
  const auto [log_run, places, threads] = shape;
  const position run = position{1} << log_run;
  const position room = std::clamp(static_cast<position>(room_each * threads), run, places - run);
  const std::int64_t blocks = std::min<std::int64_t>(p.q, 1 << 24);
  return simt::launch<kernel<T, what>>(
      on, {blocks, threads, places * kernel<T, what>::list::item_bytes},
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), log_run, places, room});
}

template <int wanted_threads>
call_plan plan_for(const problem& p, const device& where) {
  const block_shape shape = shape_of(wanted_threads, p, where);
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    using used = kernel<T, what>;
    const support fits = simt::fits_shared(
        where, shape.places * used::list::item_bytes + sizeof(typename used::storage));
    return fits ? call_plan::of<&start<T, what>>(p, 0, shape) : call_plan::refused(fits.reason);
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "bitonic merge select",
                                   "after Zhang et al. 2023 (GridSelect) and bits (JPDC 2024)");
  a.promises.ordering = output_ordering::sorted;
  a.promises.limits.max_k = most_k;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("bitonic-merge"),        entry<32>("bitonic-merge+t32"),
    entry<64>("bitonic-merge+t64"),   entry<128>("bitonic-merge+t128"),
    entry<256>("bitonic-merge+t256"), entry<512>("bitonic-merge+t512"),
};

}  // namespace
}  // namespace kselect::bitonic_merge

namespace kselect::entries {

std::span<const algorithm> bitonic_merge_select() { return bitonic_merge::variants; }

}  // namespace kselect::entries
