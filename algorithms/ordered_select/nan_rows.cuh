#pragma once
// Ordered selection: puts every NaN last, or first (problem::nan), in answers that are there.
//
// The members order NaN by its bits. Where NaN is last, those that the total order misplaces are
// better than all numbers, so the answer of a row that has one has it, too: only such a row is
// selected again. Where NaN is first, they are worse than all numbers and may be left out, so the
// row is read to find them. In an ordered answer NaNs tie by index, and any NaN is misplaced.
//
// A row is selected again by one block: by radix, 8 bits a pass, on keys in which all NaNs tie; a
// pass then takes the elements by ascending index, and a bitonic network orders them where they
// lie. That reads the row once for each byte of an element and once more. It is slow, but it needs
// no memory and no other instances of the members, and few rows have a NaN among their best.

#include "algorithms/ordered_select/answer.cuh"
#include "algorithms/ordered_select/misplaced.hpp"
#include "kernels/bin_counts.cuh"
#include "kernels/ragged_rows.cuh"

namespace kselect::ordered {

using kernels::ragged_view;

template <class T>
struct nan_args {
  ragged_view<T> matrix;
  answer_view<T> out;                  // [rows][k], with values
  std::int64_t row_step, column_step;  // elements from one row, or column, to the next
  order_key_t<T> infinity;             // its bits: T may stand for several types
  direction wanted;
  nan_order place;
  bool ordered;         // the answers are
  int rows_of_a_block;  // at most most_nan_rows
};

inline constexpr int most_nan_rows = 64;

template <class T>
nan_args<T> nan_args_of(const problem& p, const io& buffers, bool ordered) {
  nan_args<T> a;
  a.matrix = kernels::ragged_rows_of<T>(p, buffers);
  a.out = kernels::answer_in<T>(p, buffers);
  a.row_step = p.segments ? 0 : p.offset(1, 0);
  a.column_step = p.offset(0, 1);
  a.infinity = visit_number(p.type, []<class Number>(Number) {
    // No bits without the sign are greater than all of them.
    if constexpr (!dtype_traits<Number>::has_nan)
      return static_cast<order_key_t<T>>(-1);
    else
      return static_cast<order_key_t<T>>(infinity_bits<Number>);
  });
  a.wanted = p.direction;
  a.place = p.nan;
  a.ordered = ordered;
  // Rows with little to look at share a block.
  const std::int64_t looked_at = p.nan == nan_order::last ? p.k : p.n;
  a.rows_of_a_block = static_cast<int>(
      std::clamp<std::int64_t>(4096 / std::max<std::int64_t>(looked_at, 1), 1, most_nan_rows));
  return a;
}

struct nan_storage {
  kernels::bin_storage<8> bins;
  position counts[2][2][simt::thread_limit / simt::warp_size];  // better and tied, two in turn
  std::uint32_t marked[most_nan_rows];                          // rows to select again
};

// One row. All threads of a block call it together, except where `index` and `stride` are given.
template <class Simt, class T>
class nan_row {
 public:
  using key = key_word<T>;
  using args = nan_args<T>;

  KSELECT_HD nan_row(Simt& simt, nan_storage& shared, const args& a, std::int64_t row)
      : simt_(simt),
        shared_(shared),
        a_(a),
        out_(kernels::outputs_at(simt, a.out, row * a.matrix.k, a.matrix.k)) {
    const auto range = kernels::range_of(simt, a.matrix, row);
    const position wanted = kernels::wanted_of(simt, a.matrix, row);
    first_ = row * a.row_step + range.start;
    length_ = range.length;
    count_ = wanted < length_ ? wanted : length_;
  }

  // Whether the caller's share has a misplaced NaN.
  KSELECT_HD bool misplaces(position index, position stride) {
    bool found = false;
    if (a_.place == nan_order::last) {
      for (position j = index; j < count_; j += stride) {
        found = is_misplaced(simt_.load(out_.values, j)) || found;
      }
    } else if (count_ != 0) {
      for (position c = index; c < length_; c += stride) found = is_misplaced(element(c)) || found;
    }
    return found;
  }

  KSELECT_HD void select_again() {
    find_last();
    take();
    if (a_.ordered) sort();
  }

 private:
  KSELECT_HD T element(position c) {
    return simt_.load(a_.matrix.input, first_ + c * a_.column_step);
  }
  KSELECT_HD bool is_nan_here(T value) const {
    return static_cast<order_key_t<T>>(bits_of(value) & ~sign_bit<T>) > a_.infinity;
  }
  KSELECT_HD bool is_misplaced(T value) const {
    if (!is_nan_here(value)) return false;
    return a_.ordered || is_misplaced_nan(value, a_.wanted, a_.place);
  }
  KSELECT_HD key key_of(T value) const {
    return is_nan_here(value) ? nan_key<T>(a_.place) : selection_key(value, a_.matrix.wanted);
  }

  // The key of the last element of the answer, and how many elements with it are taken.
  KSELECT_HD void find_last() {
    constexpr int bits = 8 * sizeof(order_key_t<T>);
    last_ = 0;
    tied_ = count_;
    for (int shift = bits - 8; shift >= 0; shift -= 8) {
      kernels::clear_bins(simt_, shared_.bins);
      simt_.sync_block();
      for (position c = thread(); c < length_; c += threads()) {
        const key k = key_of(element(c));
        // In two steps, since a shift by all bits of a word is undefined.
        if (((k ^ last_) >> shift >> 8) != 0) continue;
        simt_.atomic_add(shared_.bins.counts[k >> shift & 0xff], 1U);
      }
      simt_.sync_block();
      kernels::find_bin(simt_, shared_.bins, tied_);
      last_ |= static_cast<key>(shared_.bins.bin) << shift;
      tied_ -= shared_.bins.before;
    }
  }

  // Writes the elements that are better than the last, then the first that equal it.
  KSELECT_HD void take() {
    const position better = count_ - tied_;
    position better_before = 0, tied_before = 0;
    int turn = 0;
    for (position base = 0; base < length_; base += threads(), turn = 1 - turn) {
      const position c = base + thread();
      const bool inside = c < length_;
      const T value = inside ? element(c) : T{};
      const key k = key_of(value);
      const position own_better = rank(inside && k < last_, shared_.counts[turn][0]);
      const position own_tied = rank(inside && k == last_, shared_.counts[turn][1]);
      simt_.sync_block();
      const position at_better = better_before + own_better + earlier(shared_.counts[turn][0]);
      const position at_tied = tied_before + own_tied + earlier(shared_.counts[turn][1]);
      if (inside && k < last_) write(at_better, value, c);
      if (inside && k == last_ && at_tied < tied_) write(better + at_tied, value, c);
      better_before += total(shared_.counts[turn][0]);
      tied_before += total(shared_.counts[turn][1]);
      if (better_before == better && tied_before >= tied_) break;
    }
    simt_.sync_block();
  }

  // The caller's rank among those of its warp for which `counted` holds; the warp's number of them
  // goes to `counts`.
  KSELECT_HD position rank(bool counted, position* counts) {
    const std::uint32_t lanes = simt_.ballot(simt::full_mask, counted);
    if (simt_.lane() == 0) counts[simt_.warp()] = static_cast<position>(simt_.popc(lanes));
    return static_cast<position>(simt_.popc(lanes & simt_.lanemask_lt()));
  }
  KSELECT_HD position earlier(const position* counts) const {
    position sum = 0;
    for (int w = 0; w < simt_.warp(); ++w) sum += counts[w];
    return sum;
  }
  KSELECT_HD position total(const position* counts) const {
    position sum = 0;
    for (int w = 0; w < simt_.warps(); ++w) sum += counts[w];
    return sum;
  }

  KSELECT_HD void write(position at, T value, std::int64_t index) {
    kernels::write_output(simt_, out_, at, value, index);
  }

  // A bitonic network whose comparisons all point one way, so that any number of elements will do:
  // those beyond the end would be worse than all, and never move.
  KSELECT_HD void sort() {
    position padded = 1;
    while (padded < count_) padded *= 2;
    for (position size = 2; size <= padded; size *= 2) {
      compare_all(padded, size / 2, [&](position part, position at) {
        return pair_of{part * size + at, part * size + size - 1 - at};
      });
      for (position distance = size / 4; distance > 0; distance /= 2) {
        compare_all(padded, distance, [&](position part, position at) {
          const position low = part * 2 * distance + at;
          return pair_of{low, low + distance};
        });
      }
    }
  }

  struct pair_of {
    position low, high;
  };
  template <class Pair>
  KSELECT_HD void compare_all(position padded, position distance, const Pair& pair) {
    for (position i = thread(); i < padded / 2; i += threads()) {
      const pair_of both = pair(i / distance, i % distance);
      if (both.high < count_) compare(both);
    }
    simt_.sync_block();
  }
  KSELECT_HD void compare(const pair_of& both) {
    const T first = simt_.load(out_.values, both.low), second = simt_.load(out_.values, both.high);
    const key first_key = key_of(first), second_key = key_of(second);
    const std::int64_t first_at = index_at(both.low), second_at = index_at(both.high);
    const bool in_order =
        first_key < second_key || (first_key == second_key && first_at <= second_at);
    if (in_order) return;
    write(both.low, second, second_at);
    write(both.high, first, first_at);
  }
  KSELECT_HD std::int64_t index_at(position j) {
    if (out_.indices_32.size != 0) return simt_.load(out_.indices_32, j);
    return out_.indices_64.size != 0 ? simt_.load(out_.indices_64, j) : 0;
  }

  KSELECT_HD position thread() const { return static_cast<position>(simt_.thread()); }
  KSELECT_HD position threads() const { return static_cast<position>(simt_.threads()); }

  Simt& simt_;
  nan_storage& shared_;
  const args& a_;
  const answer_view<T> out_;  // of the row
  std::int64_t first_;
  position length_, count_;
  key last_;
  position tied_;
};

// A block takes neighbouring rows. A warp looks at a row, or the block does if it has but one.
template <class T>
struct nan_kernel {
  static constexpr int max_threads = 512;
  using storage = nan_storage;
  using args = nan_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    simt.wait_for_previous();
    const std::int64_t first = std::int64_t{simt.block()} * a.rows_of_a_block;
    const std::int64_t left = a.matrix.rows - first;
    const int rows = left < a.rows_of_a_block ? static_cast<int>(left) : a.rows_of_a_block;
    for (int r = simt.thread(); r < rows; r += simt.threads()) shared.marked[r] = 0;
    simt.sync_block();
    const bool shares = a.rows_of_a_block > 1;
    const int step = shares ? simt.warps() : 1;
    for (int r = shares ? simt.warp() : 0; r < rows; r += step) {
      nan_row<Simt, T> row(simt, shared, a, first + r);
      const auto index = static_cast<position>(shares ? simt.lane() : simt.thread());
      const auto stride = static_cast<position>(shares ? simt::warp_size : simt.threads());
      const bool found = simt.any(simt::full_mask, row.misplaces(index, stride));
      if (found && simt.lane() == 0) simt.atomic_max(shared.marked[r], 1U);
    }
    simt.sync_block();
    for (int r = 0; r < rows; ++r) {
      if (shared.marked[r] != 0) nan_row<Simt, T>(simt, shared, a, first + r).select_again();
    }
  }
};

// Puts the NaNs of answers, which have values, where the problem wants them. `threads`: of a block.
template <class T>
status place_nans(const problem& p, const io& buffers, bool ordered, int threads,
                  const executor& on) {
  if (p.nan == nan_order::total_order) return {};
  const nan_args<T> a = nan_args_of<T>(p, buffers, ordered);
  const std::int64_t blocks = (p.q + a.rows_of_a_block - 1) / a.rows_of_a_block;
  return simt::launch<nan_kernel<T>>(on, {blocks, threads, 0, true}, a);
}

}  // namespace kselect::ordered
