#pragma once
// Buffered multi-select: long ragged rows cut into pieces, so that blocks share the work evenly
// whatever the rows' lengths.
//
// In a first launch one block reads the lengths. Rows of more than an even part of all elements,
// two parts for each multiprocessor, are long. They are cut into *pieces* of about equal length. If
// there would be more of them than blocks, the long rows are laid end to end instead, and cut into
// equal *shares*: a share is the end of one row, the beginning of the next, or both. If rows are
// many, other blocks of this launch select from short ones, a row a warp: a block would wait for
// each of its steps. In the second launch a block takes a share, and selects k candidates from each
// of its pieces. The last launch selects from the candidates of each long row, and from the other
// rows. The lengths stay on the device. (docs/decisions/kernels.md has what was tried.)
//
// An even part is taken to be no less than 16 k elements, so that its candidates are few beside it,
// and no less than sqrt(n k), so that a row's candidates are no more than it. Pieces that are no
// end of a row have a third of it or more.

#include "kernels/ragged_rows.cuh"
#include "kernels/warp_sums.cuh"

namespace kselect::bms {

using kernels::least, kernels::position;

// Lengths of pieces and shares are multiples of a power of two, the *unit*: whole lines of 128
// bytes of any type, or more if the units of all rows would not fit 32 bits.
inline constexpr int least_unit_bits = 8;

constexpr std::int64_t units_of(std::int64_t elements, int unit_bits) {
  return (elements - 1 + (std::int64_t{1} << unit_bits)) >> unit_bits;
}
constexpr int unit_bits_for(std::int64_t rows, std::int64_t n) {
  int bits = least_unit_bits;
  while (rows * units_of(n, bits) >= std::int64_t{1} << 31) ++bits;
  return bits;
}

// A long row. Until it is cut, `share` is its first unit among those of all long rows, and `head`
// its length.
struct cut_row {
  position row;
  position share;                 // of its first piece; if `head` < `elements`, it begins inside
  position first, count;          // its pieces' numbers among those of all rows
  position head, elements, last;  // elements of the first piece, of others, and of the last
};

// The part of a row in a share. A share has two at most, because long rows are longer.
struct row_piece {
  cut_row of;
  position number;           // among the row's pieces
  position begin, elements;  // in the row; no elements: there is no such piece
};

struct cut_totals {
  position rows;   // long ones
  position whole;  // rows that the last launch takes whole
};

// The lists of a call.
struct piece_lists {
  simt::global<cut_totals> totals;  // [1]
  simt::global<cut_row> rows;       // [shares]
  simt::global<position> whole;     // [Q]
  position shares = 0;              // the most; 0: no row is cut
  int unit_bits = 0;                // log2 of a unit's elements
  position shortest_share = 0;      // in units
  position shortest_row = 0;        // for blocks; warps take shorter ones
  bool last_launch = false;         // it takes candidates and whole rows, not shares
};

// Rows that are cut have their candidates in a piece's k places, but without gaps between them
// where a row wants, or a piece has, fewer than k.
template <class T>
struct cut_lists : piece_lists {
  kernels::answer_view<T> candidates;  // [2 shares][k]
};

struct cut_storage {
  position all, units;  // units of all rows; units of long ones
  position rows;        // long ones
  position whole;       // rows that are listed as whole
  position alone;       // pieces of long rows, if no share has two
  position pieces;      // that have a number
};

// Lists the long rows and those that are taken whole. One block calls run(). A thread has
// neighbouring rows: up to 32 of them have their lengths in one line of memory, which the thread's
// first load fetches. The code runs once and is fetched from memory first, so there is little of
// it. `at_once`: loads in flight, if the lengths have 32 bits.
template <class Simt, int at_once>
class cutting {
 public:
  KSELECT_HD cutting(Simt& on, cut_storage& shared, const kernels::row_places& places,
                     const piece_lists& lists)
      : simt_(on), shared_(shared), places_(places), lists_(lists) {
    const auto rows = static_cast<position>(places.rows);
    each_ = (rows - 1) / on.threads() + 1;
    begin_ = least(on.thread() * each_, rows);
    end_ = least(begin_ + each_, rows);
  }

  KSELECT_HD void run() {
    if (simt_.thread() == 0) shared_ = {};
    simt_.sync_block();
    add_units();
    simt_.sync_block();
    list_rows(even_part(shared_.all));
    simt_.sync_block();
    if (simt_.thread() == 0) {
      simt_.store(lists_.totals, 0, cut_totals{shared_.rows, shared_.whole});
    }
    cut_rows();
  }

 private:
  // Units of a share, if the shares have `all` of them.
  KSELECT_HD position even_part(position all) const {
    const position even = (all + lists_.shares - 1) / lists_.shares;
    return even > lists_.shortest_share ? even : lists_.shortest_share;
  }

  // The same as units_of() of the host, in 32 bits: less code.
  KSELECT_HD position units_of(position length) const {
    return (length + (position{1} << lists_.unit_bits) - 1) >> lists_.unit_bits;
  }

  // Adds up what the threads have. Every thread of the block calls it.
  KSELECT_HD void add_all(position& shared, position own) {
    own = simt_.reduce_add(simt::full_mask, own);
    if (simt_.lane() == 0) simt_.atomic_add(shared, own);
  }

  // The lengths of row number `row`, which is this thread's, and of the next ones. Rows beyond this
  // thread's get 0.
  KSELECT_HD void load_lengths(position (&lengths)[at_once], position row) {
    if (places_.has_lengths && !places_.segments && places_.lengths.of_32.size != 0) {
      KSELECT_UNROLL
      for (int i = 0; i < at_once; ++i) {
        const std::int32_t own = simt_.load(places_.lengths.of_32, least(row + i, end_ - 1));
        lengths[i] = own < 0 ? 0 : least(static_cast<position>(own), places_.n);
      }
    } else {
      KSELECT_UNROLL
      for (int i = 0; i < at_once; ++i) {
        lengths[i] = length_of(simt_, places_, least(row + i, end_ - 1));
      }
    }
    KSELECT_UNROLL
    for (int i = 1; i < at_once; ++i) {
      if (row + i >= end_) lengths[i] = 0;
    }
  }
  // One copy of the code serves all loops.
  KSELECT_RARE KSELECT_HD static position length_of(Simt& simt, const kernels::row_places& places,
                                                    position row) {
    return kernels::range_of(simt, places, row).length;
  }

  KSELECT_HD void add_units() {
    position own = 0;
    KSELECT_ROLLED
    for (position row = begin_; row < end_; row += at_once) {
      position lengths[at_once];
      load_lengths(lengths, row);
      KSELECT_UNROLL
      for (int i = 0; i < at_once; ++i) own += units_of(lengths[i]);
    }
    add_all(shared_.all, own);
  }

  // Lists the rows that are taken whole, and the long ones.
  KSELECT_HD void list_rows(position longest_whole) {
    constexpr position some = 32;  // a bit for each
    KSELECT_ROLLED
    for (position first = 0; first < each_; first += some) {
      std::uint32_t whole = 0, is_long = 0;
      KSELECT_ROLLED
      for (position i = 0; i < some && begin_ + first + i < end_; i += at_once) {
        position lengths[at_once];
        load_lengths(lengths, begin_ + first + i);
        KSELECT_UNROLL
        for (int j = 0; j < at_once; ++j) {
          const std::uint32_t bit = std::uint32_t{1} << (i + j);
          const bool cut = units_of(lengths[j]) > longest_whole;
          if (cut) is_long |= bit;
          if (!cut && lengths[j] >= lists_.shortest_row) whole |= bit;
        }
      }
      const position left = end_ - begin_ - first;  // wraps if there are none; then no bit is set
      if (left < some) whole &= (std::uint32_t{1} << left) - 1;
      list_whole(whole, begin_ + first);
      list_long(is_long, begin_ + first);
    }
  }

  // Lists the rows of which a bit is set; bit 0 is that of row number `first`.
  KSELECT_HD void list_whole(std::uint32_t rows, position first) {
    const auto own = static_cast<position>(simt_.popc(rows));
    const position through = kernels::sum_up_to_lane(simt_, own);
    position to = 0;
    if (simt_.lane() == simt::warp_size - 1) to = simt_.atomic_add(shared_.whole, through);
    to = simt_.shfl(simt::full_mask, to, simt::warp_size - 1) + through - own;
    KSELECT_ROLLED
    for (; rows != 0; rows &= rows - 1, ++to) {
      simt_.store(lists_.whole, to, first + static_cast<position>(simt_.ffs(rows) - 1));
    }
  }

  // The same for long rows.
  KSELECT_HD void list_long(std::uint32_t rows, position first) {
    KSELECT_ROLLED
    for (; rows != 0; rows &= rows - 1) {
      const position row = first + static_cast<position>(simt_.ffs(rows) - 1);
      const position length = length_of(simt_, places_, row);
      const position begin = simt_.atomic_add(shared_.units, units_of(length));
      simt_.store(lists_.rows, simt_.atomic_add(shared_.rows, 1U),
                  cut_row{row, begin, 0, 0, length, 0, 0});
    }
  }

  // The pieces of a row, if no share has two: about as many as it has shares.
  KSELECT_HD static position pieces_alone(position units, position share) {
    const position nearest = (units + share / 2) / share;
    return nearest < 2 ? 2 : nearest;
  }

  // Cuts the long rows. If there are enough shares, each has one piece. Otherwise rows are laid end
  // to end and cut into equal shares.
  KSELECT_HD void cut_rows() {
    // No longer than `longest_whole`, because the other rows need no shares.
    const position share = even_part(shared_.units);
    position own = 0;
    KSELECT_ROLLED
    for (position i = simt_.thread(); i < shared_.rows; i += simt_.threads()) {
      own += pieces_alone(units_of(simt_.load(lists_.rows, i).head), share);
    }
    add_all(shared_.alone, own);
    simt_.sync_block();
    const bool alone = shared_.alone <= lists_.shares;
    KSELECT_ROLLED
    for (position i = simt_.thread(); i < shared_.rows; i += simt_.threads()) {
      cut_row row = simt_.load(lists_.rows, i);
      const position length = row.head, units = units_of(length);
      const position each = alone ? (units - 1) / pieces_alone(units, share) + 1 : share;
      const position begin = alone ? 0 : row.share;
      const position skipped = begin % each;  // of its first share
      row.count = (skipped + units - 1) / each + 1;
      row.first = simt_.atomic_add(shared_.pieces, row.count);
      row.share = alone ? row.first : begin / each;
      row.head = (each - skipped) << lists_.unit_bits;
      row.elements = each << lists_.unit_bits;
      row.last = length - row.head - (row.count - 2) * row.elements;
      simt_.store(lists_.rows, i, row);
    }
  }

  Simt& simt_;
  cut_storage& shared_;
  const kernels::row_places& places_;
  const piece_lists& lists_;
  position each_;         // rows of a thread
  position begin_, end_;  // this thread's
};

// One block, where rows are few. Where they are many, block 0 of the warps' launch does its work.
template <int at_once = 1>
struct cut_kernel {
  static constexpr int max_threads = 256;
  struct storage {
    cut_storage lists;
  };
  struct args {
    kernels::row_places places;
    piece_lists lists;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    cutting<Simt, at_once>(simt, shared.lists, a.places, a.lists).run();
  }
};

// Finds the pieces of share number block(). All threads of a block call it.
template <class Simt>
KSELECT_HD void find_pieces(Simt& simt, const piece_lists& lists, row_piece (&pieces)[2]) {
  if (simt.thread() < 2) pieces[simt.thread()].elements = 0;
  simt.sync_block();
  const position rows = simt.load(lists.totals, 0).rows;
  KSELECT_ROLLED
  for (position r = simt.thread(); r < rows; r += simt.threads()) {
    const cut_row row = simt.load(lists.rows, r);
    const position i = static_cast<position>(simt.block()) - row.share;  // wraps below it
    if (i >= row.count) continue;
    const position begin = i == 0 ? 0 : row.head + (i - 1) * row.elements;
    const position elements = i == 0 ? row.head : i + 1 == row.count ? row.last : row.elements;
    pieces[i == 0 && row.head != row.elements ? 1 : 0] = {row, i, begin, elements};
  }
  simt.sync_block();
}

}  // namespace kselect::bms
