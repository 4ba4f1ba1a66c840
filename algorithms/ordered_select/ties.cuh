#pragma once
// Ordered selection: the ties of a row with the smallest indices. A tie is an element that equals
// the row's k-th.
//
// The kernel before (finish.cuh, runs.cuh) has written the answers. Of a row with surplus ties the
// first elements are complete; the others have their value, and lack their index. Warps of the
// whole device search such rows, a part of a row at a time and all rows' first parts first, so a
// few of them keep it as busy as many. There are two launches: one notes the first ties of each
// part and counts all, and skips parts that the ties counted before them make needless; the other
// writes the indices, for which it reads parts of many ties again. Rows of one part are written at
// once.

#include "algorithms/ordered_select/answer.cuh"
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

// What the search knows of each row.
struct tie_memory {
  simt::global<position> complete;  // [rows]: elements of the answer that are final; k if all are
  // If a row has several parts: their ties, and the columns of the first of them, ascending.
  simt::global<position> counts;  // [rows][parts]
  simt::global<position> noted;   // [rows][parts][noted_ties]
};
inline constexpr position noted_ties = 64;

// What the kernels that settle ties know.
template <class T>
struct tie_args {
  source_view<T> source;
  answer_view<T> out;  // [rows][k]
  tie_memory memory;
  order_t<T> wanted;
  std::int64_t rows;
  position k;
  position parts;  // of a row
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

// Tells the search that `complete` elements of the row's answer are final. All threads of a team of
// `threads` call it.
template <class Simt, class T>
KSELECT_HD void note_row(Simt& simt, const tie_args<T>& a, std::int64_t row, position complete,
                         position thread, position threads) {
  if (thread == 0) simt.store(a.memory.complete, row, complete);
  if (complete == a.k || a.parts == 1) return;
  for (position part = thread; part < a.parts; part += threads) {
    simt.store(a.memory.counts, row * a.parts + part, position{0});
  }
}

// Counts the ties of all parts, or writes the indices of those that belong to answers.
template <class T, class Ties>
struct tie_form {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    Ties ties;
    bool counts;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.let_next_start();
    simt.wait_for_previous();
    work<Simt>{simt, a.ties, a.counts}.run();
  }

 private:
  static constexpr int at_once = 16;  // loads of a lane in flight at once

  template <class Simt>
  struct work {
    Simt& simt;
    const Ties& a;
    const bool counts;

    // A lane looks whether a part is to be searched, for 32 of the warp's parts at a time.
    KSELECT_HD void run() {
      const std::int64_t parts = a.rows * a.parts;
      const std::int64_t warps = std::int64_t{simt.blocks()} * simt.warps();
      const std::int64_t self = std::int64_t{simt.block()} * simt.warps() + simt.warp();
      for (std::int64_t first = self; first < parts; first += warps * simt::warp_size) {
        const std::int64_t own = first + simt.lane() * warps;
        const bool open = own < parts && simt.load(a.memory.complete, own % a.rows) < a.k;
        for (auto left = simt.ballot(simt::full_mask, open); left != 0; left &= left - 1) {
          const std::int64_t part = first + (simt.ffs(left) - 1) * warps;
          search(part % a.rows, static_cast<position>(part / a.rows));
        }
      }
    }

    KSELECT_HD void search(std::int64_t row, position part) const {
      const position complete = simt.load(a.memory.complete, row);
      const position earlier = a.parts > 1 ? ties_before(row, part) : 0;
      if (complete + earlier >= a.k) return;
      const std::int64_t slot = row * a.parts + part;
      const position most = a.k - complete - earlier;
      if (counts) {
        const position count = find(row, part, most, [&](position i, position column) {
          if (i < noted_ties) simt.store(a.memory.noted, slot * noted_ties + i, column);
        });
        if (simt.lane() == 0 && count != 0) simt.atomic_add(a.memory.counts, slot, count);
      } else {
        write(row, part, row * a.k + complete + earlier, most);
      }
    }

    // Writes the indices of the part's first ties, at most `most`, from place `to` of the output
    // on.
    KSELECT_HD void write(std::int64_t row, position part, std::int64_t to, position most) const {
      const std::int64_t slot = row * a.parts + part;
      const position count = a.parts > 1 ? simt.load_fresh(a.memory.counts, slot) : most;
      if (a.parts > 1 && count <= noted_ties) {
        for (auto i = static_cast<position>(simt.lane()); i < count && i < most;
             i += simt::warp_size) {
          write_index(simt, a.out, to + i, simt.load(a.memory.noted, slot * noted_ties + i));
        }
        return;
      }
      find(row, part, most,
           [&](position i, position column) { write_index(simt, a.out, to + i, column); });
    }

    // The ties counted in the parts before this one: while they are being counted, at most their
    // number.
    KSELECT_HD position ties_before(std::int64_t row, position part) const {
      position sum = 0;
      for (auto p = static_cast<position>(simt.lane()); p < part; p += simt::warp_size) {
        sum += simt.load_fresh(a.memory.counts, row * a.parts + p);
      }
      return simt.reduce_add(simt::full_mask, sum);
    }

    // Calls take(i, column), i = 0, 1, ..., for the first `most` ties of the part, in order.
    // Returns how many there are, at most `most`.
    template <class Take>
    KSELECT_HD position find(std::int64_t row, position part, position most,
                             const Take& take) const {
      const column_range columns = columns_of(length_of(simt, a, row), part, a.parts);
      const std::int64_t origin = origin_of(simt, a, row);
      const auto tied = bits_of(simt.load(a.out.values, row * a.k + a.k - 1));
      position known = 0;
      for (position first = columns.first; first < columns.end && known < most; first += tile) {
        const bool whole = columns.end - first >= tile && a.source.column_step == 1;
        const std::uint32_t equal = whole ? equal_in_tile(origin + first, tied)
                                          : equal_of_rest(origin, first, columns.end, tied);
        const auto own = simt.reduce_add(simt::full_mask, static_cast<position>(simt.popc(equal)));
        if (own != 0) take_each(equal, first, known, most, take);
        known += own;
      }
      return known < most ? known : most;
    }
    static constexpr position tile = simt::warp_size * at_once;

    // The set of the lane's elements of a tile that equal `tied`; element u of lane l is 32 u + l.
    KSELECT_HD std::uint32_t equal_in_tile(std::int64_t first, order_key_t<T> tied) const {
      const auto elements = simt.slice(a.source.input, first, tile);
      T ahead[at_once];
      KSELECT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        ahead[u] = simt.load(elements, u * simt::warp_size + simt.lane());
      }
      std::uint32_t equal = 0;
      KSELECT_UNROLL
      for (int u = 0; u < at_once; ++u) equal |= bits_of(ahead[u]) == tied ? 1U << u : 0U;
      return equal;
    }
    // The same of a part's last elements, or where they are not neighbours.
    KSELECT_HD std::uint32_t equal_of_rest(std::int64_t origin, position first, position end,
                                           order_key_t<T> tied) const {
      std::uint32_t equal = 0;
      KSELECT_UNROLL
      for (int u = 0; u < at_once; ++u) {
        const position i = first + static_cast<position>(u * simt::warp_size + simt.lane());
        const bool inside = i < end;
        // No branch: all loads are in flight at once.
        const std::int64_t at = inside ? i : first;
        const T x = simt.load(a.source.input, origin + at * a.source.column_step);
        equal |= inside && bits_of(x) == tied ? 1U << u : 0U;
      }
      return equal;
    }

    template <class Take>
    KSELECT_HD void take_each(std::uint32_t equal, position first, position to, position most,
                              const Take& take) const {
      const auto lane = static_cast<position>(simt.lane());
      KSELECT_ROLLED
      for (int u = 0; u < at_once; ++u) {
        const bool has = (equal >> u & 1U) != 0;
        const std::uint32_t lanes = simt.ballot(simt::full_mask, has);
        const auto own = to + static_cast<position>(simt.popc(lanes & simt.lanemask_lt()));
        if (has && own < most) take(own, first + static_cast<position>(u * simt::warp_size) + lane);
        to += static_cast<position>(simt.popc(lanes));
      }
    }
  };
};
template <class T>
struct tie_kernel : tie_form<T, tie_args<T>> {};
template <class T>
struct ragged_tie_kernel : tie_form<T, ragged_tie_args<T>> {};

}  // namespace kselect::ordered
