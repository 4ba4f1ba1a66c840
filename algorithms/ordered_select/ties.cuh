#pragma once
// Ordered selection: the ties of a row with the smallest indices. A tie is an element that equals
// the row's k-th.
//
// The answer tells the k-th, so the row is searched from its start, only as far as necessary. If
// rows are few, several blocks share one: each notes the first ties of its part, and a second
// kernel takes them from the parts in order.

#include "algorithms/ordered_select/team.cuh"
#include "kernels/ragged_rows.cuh"
#include "kernels/warp_sums.cuh"

namespace kselect::ordered {

// The rows of the selection, in either layout.
template <class T>
struct source_view {
  simt::global<const T> input;
  std::int64_t row_step, column_step;  // elements from one row, or column, to the next
  position n;
};

template <class T>
source_view<T> source_of(const problem& p, const io& buffers) {
  return {{static_cast<const T*>(buffers.input), p.input_elements()},
          p.offset(1, 0),
          p.offset(0, 1),
          static_cast<position>(p.n)};
}

// The notes of blocks that share a row, for the kernel that follows. Empty if rows are not shared.
struct tie_memory {
  simt::global<position> complete;  // [rows]: elements of the answer that are final; k if all are
  simt::global<position> counts;    // [rows][parts]: ties that a part noted
  simt::global<position> places;    // [rows][parts][room]: their columns, ascending
  position room;
};

// The arguments of a launch that settles ties.
template <class T>
struct tie_args {
  source_view<T> source;
  answer_view<T> out;  // [rows][k]
  tie_memory memory;
  order_t<T> wanted;
  position k;
  position parts;  // blocks a row
};

// The same of ragged rows, whose source has their longest row's n.
template <class T>
struct ragged_tie_args : tie_args<T> {
  kernels::ragged_view<T> matrix;
};

// Where a row begins, and its length.
template <class Simt, class T>
KSELECT_HD std::int64_t origin_of(Simt&, const tie_args<T>& a, std::int64_t row) {
  return row * a.source.row_step;
}
template <class Simt, class T>
KSELECT_HD std::int64_t origin_of(Simt& simt, const ragged_tie_args<T>& a, std::int64_t row) {
  return row * a.matrix.pitch + kernels::range_of(simt, a.matrix, row).start;
}
template <class Simt, class T>
KSELECT_HD position length_of(Simt&, const tie_args<T>& a, std::int64_t) {
  return a.source.n;
}
template <class Simt, class T>
KSELECT_HD position length_of(Simt& simt, const ragged_tie_args<T>& a, std::int64_t row) {
  return kernels::range_of(simt, a.matrix, row).length;
}

// The columns of part number `part` of a row.
struct column_range {
  position first, end;
};
KSELECT_HD inline column_range columns_of(position n, position part, position parts) {
  const position share = (n + parts - 1) / parts;
  const position first = part * share < n ? part * share : n;
  return {first, n - first < share ? n : first + share};
}

struct tie_storage {
  position found[2][most_block_warps];
};

// Finds the ties that belong to an answer. All threads of a block call it.
template <class Simt, class T, class Args = tie_args<T>>
class tie_search {
 public:
  using key = key_word<T>;

  KSELECT_HD tie_search(Simt& simt, tie_storage& shared, const Args& a)
      : simt_(simt), shared_(shared), a_(a) {}

  // The answer of `row` has `complete` final elements; the others equal `last`. Writes their
  // indices, or notes those in this part of the row. All threads pass the same.
  KSELECT_HD void finish(std::int64_t row, position part, position complete, key last) {
    if (a_.parts > 1) {
      note(row, part, complete, last);
    } else if (complete < a_.k) {
      const std::int64_t to = row * a_.k + complete;
      find(row, {0, length_of(simt_, a_, row)}, last, a_.k - complete,
           [&](position i, position column) { write_index(simt_, a_.out, to + i, column); });
    }
  }

 private:
  static constexpr int at_once = 8;  // loads of a lane in flight at once

  KSELECT_HD void note(std::int64_t row, position part, position complete, key last) {
    const bool writes = simt_.thread() == 0;
    if (writes && part == 0) simt_.store(a_.memory.complete, row, complete);
    if (complete == a_.k) return;
    const std::int64_t slot = row * a_.parts + part;
    const column_range columns = columns_of(length_of(simt_, a_, row), part, a_.parts);
    const position count =
        find(row, columns, last, a_.k - complete, [&](position i, position column) {
          simt_.store(a_.memory.places, slot * a_.memory.room + i, column);
        });
    if (writes) simt_.store(a_.memory.counts, slot, count);
  }

  // Calls take(i, column), i = 0, 1, ..., for the first `most` columns of the range whose element
  // has key `tied`, in order. Returns how many there are, at most `most`.
  template <class Take>
  KSELECT_HD position find(std::int64_t row, column_range columns, key tied, position most,
                           const Take& take) {
    const auto warp = static_cast<position>(simt_.warp());
    const auto lane = static_cast<position>(simt_.lane());
    const position step = static_cast<position>(simt_.threads()) * at_once;
    position known = 0;
    for (position tile = columns.first; tile < columns.end && known < most; tile += step) {
      const position start = tile + warp * (simt::warp_size * at_once) + lane;
      const std::uint32_t equal = equal_to(row, start, columns.end, tied);
      const auto own = simt_.reduce_add(simt::full_mask, static_cast<position>(simt_.popc(equal)));
      // Two sets of counts in turn: a tile then needs only one barrier.
      position* const found = shared_.found[turn_];
      turn_ = 1 - turn_;
      if (lane == 0) found[warp] = own;
      simt_.sync_block();
      const position theirs = lane < static_cast<position>(simt_.warps()) ? found[lane] : 0;
      const position earlier = simt_.reduce_add(simt::full_mask, lane < warp ? theirs : 0);
      if (own != 0) take_each(equal, start, known + earlier, most, take);
      known += simt_.reduce_add(simt::full_mask, theirs);
    }
    return known < most ? known : most;
  }

  // The set of the lane's elements start, start + 32, ... with key `tied`.
  KSELECT_HD std::uint32_t equal_to(std::int64_t row, position start, position end, key tied) {
    T ahead[at_once];
    const std::int64_t origin = origin_of(simt_, a_, row);
    KSELECT_UNROLL
    for (int u = 0; u < at_once; ++u) {
      const position i = start + static_cast<position>(u * simt::warp_size);
      ahead[u] = i < end ? simt_.load(a_.source.input, origin + i * a_.source.column_step) : T{};
    }
    std::uint32_t equal = 0;
    KSELECT_UNROLL
    for (int u = 0; u < at_once; ++u) {
      const position i = start + static_cast<position>(u * simt::warp_size);
      if (i < end && selection_key(ahead[u], a_.wanted) == tied) equal |= 1U << u;
    }
    return equal;
  }

  template <class Take>
  KSELECT_HD void take_each(std::uint32_t equal, position start, position to, position most,
                            const Take& take) {
    for (int u = 0; u < at_once; ++u) {
      const bool has = (equal >> u & 1U) != 0;
      const std::uint32_t lanes = simt_.ballot(simt::full_mask, has);
      const auto own = to + static_cast<position>(simt_.popc(lanes & simt_.lanemask_lt()));
      if (has && own < most) take(own, start + static_cast<position>(u * simt::warp_size));
      to += static_cast<position>(simt_.popc(lanes));
    }
  }

  Simt& simt_;
  tie_storage& shared_;
  const Args& a_;
  int turn_ = 0;
};

inline constexpr position most_parts = 256;

// Writes the indices of a row's ties from the notes of its parts: a block a row, a thread a part.
template <class T>
struct gather_ties_kernel {
  static constexpr int max_threads = most_parts;
  struct storage {
    position first[most_parts], count[most_parts];
    position of_warp[max_threads / simt::warp_size];
  };
  using args = tie_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    simt.wait_for_previous();
    const std::int64_t row = simt.block();
    const position complete = simt.load(a.memory.complete, row);
    if (complete == a.k) return;
    number_parts(simt, shared, a, row);
    const auto warps = static_cast<position>(simt.warps());
    for (auto part = static_cast<position>(simt.warp()); part < a.parts; part += warps) {
      const position first = complete + shared.first[part];
      for (auto i = static_cast<position>(simt.lane()); i < shared.count[part];
           i += simt::warp_size) {
        if (first + i >= a.k) break;
        const position column =
            simt.load(a.memory.places, (row * a.parts + part) * a.memory.room + i);
        write_index(simt, a.out, row * a.k + first + i, column);
      }
    }
  }

 private:
  // Finds the first tie's number and the number of ties of each part.
  template <class Simt>
  KSELECT_HD static void number_parts(Simt& simt, storage& shared, const args& a,
                                      std::int64_t row) {
    const auto part = static_cast<position>(simt.thread());
    const position own = part < a.parts ? simt.load(a.memory.counts, row * a.parts + part) : 0;
    position up_to = kernels::sum_up_to_lane(simt, own);
    if (simt.lane() == simt::warp_size - 1) shared.of_warp[simt.warp()] = up_to;
    simt.sync_block();
    for (int w = 0; w < simt.warp(); ++w) up_to += shared.of_warp[w];
    shared.first[part] = up_to - own;
    shared.count[part] = own;
    simt.sync_block();
  }
};

}  // namespace kselect::ordered
