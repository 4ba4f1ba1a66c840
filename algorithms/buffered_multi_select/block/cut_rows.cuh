#pragma once
// Buffered multi-select: long ragged rows cut into pieces, so that blocks share the work evenly
// whatever the rows' lengths.
//
// A first launch of one block reads the lengths. Rows of more than an even part of all elements,
// two parts for each multiprocessor, are long. They are cut into *pieces* of about equal length. If
// there would be more of them than blocks, the long rows are laid end to end instead, and cut into
// equal *shares*: a share is the end of one row, the beginning of the next, or both. If rows are
// many, the second launch selects from short ones, a row a warp: a block would wait for each of its
// steps. In the next launch a block takes a share, and selects k candidates from each of its
// pieces. The last launch selects from the candidates of each long row, and from the other rows.
// The lengths stay on the device. (docs/decisions/kernels.md has what was tried.)
//
// An even part is taken to be no less than 16 k elements, so that its candidates are few beside it,
// and no less than sqrt(n k), so that a row's candidates are no more than it. Pieces that are no
// end of a row have a third of it or more.

#include "kernels/ragged_rows.cuh"

namespace kselect::bms {

using kernels::position;

// Lengths of pieces and shares are multiples of so many elements: whole lines of 128 bytes of any
// type.
inline constexpr position share_unit = 256;

// The part of a row in a share. A share has two at most, because long rows are longer.
struct row_piece {
  position begin, elements;  // in the row; no elements: there is no such piece
  position cut;              // the row's number among the long ones,
  position number;           // and the piece's among those of the row
};

// A long row.
struct cut_row {
  std::int64_t row;
  std::uint64_t begin;            // its first unit among those of all long rows
  position first, count;          // its pieces' places among all
  position head, elements, last;  // elements of the first piece, of others, and of the last
};

struct cut_totals {
  position rows;   // long ones
  position whole;  // rows that blocks take whole
};

// The lists of a call.
struct piece_lists {
  simt::global<cut_totals> totals;  // [1]
  simt::global<row_piece> pieces;   // [2 shares]
  simt::global<cut_row> rows;       // [shares]
  simt::global<position> whole;     // [Q]
  position shares = 0;              // the most; 0: no row is cut
  position shortest_row = 0;        // for blocks; warps take shorter ones
  position shortest_share = 0;      // in units
  bool last_launch = false;         // it takes candidates and whole rows, not shares
};

// Rows that are cut have their candidates in a piece's k places, but without gaps between them
// where a row wants, or a piece has, fewer than k.
template <class T>
struct cut_lists : piece_lists {
  kernels::answer_view<T> candidates;  // [2 shares][k]
};

KSELECT_HD constexpr position units_of(position elements) {
  return elements / share_unit + (elements % share_unit != 0 ? 1 : 0);
}

inline constexpr int most_listing_threads = 1024;

struct cut_storage {
  std::uint64_t of_warps[most_listing_threads / simt::warp_size];  // units
  std::uint64_t units;                                             // of long rows
  position rows;                                                   // long ones
  position longest_whole;                                          // units: longer rows are cut
  position alone;   // pieces of long rows, if no share has two
  position pieces;  // that are listed
  position whole;   // rows that are taken whole
};

// Lists the pieces. One block calls run(). Its code is fetched from memory once and runs once, so
// loops are not unrolled but to have several loads in flight.
template <class Simt>
class cutting {
 public:
  KSELECT_HD cutting(Simt& on, cut_storage& shared, const kernels::row_places& places,
                     const piece_lists& lists)
      : simt_(on), shared_(shared), places_(places), lists_(lists) {}

  KSELECT_HD void run() {
    const std::uint64_t all = units_of_all();
    if (simt_.thread() == 0) {
      shared_.longest_whole = even_part(all);
      shared_.units = 0;
      shared_.rows = shared_.alone = shared_.pieces = shared_.whole = 0;
    }
    for (position i = simt_.thread(); i < 2 * lists_.shares; i += simt_.threads()) {
      simt_.store(lists_.pieces, i, row_piece{0, 0, 0, 0});
    }
    simt_.sync_block();
    list_rows();
    simt_.sync_block();
    if (simt_.thread() == 0) {
      simt_.store(lists_.totals, 0, cut_totals{shared_.rows, shared_.whole});
    }
    list_pieces();
  }

 private:
  KSELECT_HD position length_of(std::int64_t row) {
    return row < places_.rows ? kernels::range_of(simt_, places_, row).length : 0;
  }

  // Units of a share, if the shares have `all` of them.
  KSELECT_HD position even_part(std::uint64_t all) const {
    const std::uint64_t even = (all - 1) / lists_.shares + 1;
    if (even > ~position{0}) return ~position{0};  // no row has as many
    return even > lists_.shortest_share ? static_cast<position>(even) : lists_.shortest_share;
  }

  KSELECT_HD std::uint64_t units_of_all() {
    constexpr int at_once = 4;  // loads in flight
    std::uint64_t own = 0;
    for (std::int64_t row = simt_.thread(); row < places_.rows; row += at_once * simt_.threads()) {
      position length[at_once];
      KSELECT_UNROLL
      for (int i = 0; i < at_once; ++i) length[i] = length_of(row + i * simt_.threads());
      KSELECT_UNROLL
      for (int i = 0; i < at_once; ++i) own += units_of(length[i]);
    }
    for (int delta = simt::warp_size / 2; delta > 0; delta /= 2) {
      own += simt_.shfl_xor(simt::full_mask, own, delta);
    }
    if (simt_.lane() == 0) shared_.of_warps[simt_.warp()] = own;
    simt_.sync_block();
    std::uint64_t all = 0;
    for (int w = 0; w < simt_.warps(); ++w) all += shared_.of_warps[w];
    return all == 0 ? 1 : all;
  }

  // Lists the rows that are taken whole, and the long ones. Of these `head` is the length until
  // list_pieces() lists their pieces.
  KSELECT_HD void list_rows() {
    for (std::int64_t row = simt_.thread(); row < places_.rows; row += simt_.threads()) {
      const position length = length_of(row), units = units_of(length);
      if (units > shared_.longest_whole) {
        const std::uint64_t begin = simt_.atomic_add(shared_.units, units);
        simt_.store(lists_.rows, simt_.atomic_add(shared_.rows, 1U),
                    cut_row{row, begin, 0, 0, length, 0, 0});
      } else if (length >= lists_.shortest_row) {
        simt_.store(lists_.whole, simt_.atomic_add(shared_.whole, 1U), static_cast<position>(row));
      }
    }
  }

  // The pieces of a row, if no share has two: about as many as it has shares.
  KSELECT_HD static position pieces_alone(position units, position share) {
    const position nearest = (units + share / 2) / share;
    return nearest < 2 ? 2 : nearest;
  }

  // Lists the pieces of the long rows. If there are enough shares, each has one piece. Otherwise
  // rows are laid end to end and cut into shares as equal as their number allows.
  KSELECT_HD void list_pieces() {
    if (shared_.rows == 0) return;
    // No longer than `longest_whole`, because the other rows need no shares.
    const auto shares = static_cast<position>((shared_.units - 1) / even_part(shared_.units) + 1);
    const auto share = static_cast<position>((shared_.units - 1) / shares + 1);
    for (position cut = simt_.thread(); cut < shared_.rows; cut += simt_.threads()) {
      const position units = units_of(simt_.load(lists_.rows, cut).head);
      simt_.atomic_add(shared_.alone, pieces_alone(units, share));
    }
    simt_.sync_block();
    const bool alone = shared_.alone <= lists_.shares;
    for (position cut = simt_.thread(); cut < shared_.rows; cut += simt_.threads()) {
      cut_row row = simt_.load(lists_.rows, cut);
      const position length = row.head, units = units_of(length);
      const position each = alone ? (units - 1) / pieces_alone(units, share) + 1 : share;
      const std::uint64_t begin = alone ? 0 : row.begin;
      const auto skipped = static_cast<position>(begin % each);  // of its first share
      row.count = (skipped + units - 1) / each + 1;
      row.first = simt_.atomic_add(shared_.pieces, row.count);
      row.head = (each - skipped) * share_unit;
      row.elements = each * share_unit;
      row.last = length - row.head - (row.count - 2) * row.elements;
      simt_.store(lists_.rows, cut, row);
      list_pieces_of(row, cut, alone ? row.first : static_cast<position>(begin / each),
                     skipped != 0);
    }
  }

  // Lists a row's pieces, of share number `share` and the next ones. A row that begins in the midst
  // of a share has the share's second piece.
  KSELECT_HD void list_pieces_of(const cut_row& row, position cut, position share, bool midst) {
    position begin = 0, elements = row.head;
    for (position i = 0; i < row.count; ++i) {
      const position place = 2 * (share + i) + (i == 0 && midst ? 1 : 0);
      simt_.store(lists_.pieces, place, row_piece{begin, elements, cut, i});
      begin += elements;
      elements = i + 2 == row.count ? row.last : row.elements;
    }
  }

  Simt& simt_;
  cut_storage& shared_;
  const kernels::row_places& places_;
  const piece_lists& lists_;
};

// One block.
struct cut_kernel {
  static constexpr int max_threads = most_listing_threads;
  struct storage {
    cut_storage lists;
  };
  struct args {
    kernels::row_places places;
    piece_lists lists;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    cutting<Simt>(simt, shared.lists, a.places, a.lists).run();
  }
};

}  // namespace kselect::bms
