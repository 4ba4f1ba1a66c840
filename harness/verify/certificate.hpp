#pragma once
// Proves that an answer is right: checks a certificate against the input. It compares with no
// second algorithm.
//
// Let t be the worst key returned for a row. Four checks prove that the output is a selection of
// the k best: every index lies in the row (1), no index occurs twice (2), every value has the bits
// of the element at its index (3), and the output holds as many keys strictly better than t as the
// row does (4). By 1-3 the output is k elements of the row; by 4 no better element is left out.
// This takes one linear pass and no sort. There is no tolerance, because selection computes no new
// values.
//
// Without values, those that the indices name stand for them, and (3) falls away. Without indices,
// one check replaces 1-3: no bit pattern is returned more often than the row holds it. The
// contract's further promises (order, stability, choice among ties) are checked too. Nothing that
// the contract does not promise is checked.
//
// A ragged row is proven by itself, by its own length and its own k: its first outputs are the
// certificate's, and the others have the index and the bits of the fill. Names that a map gave are
// made positions first (names.hpp). Of a row under a mask the admitted elements are proven as a row
// of their own (admitted_row.hpp). Where NaN is last or first, the answer is proven on rows whose
// NaNs are all the worst or the best of the total order (nan_order.hpp).

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "kselect/algorithm.hpp"
#include "kselect/contract.hpp"
#include "kselect/names.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

enum class check : std::uint8_t {
  index_range,     // an index outside [0, n), or of an element that the mask leaves out
  index_distinct,  // an index returned twice
  value_bits,      // bits differ from the element at the index, or (kth) from all elements
  count,           // the row and the output differ in keys better than the worst returned
  ordering,        // a worse key before a better one, although the contract promises an order
  stability,       // equal keys out of index order, although the contract promises stable_sorted
  tie_break,       // a tie with the k-th key is chosen, one of smaller index is not
  value_multiplicity,  // a bit pattern returned more often than the row holds it (no indices)
  kth_rank,            // the k-th value is an element of the row, but not of rank k
  fill                 // an output that a ragged row has no element for is not the fill
};

constexpr auto names_of(check) {
  return std::to_array<named<check>>({{check::index_range, "index_range"},
                                      {check::index_distinct, "index_distinct"},
                                      {check::value_bits, "value_bits"},
                                      {check::count, "count"},
                                      {check::ordering, "ordering"},
                                      {check::stability, "stability"},
                                      {check::tie_break, "tie_break"},
                                      {check::value_multiplicity, "value_multiplicity"},
                                      {check::kth_rank, "kth_rank"},
                                      {check::fill, "fill"}});
}

// The first check that a row failed, and where. Membership checks come before those of order and
// ties.
struct finding {
  check failed;
  std::int64_t row;
  std::int64_t position;  // in the row's output, 0 .. k-1
  std::string detail;     // one line that begins with the check; values are shown with their bits
};

struct verdict {
  std::int64_t rows_checked = 0;
  std::int64_t rows_wrong = 0;
  std::optional<finding> first;  // finding of the lowest wrong row

  explicit operator bool() const { return rows_wrong == 0; }
};

// Checks every row of the answer in `buffers`. The buffers are host pointers, laid out as `problem`
// says; the input is the one given to the algorithm. Uses at most `threads` threads: over the rows,
// or over the columns if there are few rows. The verdict does not depend on their number. If n, Q
// or k is zero, the verdict is true.
//
// Without indices, stability and tie_break are visible only in the sign of merged zeros. That is
// not checked.
//
// Throws failure::usage if `threads` < 1 or a buffer that the payload needs is null.
verdict verify(const problem&, const contract&, const io& buffers, int threads);

}  // namespace kselect::harness
