#pragma once
// The certificate (harness/verify/certificate.hpp) as kernels, for answers with indices in the
// memory of a GPU. Checks every row and returns the same verdict as the host.
//
// Four launches check a band of rows. Each row has a record, which any number of warps update by
// atomics:
//   outputs   checks the output itself and against its k elements (range, distinctness,
//             value bits, order) and finds the worst key returned;
//   cut       counts outputs better than that key and tied with it, and finds the last tied column;
//   row       reads the row once and counts the same;
//   verdict   proves a row if its record is complete and shows no fault.
//
// A warp checks a stretch of one row at a time, so a long row gets many warps and a short one gets
// one. Lanes load single elements, neighbours side by side, because rows may lie at any address;
// each lane keeps several loads in flight. Keys are integers (kselect/order.hpp); no floats are
// compared.
//
// The bitmap of a row finds repeated indices: an atomic add sets the bit of each index and returns
// the word before. While all bits are distinct, no addition carries. So the first repetition is
// always seen. Carries after it change only the words of that row, which has failed already.

#include <cstdint>
#include <limits>

#include "harness/verify/certificate.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::harness::device_proof {

// The record of row r of a band. Zero before the first launch.
template <class T>
struct row_records {
  simt::global<order_word_t<T>> worst;     // the worst key returned
  simt::global<std::int64_t> balance;      // better keys: returned ones minus the row's
  simt::global<std::int64_t> ties;         // equal keys: returned ones minus the row's in
  simt::global<std::int64_t> tie_columns;  // columns [0, tie_columns), up to the last tie returned
  simt::global<std::int64_t> looked_at;    // outputs, outputs again, columns: 2k + n if complete
  simt::global<std::int32_t> failed;       // the strongest mark (mark_of)
  simt::global<std::uint32_t> chosen;      // the bitmap, words_for(n) words a row
};

KSELECT_HD constexpr std::int64_t words_for(std::int64_t n) { return (n + 31) / 32; }

// A failed check as an integer: the earlier the certificate checks it, the greater the mark.
inline constexpr std::int32_t strongest_mark = 8;
inline constexpr std::int32_t incomplete = 1;  // a part of the work was not done
KSELECT_HD constexpr std::int32_t mark_of(check failed) {
  return strongest_mark - static_cast<std::int32_t>(failed);
}
static_assert(mark_of(check::index_range) == strongest_mark &&
              mark_of(check::tie_break) > incomplete);

// The verdict over all rows. lowest_wrong is code_of(row, mark).
struct summary {
  std::int64_t proven = 0;
  std::int64_t lowest_wrong = std::numeric_limits<std::int64_t>::max();
};
KSELECT_HD constexpr std::int64_t code_of(std::int64_t row, std::int32_t mark) {
  return row * (strongest_mark + 1) + (strongest_mark - mark);
}

template <class T, class Index>
struct arguments {
  // The whole problem, laid out as it says.
  simt::global<const T> input, values;
  simt::global<const Index> indices;
  std::int64_t n = 0, k = 0, pitch = 0;
  bool column_major = false;
  order_t<T> wanted = {};
  // The contract's promises.
  bool zeros_merged = false, sorted = false, stable = false, first_ties = false;
  // The band of rows, cut into stretches of `stretch` elements.
  std::int64_t first_row = 0, rows = 0, stretch = 0;
  row_records<T> records;
  simt::global<std::int64_t> proven, lowest_wrong;  // one element each

  KSELECT_HD std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return column_major ? column * pitch + row : row * pitch + column;
  }
  // Smaller is better; equal keys tie.
  KSELECT_HD order_word_t<T> key(T value) const {
    return zeros_merged ? selection_key_zeros_merged(value, wanted) : selection_key(value, wanted);
  }
};

KSELECT_HD constexpr std::int64_t stretches(std::int64_t length, std::int64_t stretch) {
  return (length + stretch - 1) / stretch;
}

// Calls f(row, begin, end) for this warp's share of the stretches of `rows` rows.
template <class Simt, class F>
KSELECT_HD void for_each_stretch(Simt& simt, std::int64_t rows, std::int64_t length,
                                 std::int64_t stretch, F&& f) {
  const std::int64_t in_a_row = stretches(length, stretch);
  const std::int64_t step = std::int64_t{simt.blocks()} * simt.warps();
  std::int64_t i = std::int64_t{simt.block()} * simt.warps() + simt.warp();
  for (; i < rows * in_a_row; i += step) {
    const std::int64_t begin = i % in_a_row * stretch;
    f(i / in_a_row, begin, begin + stretch < length ? begin + stretch : length);
  }
}

template <class Simt, class T>
KSELECT_HD T warp_max(Simt& simt, T value) {
  for (int distance = simt::warp_size / 2; distance > 0; distance /= 2) {
    const T other = simt.shfl_xor(simt::full_mask, value, distance);
    if (other > value) value = other;
  }
  return value;
}

template <class T, class Index>
struct outputs_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using args = arguments<T, Index>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    for_each_stretch(simt, a.rows, a.k, a.stretch,
                     [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
                       order_word_t<T> worst = 0;
                       std::int32_t failed = 0;
                       for (std::int64_t j = begin + simt.lane(); j < end; j += simt::warp_size) {
                         const T value = simt.load(a.values, (a.first_row + row) * a.k + j);
                         const order_word_t<T> key = a.key(value);
                         if (key > worst) worst = key;
                         note(failed, mark_of_output(simt, a, row, j, value));
                         if (a.sorted && j > 0) note(failed, mark_of_order(simt, a, row, j, key));
                       }
                       worst = warp_max(simt, worst);
                       failed = warp_max(simt, failed);
                       if (simt.lane() != 0) return;
                       simt.atomic_max(a.records.worst, row, worst);
                       if (failed != 0) simt.atomic_max(a.records.failed, row, failed);
                       simt.atomic_add(a.records.looked_at, row, end - begin);
                     });
  }

 private:
  KSELECT_HD static void note(std::int32_t& failed, std::int32_t mark) {
    if (mark > failed) failed = mark;
  }

  // Checks index range, distinctness and value bits of output j. Returns the mark, 0 if none fails.
  template <class Simt>
  KSELECT_HD static std::int32_t mark_of_output(Simt& simt, const args& a, std::int64_t row,
                                                std::int64_t j, T value) {
    const std::int64_t column = simt.load(a.indices, (a.first_row + row) * a.k + j);
    if (column < 0 || column >= a.n) return mark_of(check::index_range);
    const std::uint32_t bit = std::uint32_t{1} << (column % 32);
    const std::uint32_t before =
        simt.atomic_add(a.records.chosen, row * words_for(a.n) + column / 32, bit);
    if ((before & bit) != 0) return mark_of(check::index_distinct);
    const T there = simt.load(a.input, a.offset(a.first_row + row, column));
    return bits_of(there) == bits_of(value) ? 0 : mark_of(check::value_bits);
  }

  // Checks output j > 0 against the one before it.
  template <class Simt>
  KSELECT_HD static std::int32_t mark_of_order(Simt& simt, const args& a, std::int64_t row,
                                               std::int64_t j, order_word_t<T> key) {
    const std::int64_t at = (a.first_row + row) * a.k + j;
    const order_word_t<T> before = a.key(simt.load(a.values, at - 1));
    if (key < before) return mark_of(check::ordering);
    if (!a.stable || key != before) return 0;
    const bool in_order = simt.load(a.indices, at - 1) <= simt.load(a.indices, at);
    return in_order ? 0 : mark_of(check::stability);
  }
};

// Counts elements better than the worst key returned and elements that tie with it.
template <class T>
struct tally {
  order_word_t<T> worst;
  std::uint32_t better = 0, ties = 0;

  KSELECT_HD void add(order_word_t<T> key, bool may_tie) {
    better += key < worst ? 1U : 0U;
    ties += may_tie && key == worst ? 1U : 0U;
  }
};

template <class T, class Index>
struct cut_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using args = arguments<T, Index>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    for_each_stretch(
        simt, a.rows, a.k, a.stretch, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
          tally<T> returned{simt.load(a.records.worst, row)};
          std::int64_t tie_columns = 0;
          for (std::int64_t j = begin + simt.lane(); j < end; j += simt::warp_size) {
            const std::int64_t at = (a.first_row + row) * a.k + j;
            const order_word_t<T> key = a.key(simt.load(a.values, at));
            returned.add(key, true);
            if (key != returned.worst) continue;
            const std::int64_t column = simt.load(a.indices, at);
            if (column >= tie_columns && column < a.n) tie_columns = column + 1;
          }
          const std::uint32_t better = simt.reduce_add(simt::full_mask, returned.better);
          const std::uint32_t ties = simt.reduce_add(simt::full_mask, returned.ties);
          tie_columns = warp_max(simt, tie_columns);
          if (simt.lane() != 0) return;
          simt.atomic_add(a.records.balance, row, std::int64_t{better});
          simt.atomic_add(a.records.ties, row, std::int64_t{ties});
          simt.atomic_max(a.records.tie_columns, row, tie_columns);
          simt.atomic_add(a.records.looked_at, row, end - begin);
        });
  }
};

// Row-major: the lanes of a warp read neighbouring columns of one row. Column-major: each lane has
// its own row, and the warp walks the columns together.
template <class T, class Index>
struct row_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using args = arguments<T, Index>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (a.column_major) {
      columns(simt, a);
    } else {
      rows(simt, a);
    }
  }

 private:
  // Counts columns begin, begin + step, ... < end of the row.
  template <class Simt>
  KSELECT_HD static tally<T> count(Simt& simt, const args& a, std::int64_t row, std::int64_t begin,
                                   std::int64_t end, int step) {
    constexpr int in_flight = 8;  // loads in flight per lane
    tally<T> seen{simt.load(a.records.worst, row)};
    const std::int64_t tie_columns = simt.load(a.records.tie_columns, row);
    const auto element = [&](std::int64_t column) {
      return simt.load(a.input, a.offset(a.first_row + row, column));
    };
    std::int64_t c = begin;
    for (; c + (in_flight - 1) * step < end; c += in_flight * step) {
      T part[in_flight];
      KSELECT_UNROLL
      for (int i = 0; i < in_flight; ++i) part[i] = element(c + i * step);
      KSELECT_UNROLL
      for (int i = 0; i < in_flight; ++i) seen.add(a.key(part[i]), c + i * step < tie_columns);
    }
    for (; c < end; c += step) seen.add(a.key(element(c)), c < tie_columns);
    return seen;
  }

  template <class Simt>
  KSELECT_HD static void subtract(Simt& simt, const args& a, std::int64_t row, std::int64_t better,
                                  std::int64_t ties, std::int64_t columns) {
    simt.atomic_add(a.records.balance, row, -better);
    simt.atomic_add(a.records.ties, row, -ties);
    simt.atomic_add(a.records.looked_at, row, columns);
  }

  template <class Simt>
  KSELECT_HD static void rows(Simt& simt, const args& a) {
    for_each_stretch(
        simt, a.rows, a.n, a.stretch, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
          const tally<T> seen = count(simt, a, row, begin + simt.lane(), end, simt::warp_size);
          const std::uint32_t better = simt.reduce_add(simt::full_mask, seen.better);
          const std::uint32_t ties = simt.reduce_add(simt::full_mask, seen.ties);
          if (simt.lane() == 0) subtract(simt, a, row, better, ties, end - begin);
        });
  }

  template <class Simt>
  KSELECT_HD static void columns(Simt& simt, const args& a) {
    const std::int64_t warps = stretches(a.rows, simt::warp_size);
    for_each_stretch(simt, warps, a.n, a.stretch,
                     [&](std::int64_t group, std::int64_t begin, std::int64_t end) {
                       const std::int64_t row = group * simt::warp_size + simt.lane();
                       if (row >= a.rows) return;
                       const tally<T> seen = count(simt, a, row, begin, end, 1);
                       subtract(simt, a, row, seen.better, seen.ties, end - begin);
                     });
  }
};

template <class T, class Index>
struct verdict_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using args = arguments<T, Index>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t row = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    std::uint32_t proven = 0;
    for (; row < a.rows; row += stride) {
      const std::int32_t mark = mark_of_row(simt, a, row);
      if (mark == 0) {
        ++proven;
      } else {
        simt.atomic_min(a.lowest_wrong, 0, code_of(a.first_row + row, mark));
      }
    }
    proven = simt.reduce_add(simt::full_mask, proven);
    if (simt.lane() == 0 && proven != 0) simt.atomic_add(a.proven, 0, std::int64_t{proven});
  }

 private:
  // The strongest mark of the row; 0 if it is proven.
  template <class Simt>
  KSELECT_HD static std::int32_t mark_of_row(Simt& simt, const args& a, std::int64_t row) {
    std::int32_t mark = simt.load(a.records.failed, row);
    const auto note = [&](bool wrong, std::int32_t other) {
      if (wrong && other > mark) mark = other;
    };
    note(simt.load(a.records.balance, row) != 0, mark_of(check::count));
    note(a.first_ties && simt.load(a.records.ties, row) != 0, mark_of(check::tie_break));
    note(simt.load(a.records.looked_at, row) != 2 * a.k + a.n, incomplete);
    return mark;
  }
};

}  // namespace kselect::harness::device_proof
