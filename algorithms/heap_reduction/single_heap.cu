// Single heap with a buffer: what Komarov et al. 2014 (Introduction, their citation 25) say of
// Barrientos, Gomez, Tenllado, Prieto-Matias & Marin, "kNN Query Processing in Metric Spaces Using
// GPUs", Euro-Par 2011.
//
// A row a block. One heap in global memory holds the k least elements so far. The threads stride
// through the row, and an element that is less than the greatest of the heap enters a buffer. When
// the buffer is full, all threads synchronise, and its elements are pushed into the heap one after
// another.
//
//   single-heap   threads a block by the number of rows
//   +t64, +t256   64 or 256 threads a block
//
// The sources do not agree on whose method this is. Tang et al. 2015 (Sec. II-C) cite the same
// paper for a "logarithmic reduction based on heap queues". Barrientos' thesis of the same year has
// a reduction of heaps (heap_reduction.cu) and no single heap. Komarov et al. describe that
// reduction as the method of Kato & Hosino 2009, their citation 26. So they may have exchanged the
// two citations. This entry follows what they say of citation 25, and no other source.
//
// They leave the following open. Here:
//  - The buffer: a block has one, in shared memory, with 4 places a thread, at most 1024.
//  - Who pushes: the first thread pushes all elements, so that no barriers are needed in between.
//  - When a thread notices that the buffer is full: a warp reads on until one of its elements finds
//    no place. It then waits for the other warps, which come for the same reason or when they have
//    read their part of the row.
//  - Threads a block: 64, so that many rows have a thread that pushes, and more if the rows would
//    not fill the GPU.
//  - The order of the answer: that of the heap.
//
// Cost: a row is read once. About k ln(n/k) elements of a row in random order change the heap, and
// all n of a descending row. Each takes one thread log k dependent reads and writes of global
// memory, while the others wait. Elements that the heap rejects cost one comparison. A fixed
// number of blocks walks over the rows. Workspace: k entries for each of them.
//
// Entries: single-heap

#include <algorithm>
#include <array>

#include "algorithms/heap_reduction/bounded_heap.cuh"
#include "kernels/gpu_rows.cuh"
#include "kselect/candidate.hpp"
#include "kselect/simt/device_size.hpp"

namespace kselect::single_heap {
namespace {

using heap_reduction::bounded_heap;
using kernels::answer;
using kernels::answer_view;
using kernels::position;
using kernels::rows_view;

inline constexpr int bytes_in_flight = 32;  // of a thread's elements
inline constexpr int least_threads = 64;
inline constexpr std::int64_t largest_k = std::int64_t{1} << 20;  // one thread pushes them all

template <class T, answer what>
using candidate_of =
    std::conditional_t<what == answer::pairs, keyed_candidate<T>, bare_candidate<T>>;

// The heap's slots in global memory.
template <class Simt, class Entry>
class heap_slots {
 public:
  using entry = Entry;

  KSELECT_HD heap_slots(Simt& simt, simt::global<Entry> heap) : simt_(&simt), heap_(heap) {}
  KSELECT_HD Entry operator[](int j) const { return simt_->load(heap_, j); }
  KSELECT_HD void put(int j, Entry e) { simt_->store(heap_, j, e); }

 private:
  Simt* simt_;
  simt::global<Entry> heap_;
};

template <class T, answer what>
struct kernel {
  static constexpr int max_threads = simt::thread_limit;
  using candidate = candidate_of<T, what>;
  using entry = typename candidate::type;
  static constexpr int loads = bytes_in_flight / sizeof(T);
  struct storage {
    entry limit;             // the heap's greatest entry
    std::uint32_t buffered;  // places claimed in the buffer; above `room`, it has overflowed
    bool heap_full;          // whether the heap has k entries, so that `limit` counts
    bool overflowed;         // whether the last meeting found the buffer full
  };
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    simt::global<entry> heaps;  // [blocks][k]
    position room;              // places of the buffer
  };

  // The buffer is in dynamic shared memory.
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto heap = simt.slice(a.heaps, std::int64_t{simt.block()} * a.matrix.k, a.matrix.k);
    selection<Simt> step(simt, shared, a, heap);
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      step.select(row);
    }
  }

 private:
  template <class Simt>
  class selection {
   public:
    KSELECT_HD selection(Simt& simt, storage& shared, const args& a, simt::global<entry> heap)
        : simt_(simt),
          shared_(shared),
          a_(a),
          buffer_(static_cast<entry*>(simt.dynamic_shared())),
          place_(heap),
          heap_(heap_slots<Simt, entry>(simt, heap), static_cast<int>(a.matrix.k)) {}

    KSELECT_HD void select(std::int64_t row) {
      heap_.clear();
      if (simt_.thread() == 0) shared_.buffered = 0;
      heap_full_ = false;
      simt_.sync_block();
      stream(kernels::row_at(simt_, a_.matrix, row));
      while (meet()) {
      }
      write(row);
      simt_.sync_block();  // the next row uses the same heap
    }

   private:
    KSELECT_HD position thread() const { return static_cast<position>(simt_.thread()); }
    KSELECT_HD position threads() const { return static_cast<position>(simt_.threads()); }

    KSELECT_HD void stream(simt::global<const T> row) {
      const position n = a_.matrix.n;
      for (position first = 0; first < n; first += loads * threads()) {
        T own[loads];
        const auto at = [&](int u) {
          return first + static_cast<position>(u) * threads() + thread();
        };
        KSELECT_UNROLL
        for (int u = 0; u < loads; ++u) {
          if (at(u) < n) own[u] = simt_.load(row, at(u));
        }
        std::uint32_t entering = 0;
        KSELECT_UNROLL
        for (int u = 0; u < loads; ++u) {
          if (at(u) < n && accepts(entry_of(own[u], at(u)))) entering |= 1U << u;
        }
        while (simt_.any(simt::full_mask, entering != 0)) {
          entering = put(own, at, entering);
          if (!simt_.any(simt::full_mask, entering != 0)) break;
          meet();
          entering = still_accepted(own, at, entering);
        }
      }
    }

    KSELECT_HD entry entry_of(T value, position at) const {
      return candidate::make(selection_key(value, a_.matrix.wanted), at);
    }
    KSELECT_HD bool accepts(entry e) const { return !heap_full_ || e < limit_; }

    // Puts elements into the buffer. Returns those that found no place.
    template <class At>
    KSELECT_HD std::uint32_t put(const T (&own)[loads], const At& at, std::uint32_t entering) {
      if (entering == 0) return 0;
      position place =
          simt_.atomic_add(shared_.buffered, static_cast<position>(simt_.popc(entering)));
      KSELECT_UNROLL
      for (int u = 0; u < loads; ++u) {
        if ((entering >> u & 1U) == 0 || place >= a_.room) continue;
        buffer_[place++] = entry_of(own[u], at(u));
        entering &= ~(1U << u);
      }
      return entering;
    }

    template <class At>
    KSELECT_HD std::uint32_t still_accepted(const T (&own)[loads], const At& at,
                                            std::uint32_t entering) const {
      KSELECT_UNROLL
      for (int u = 0; u < loads; ++u) {
        if ((entering >> u & 1U) == 0) continue;
        if (!accepts(entry_of(own[u], at(u)))) entering &= ~(1U << u);
      }
      return entering;
    }

    // Waits for all warps and has the buffer pushed into the heap. Returns whether it was full; if
    // not, no warp has elements left.
    KSELECT_HD bool meet() {
      simt_.sync_block();
      if (simt_.thread() == 0) push_all();
      simt_.sync_block();
      limit_ = shared_.limit;
      heap_full_ = shared_.heap_full;
      return shared_.overflowed;
    }

    KSELECT_HD void push_all() {
      simt_.count(simt::counter::buffer_flushes);
      shared_.overflowed = shared_.buffered > a_.room;
      const position count = shared_.overflowed ? a_.room : shared_.buffered;
      for (position i = 0; i < count; ++i) {
        if (heap_.offer(buffer_[i])) simt_.count(simt::counter::queue_inserts);
      }
      shared_.buffered = 0;
      shared_.limit = heap_.root();
      shared_.heap_full = heap_.full();
    }

    KSELECT_HD void write(std::int64_t row) {
      const position k = a_.matrix.k;
      for (position j = thread(); j < k; j += threads()) {
        const entry e = simt_.load(place_, j);
        kernels::write_answer<what>(simt_, a_.out, row * k + j, candidate::key(e),
                                    static_cast<position>(candidate::index(e)), a_.matrix.wanted);
      }
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    entry* buffer_;
    simt::global<entry> place_;                   // of the heap
    bounded_heap<heap_slots<Simt, entry>> heap_;  // the first thread's alone
    entry limit_{};
    bool heap_full_ = false;
  };
};

// ---- shapes

// Threads a block: more than `least_threads` if the rows would leave the GPU half empty, but not
// more than a row has loads for.
int threads_of(int wanted, const problem& p, const device& where) {
  if (wanted != 0) return wanted;
  const auto loads = static_cast<std::int64_t>(bytes_in_flight / size_of(p.type));
  const int most = simt::block_threads(where, simt::thread_limit);
  int threads = least_threads;
  while (threads < most && threads * loads < p.n &&
         2 * p.q * threads < std::int64_t{where.multiprocessors} * where.resident_threads) {
    threads *= 2;
  }
  return threads;
}

position room_of(int threads) {
  return std::min(4 * static_cast<position>(threads), position{1024});
}

// As many blocks as are resident; each has its own heap.
std::int64_t blocks_of(int threads, const problem& p, const device& where) {
  return std::min(simt::resident_blocks(where, threads), p.q);
}

template <class T, answer what>
using entry_of = typename candidate_of<T, what>::type;

struct shape {
  std::int64_t blocks;
  int threads;
};

template <class T, answer what>
status start(const shape& s, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  using entry = entry_of<T, what>;
  simt::carver pieces(memory.data());
  const position room = room_of(s.threads);
  return simt::launch<kernel<T, what>>(
      on, {s.blocks, s.threads, room * sizeof(entry)},
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers),
       pieces.take<entry>(s.blocks * p.k), room});
}

template <int wanted_threads>
call_plan plan_for(const problem& p, const device& where) {
  const int threads = threads_of(wanted_threads, p, where);
  const shape s{blocks_of(threads, p, where), threads};
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    simt::carver sizes(nullptr);
    sizes.take<entry_of<T, what>>(s.blocks * p.k);
    return call_plan::of<&start<T, what>>(p, sizes.used(), s);
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "single heap with a buffer",
                                   "Barrientos et al., Euro-Par 2011, after Komarov et al. 2014");
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.limits.max_k = largest_k;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("single-heap"),
    entry<64>("single-heap+t64"),
    entry<256>("single-heap+t256"),
};

}  // namespace
}  // namespace kselect::single_heap

namespace kselect::entries {

std::span<const algorithm> single_heap() { return single_heap::variants; }

}  // namespace kselect::entries
