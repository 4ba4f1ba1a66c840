#pragma once
// The proof that an answer is right: a certificate checked against the input, not a comparison with
// a second algorithm.
//
// Let t be the worst key returned for a row. If every index lies in the row (1), no index occurs
// twice (2), every value carries the very bits found at its index (3), and the output holds as many
// keys strictly better than t as the row does (4), then the output is a selection of the k best:
// 2 and 3 make it a part of the row with k elements, 4 says that nothing better was left out. One
// linear pass, no sorting of the row, no rounding tolerance: selection moves keys, it computes
// none.
//
// Without indices, 1-3 become: no bit pattern is returned more often than the row holds it. What
// the contract promises beyond a right set (order, stability, choice among ties) is checked too,
// and nothing that it does not promise.

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
  index_range,     // an index outside [0, n)
  index_distinct,  // an index returned twice
  value_bits,      // a value that differs from the element at its index, or is in no column (kth)
  count,           // an element better than the worst returned key is missing, or one too many
  ordering,        // a worse key before a better one, where an order is promised
  stability,       // equal keys out of index order, where stable_sorted is promised
  tie_break,       // a tie with the k-th key chosen while one of smaller index was not
  value_multiplicity,  // a bit pattern returned more often than the row holds it (no indices)
  kth_rank             // the k-th value is an element of the row, but not of rank k
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
                                      {check::kth_rank, "kth_rank"}});
}

// The first check that a row failed, and where. Checks of what is chosen come before those of order
// and ties.
struct finding {
  check failed;
  std::int64_t row;
  std::int64_t position;  // in the row's output, 0 .. k-1
  std::string detail;     // one line, values with their bits
};

struct verdict {
  std::int64_t rows_checked = 0;
  std::int64_t rows_wrong = 0;
  std::optional<finding> first;  // of the lowest wrong row

  explicit operator bool() const { return rows_wrong == 0; }
};

// Checks every row of the answer in `buffers` (host pointers, laid out as `problem` says; the input
// is the one the algorithm was given). Rows are spread over at most `threads` threads, and the
// columns too where rows are few; the verdict does not depend on it. With n, Q or k zero there is
// nothing to check and the verdict is true.
//
// In the payloads without indices, stability and tie_break promise nothing that can be seen but the
// sign of merged zeros; that is not checked.
//
// Throws failure::usage when `threads` < 1 or a buffer that the payload needs is null.
verdict verify(const problem&, const contract&, const io& buffers, int threads);

}  // namespace kselect::harness
