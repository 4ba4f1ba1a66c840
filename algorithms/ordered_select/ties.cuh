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

// A warp's search for the ties of a part of a row: elements with the bits `tied`.
template <class Simt, class T, class Ties>
class tie_search {
 public:
  KSELECT_HD tie_search(Simt& simt, const Ties& a) : simt_(simt), a_(a) {}

  // Whether the part has no elements: rows of their own lengths may have fewer than parts.
  KSELECT_HD bool is_empty(std::int64_t row, position part) const {
    const column_range columns = columns_of(length_of(simt_, a_, row), part, a_.parts);
    return columns.first == columns.end;
  }

  // Notes the first ties. Returns how many there are, at most `most`.
  KSELECT_HD position note(std::int64_t row, position part, order_key_t<T> tied,
                           position most) const {
    const std::int64_t slot = row * a_.parts + part;
    return find(row, part, tied, most, [&](position i, position column) {
      if (i < noted_ties) simt_.store(a_.memory.noted, slot * noted_ties + i, column);
    });
  }

  // Writes the indices of the part's ties that belong to the answer, whose first `complete`
  // elements are final. If a row has several parts, all are counted.
  KSELECT_HD void write(std::int64_t row, position part, order_key_t<T> tied,
                        position complete) const {
    const position first = complete + (a_.parts > 1 ? ties_before(row, part) : 0);
    if (first >= a_.k) return;
    const std::int64_t slot = row * a_.parts + part, to = row * a_.k + first;
    const position most = a_.k - first;
    const position count = a_.parts > 1 ? simt_.load_fresh(a_.memory.counts, slot) : most;
    if (a_.parts > 1 && count <= noted_ties) {
      const auto lane = static_cast<position>(simt_.lane());
      for (position i = lane; i < count && i < most; i += simt::warp_size) {
        write_index(simt_, a_.out, to + i, simt_.load(a_.memory.noted, slot * noted_ties + i));
      }
      return;
    }
    find(row, part, tied, most,
         [&](position i, position column) { write_index(simt_, a_.out, to + i, column); });
  }

  // The ties counted in the parts before this one: while they are being counted, at most their
  // number.
  KSELECT_HD position ties_before(std::int64_t row, position part) const {
    position sum = 0;
    for (auto p = static_cast<position>(simt_.lane()); p < part; p += simt::warp_size) {
      sum += simt_.load_fresh(a_.memory.counts, row * a_.parts + p);
    }
    return simt_.reduce_add(simt::full_mask, sum);
  }

  // Calls f(row, part) for the warp's parts of rows that are `open(row, part)`. A lane looks
  // whether one is, for 32 of them at a time.
  template <class Open, class F>
  KSELECT_HD void for_parts(const Open& open, const F& f) const {
    const std::int64_t parts = a_.rows * a_.parts;
    const std::int64_t warps = std::int64_t{simt_.blocks()} * simt_.warps();
    const std::int64_t self = std::int64_t{simt_.block()} * simt_.warps() + simt_.warp();
    for (std::int64_t first = self; first < parts; first += warps * simt::warp_size) {
      const std::int64_t own = first + simt_.lane() * warps;
      const bool mine = own < parts && open(own % a_.rows, static_cast<position>(own / a_.rows));
      for (auto left = simt_.ballot(simt::full_mask, mine); left != 0; left &= left - 1) {
        const std::int64_t part = first + (simt_.ffs(left) - 1) * warps;
        f(part % a_.rows, static_cast<position>(part / a_.rows));
      }
    }
  }

 private:
  static constexpr int loads = 16;  // of a lane in flight at once
  static constexpr position tile = simt::warp_size * loads;
  static constexpr int brief_loads = 4;
  static constexpr position brief_tile = simt::warp_size * brief_loads;

  // Calls take(i, column), i = 0, 1, ..., for the first `most` ties of the part, in order.
  // Returns how many there are, at most `most`.
  template <class Take>
  KSELECT_HD position find(std::int64_t row, position part, order_key_t<T> tied, position most,
                           const Take& take) const {
    const column_range columns = columns_of(length_of(simt_, a_, row), part, a_.parts);
    const std::int64_t origin = origin_of(simt_, a_, row);
    position known = 0, step = tile;
    for (position first = columns.first; first < columns.end && known < most; first += step) {
      const bool whole = columns.end - first >= tile && a_.source.column_step == 1;
      // Where nearly all elements tie, the first few of a row suffice.
      const bool brief = whole && a_.parts == 1 && first == columns.first;
      step = brief ? brief_tile : tile;
      const std::uint32_t equal = brief   ? equal_in_tile<brief_loads>(origin + first, tied)
                                  : whole ? equal_in_tile<loads>(origin + first, tied)
                                          : equal_of_rest(origin, first, columns.end, tied);
      const auto own = simt_.reduce_add(simt::full_mask, static_cast<position>(simt_.popc(equal)));
      if (own != 0) take_each(equal, first, known, most, take);
      known += own;
    }
    return known < most ? known : most;
  }

  // The set of the lane's elements of a tile that equal `tied`; element u of lane l is 32 u + l.
  template <int at_once>
  KSELECT_HD std::uint32_t equal_in_tile(std::int64_t first, order_key_t<T> tied) const {
    const auto elements = simt_.slice(a_.source.input, first, at_once * simt::warp_size);
    T ahead[at_once];
    KSELECT_UNROLL
    for (int u = 0; u < at_once; ++u) {
      ahead[u] = simt_.load(elements, u * simt::warp_size + simt_.lane());
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
    for (int u = 0; u < loads; ++u) {
      const position i = first + static_cast<position>(u * simt::warp_size + simt_.lane());
      const bool inside = i < end;
      // No branch: all loads are in flight at once.
      const std::int64_t at = inside ? i : first;
      const T x = simt_.load(a_.source.input, origin + at * a_.source.column_step);
      equal |= inside && bits_of(x) == tied ? 1U << u : 0U;
    }
    return equal;
  }

  template <class Take>
  KSELECT_HD void take_each(std::uint32_t equal, position first, position to, position most,
                            const Take& take) const {
    const auto lane = static_cast<position>(simt_.lane());
    KSELECT_ROLLED
    for (int u = 0; u < loads; ++u) {
      const bool has = (equal >> u & 1U) != 0;
      const std::uint32_t lanes = simt_.ballot(simt::full_mask, has);
      const auto own = to + static_cast<position>(simt_.popc(lanes & simt_.lanemask_lt()));
      if (has && own < most) take(own, first + static_cast<position>(u * simt::warp_size) + lane);
      to += static_cast<position>(simt_.popc(lanes));
    }
  }

  Simt& simt_;
  const Ties& a_;
};

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
  KSELECT_HD static void run(Simt& simt, storage&, const args& call) {
    simt.let_next_start();
    simt.wait_for_previous();
    const Ties& a = call.ties;
    const tie_search<Simt, T, Ties> search(simt, a);
    const auto lacks = [&](std::int64_t row, position) {
      return simt.load(a.memory.complete, row) < a.k;
    };
    search.for_parts(lacks, [&](std::int64_t row, position part) {
      if (search.is_empty(row, part)) return;
      const position complete = simt.load(a.memory.complete, row);
      const auto tied = [&] { return bits_of(simt.load(a.out.values, row * a.k + a.k - 1)); };
      if (!call.counts) return search.write(row, part, tied(), complete);
      const position first = complete + search.ties_before(row, part);
      if (first >= a.k) return;
      const position count = search.note(row, part, tied(), a.k - first);
      if (simt.lane() == 0 && count != 0) {
        simt.atomic_add(a.memory.counts, row * a.parts + part, count);
      }
    });
  }
};
template <class T>
struct tie_kernel : tie_form<T, tie_args<T>> {};
template <class T>
struct ragged_tie_kernel : tie_form<T, ragged_tie_args<T>> {};

// The same where the member has put `count` elements in order, and nothing else has been written.
// Rows are few, so all their parts are searched at once: none waits for those before it.
template <class T>
struct ordered_tie_args : tie_args<T> {
  answer_view<T> given;  // [rows][count]
  position count;        // more than k
};
template <class T>
struct ordered_tie_kernel {
  static constexpr int max_threads = tie_kernel<T>::max_threads;
  struct storage {};
  struct args {
    ordered_tie_args<T> ties;
    bool counts;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& call) {
    simt.let_next_start();
    simt.wait_for_previous();
    const ordered_tie_args<T>& a = call.ties;
    const tie_search<Simt, T, ordered_tie_args<T>> search(simt, a);
    const auto bits_at = [&](std::int64_t row, position i) {
      return bits_of(simt.load(a.given.values, row * a.count + i));
    };
    const auto has_surplus = [&](std::int64_t row) {
      return bits_at(row, a.k - 1) == bits_at(row, a.count - 1);
    };
    const auto open = [&](std::int64_t row, position part) {
      return (!call.counts && part == 0) || has_surplus(row);
    };
    search.for_parts(open, [&](std::int64_t row, position part) {
      const auto tied = bits_at(row, a.k - 1);
      const position complete = has_surplus(row) ? unlike(simt, a, row, tied) : a.k;
      if (call.counts) {
        const position count = search.note(row, part, tied, a.k - complete);
        if (simt.lane() == 0) simt.store(a.memory.counts, row * a.parts + part, count);
        return;
      }
      if (part == 0) copy(simt, a, row, complete);
      search.write(row, part, tied, complete);
    });
  }

 private:
  // How many of the row's elements come before those with the bits `tied`.
  template <class Simt>
  KSELECT_HD static position unlike(Simt& simt, const ordered_tie_args<T>& a, std::int64_t row,
                                    order_key_t<T> tied) {
    position count = 0;
    for (auto i = static_cast<position>(simt.lane()); i < a.k; i += simt::warp_size) {
      count += bits_of(simt.load(a.given.values, row * a.count + i)) != tied ? 1U : 0U;
    }
    return simt.reduce_add(simt::full_mask, count);
  }
  // Writes the k values, and the indices of those that are final.
  template <class Simt>
  KSELECT_HD static void copy(Simt& simt, const ordered_tie_args<T>& a, std::int64_t row,
                              position complete) {
    for (auto i = static_cast<position>(simt.lane()); i < a.k; i += simt::warp_size) {
      const auto e = read_element<true>(simt, a.given, row * a.count + i, a.wanted);
      simt.store(a.out.values, row * a.k + i, value_of<T>(e.key, a.wanted));
      if (i < complete) write_index(simt, a.out, row * a.k + i, e.at);
    }
  }
};

}  // namespace kselect::ordered
