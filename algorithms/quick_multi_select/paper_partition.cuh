#pragma once
// Quick multi-select in the paper's form: the partition of a row (Komarov et al. 2014, Methods, and
// Fig. 2-4). A *team* works on a row: a warp, or a block of up to 16 warps. It takes one segment at
// a time, an element a thread.

#include "algorithms/quick_multi_select/paper_search.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::qms_paper {

// "The max. thread count in a thread block is 512."
inline constexpr int most_warps = 16;

// One row: its input, which is not written, and its two auxiliary arrays of n elements.
template <class T, bool indexed>
struct row_view {
  using elements = simt::global<element<order_key_t<T>, indexed>>;

  simt::global<const T> input;
  elements auxiliary_0, auxiliary_1;
  direction wanted;

  KSELECT_HD elements auxiliary(array where) const {
    return where == array::auxiliary_0 ? auxiliary_0 : auxiliary_1;
  }
};

// A team's shared memory.
template <class Key, bool indexed, int warps>
struct team_storage {
  element<Key, indexed> segment[warps * simt::warp_size];
  position less_before[warps];  // by warp: elements below the pivot in the warps before
  position less;                // such elements of the segment
  position all_less;            // g_<: such elements of the segments before
  position all_not_less;        // g_>=: the others of the segments before
};

template <class Simt, class T, bool indexed, bool whole_block>
class team {
 public:
  using key = order_key_t<T>;
  using own_element = element<key, indexed>;
  using storage = team_storage<key, indexed, whole_block ? most_warps : 1>;

  KSELECT_HD team(Simt& on, storage& memory, const row_view<T, indexed>& r)
      : simt(on), shared(memory), row(r) {}

  KSELECT_HD int warp() const { return whole_block ? simt.warp() : 0; }
  KSELECT_HD int warps() const { return whole_block ? simt.warps() : 1; }
  KSELECT_HD position thread() const {
    return static_cast<position>(whole_block ? simt.thread() : simt.lane());
  }
  KSELECT_HD position threads() const { return static_cast<position>(warps() * simt::warp_size); }
  KSELECT_HD void sync() {
    if constexpr (whole_block) {
      simt.sync_block();
    } else {
      simt.sync_warp(simt::full_mask);
    }
  }

  KSELECT_HD own_element read(array from, position i) {
    if (from != array::input) return simt.load(row.auxiliary(from), i);
    return own_element::of(selection_key(simt.load(row.input, i), row.wanted), i);
  }

  // Puts the elements of `from` that are below the pivot at the left end of its place in the other
  // array, and the others at the right end. Returns L, the number of elements below the pivot.
  KSELECT_HD position partition(reference from, key pivot) {
    if (thread() == 0) {
      shared.all_less = 0;
      shared.all_not_less = 0;
      simt.count(simt::counter::partitions);
      simt.count(simt::counter::comparisons, from.size());
    }
    for (position first = from.begin; first < from.end;) {
      const position rest = from.end - first;
      const position count = rest < threads() ? rest : threads();
      const position less = pivot_segment(from.where, first, count, pivot);
      write_out_segment(from, count, less);
      first += count;
    }
    sync();
    const position less = shared.all_less;
    sync();  // the next partition writes the counters
    return less;
  }

  Simt& simt;

 private:
  // Elements below the pivot in a segment: in the warps before, and in all warps.
  struct less_counts {
    position before, all;
  };

  // Fig. 2 and 3: reads a segment and gathers its two sides in shared memory. Returns how many
  // elements are below the pivot. `count` is less than threads() in the last segment alone. Threads
  // without an element write nothing. They vote like those whose element goes to the right.
  KSELECT_HD position pivot_segment(array from, position first, position count, key pivot) {
    // The read in process: an element a thread, into its register, and the warp's vote B.
    own_element own{};
    const bool there = thread() < count;
    if (there) own = read(from, first + thread());
    const bool is_less = there && own.k < pivot;
    const std::uint32_t votes = simt.ballot(simt::full_mask, is_less);
    const less_counts less = count_less(votes);
    // The pivot process. The shift keeps the votes up to this thread's, and _popc counts them.
    const int shift = simt::warp_size - 1 - simt.lane();
    if (is_less) {
      shared.segment[less.before + popc(votes << shift) - 1] = own;
    } else if (there) {
      const position others_before = static_cast<position>(warp() * simt::warp_size) - less.before;
      shared.segment[threads() - (others_before + popc(~votes << shift))] = own;
    }
    sync();
    return less.all;
  }

  // In a block an inter-warp prefix sum, by a single thread.
  KSELECT_HD less_counts count_less(std::uint32_t votes) {
    if constexpr (!whole_block) {
      return {0, popc(votes)};
    } else {
      if (simt.lane() == 0) shared.less_before[warp()] = popc(votes);
      sync();
      if (thread() == 0) {
        position sum = 0;
        for (int w = 0; w < warps(); ++w) {
          const position less = shared.less_before[w];
          shared.less_before[w] = sum;
          sum += less;
        }
        shared.less = sum;
      }
      sync();
      return {shared.less_before[warp()], shared.less};
    }
  }

  // Fig. 4: the first threads write the left side, and the last ones the right side. g_< and g_>=
  // say where.
  KSELECT_HD void write_out_segment(reference from, position count, position less) {
    const auto to = row.auxiliary(other(from.where));
    const position without_element = threads() - count;  // these lie between the two sides
    if (thread() < less) {
      simt.store(to, from.begin + shared.all_less + thread(), shared.segment[thread()]);
    } else if (thread() >= less + without_element) {
      const position from_right = threads() - thread();
      simt.store(to, from.end - shared.all_not_less - from_right, shared.segment[thread()]);
    }
    sync();
    if (thread() == 0) {
      shared.all_less += less;
      shared.all_not_less += count - less;
    }
  }

  KSELECT_HD position popc(std::uint32_t votes) const {
    return static_cast<position>(simt.popc(votes));
  }

  storage& shared;
  const row_view<T, indexed>& row;
};

}  // namespace kselect::qms_paper
