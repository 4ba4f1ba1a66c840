#pragma once
// Buffered multi-select: long ragged rows cut into pieces, so that blocks share the work evenly
// whatever the rows' lengths.
//
// A first launch of one block reads the lengths. It chooses the length of a piece, so that there
// are about two pieces for each multiprocessor, and lists the pieces of all longer rows, and the
// other rows that blocks take. If rows are many, the second launch selects from short ones, a row a
// warp: a block would wait for each of its steps. The next launch selects k from each piece and, in
// the same grid, from each row that is neither short nor cut. The hardware starts a block when
// another ends, pieces first, so no block is left with a long row when the others are done. The
// last launch selects from the pieces' candidates of each row that was cut. The lengths stay on the
// device.
//
// A piece has 16 k elements or more, so that its candidates are few beside them, and sqrt(n k) or
// more, so that a row's candidates are no more than a piece.

#include "kernels/ragged_rows.cuh"

namespace kselect::bms {

using kernels::position;

struct row_piece {
  std::int64_t row;
  position number;  // of the row's pieces
};

struct cut_row {
  std::int64_t row;
  position first, count;  // its pieces in the list
  position last;          // elements of the last piece
};

struct cut_totals {
  position length;  // of a piece; longer rows are cut
  position pieces, rows;
  position whole;  // rows that blocks take whole
};

// The lists of a call. Rows that are cut have their candidates in a piece's k places, but without
// gaps between them where a row wants fewer than k.
template <class T>
struct cut_lists {
  simt::global<cut_totals> totals;     // [1]
  simt::global<row_piece> pieces;      // [most]
  simt::global<cut_row> rows;          // [most]
  simt::global<position> whole;        // [Q]: rows that are neither short nor cut
  kernels::answer_view<T> candidates;  // [most][k]
  position most = 0;                   // pieces; 0: no row is cut
  position shortest = 0;               // of rows for blocks; warps take shorter ones
  bool merging = false;                // this launch selects from the candidates
};

// Lists the pieces: one block.
struct cut_kernel {
  static constexpr int max_threads = 1024;
  struct storage {
    std::uint64_t sums[max_threads / simt::warp_size];
    position length, pieces, rows, whole;
  };
  struct args {
    kernels::row_places places;
    simt::global<cut_totals> totals;
    simt::global<row_piece> pieces;
    simt::global<cut_row> rows;
    simt::global<position> whole;
    position shortest_row;  // that is not left to warps
    position shortest;      // length of a piece
    position wanted;        // pieces, at least, if that leaves them long enough
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::uint64_t all = elements_of_all(simt, shared, a);
    if (simt.thread() == 0) {
      // Whole lines of 128 bytes of any type.
      const std::uint64_t even = (all / a.wanted + 255) / 256 * 256;
      shared.length = even > a.shortest ? static_cast<position>(even) : a.shortest;
      shared.pieces = 0;
      shared.rows = 0;
      shared.whole = 0;
    }
    simt.sync_block();
    for (std::int64_t row = simt.thread(); row < a.places.rows; row += simt.threads()) {
      const position length = kernels::range_of(simt, a.places, row).length;
      if (length > shared.length) {
        cut(simt, shared, a, row, length);
      } else if (length >= a.shortest_row) {
        simt.store(a.whole, simt.atomic_add(shared.whole, 1U), static_cast<position>(row));
      }
    }
    simt.sync_block();
    if (simt.thread() != 0) return;
    simt.store(a.totals, 0, cut_totals{shared.length, shared.pieces, shared.rows, shared.whole});
  }

 private:
  template <class Simt>
  KSELECT_HD static std::uint64_t elements_of_all(Simt& simt, storage& shared, const args& a) {
    std::uint64_t own = 0;
    for (std::int64_t row = simt.thread(); row < a.places.rows; row += simt.threads()) {
      own += kernels::range_of(simt, a.places, row).length;
    }
    for (int delta = simt::warp_size / 2; delta > 0; delta /= 2) {
      own += simt.shfl_xor(simt::full_mask, own, delta);
    }
    if (simt.lane() == 0) shared.sums[simt.warp()] = own;
    simt.sync_block();
    std::uint64_t all = 0;
    for (int w = 0; w < simt.warps(); ++w) all += shared.sums[w];
    return all;
  }

  template <class Simt>
  KSELECT_HD static void cut(Simt& simt, storage& shared, const args& a, std::int64_t row,
                             position length) {
    const position count = (length - 1) / shared.length + 1;
    const position first = simt.atomic_add(shared.pieces, count);
    const position number = simt.atomic_add(shared.rows, 1U);
    simt.store(a.rows, number, cut_row{row, first, count, length - (count - 1) * shared.length});
    for (position i = 0; i < count; ++i) simt.store(a.pieces, first + i, row_piece{row, i});
  }
};

}  // namespace kselect::bms
