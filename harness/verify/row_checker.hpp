#pragma once
// Checks the certificate of single rows in three steps. `open` checks the output itself and against
// the k elements at its indices, and finds the worst key returned. `consume` counts over stretches
// of the row, in any order and from any thread. `close` compares the counts with the output.

#include <cstdint>
#include <span>
#include <string>

#include "harness/verify/bag.hpp"
#include "harness/verify/certificate.hpp"
#include "harness/verify/index_set.hpp"
#include "harness/verify/stream.hpp"

namespace kselect::harness::verification {

// T: a word (kselect/dtypes.hpp); the problem says what it stands for.
template <class T>
struct row_state {
  bool open = false;                      // passed every check so far; else not to be consumed
  cut<T> tied;                            // the keys equal to the worst one returned
  std::int64_t better_returned = 0;       // outputs with a better key; all other outputs tie
  std::int64_t tie_columns = 0;           // ties are counted in the columns [0, tie_columns)
  counts seen;                            // of the row
  std::span<order_key_t<T>> better_seen;  // payload `values`: bits of the better elements. It has
  std::int64_t collected = 0;             // room for better_returned; `collected` may exceed that
};

template <class T, class Index>
class row_checker {
 public:
  row_checker(const problem&, const contract&, const io&);

  // Starts a row. `storage`: room for k bit patterns if the payload is `values`, else unused.
  row_state<T> open(std::int64_t row, std::span<order_key_t<T>> storage);
  // Adds the elements of columns [first_column, first_column + size) to `seen`.
  void consume(row_state<T>&, std::span<const T> elements, std::int64_t first_column,
               counts& seen) const;
  // Ends a row. All its columns must have been consumed and their counts added to state.seen.
  void close(std::int64_t row, const row_state<T>&);

  // The verdict on all rows closed so far. The caller sets rows_checked.
  const verdict& result() const { return result_; }

 private:
  using key = signed_key_t<T>;

  std::span<const T> values(std::int64_t row) const;
  std::span<const Index> indices(std::int64_t row) const;
  T element(std::int64_t row, std::int64_t column) const;
  key contract_key(T value) const;
  static std::int64_t ties_seen(const row_state<T>&);
  std::int64_t pattern_seen(const row_state<T>&, T value) const;

  // One check each. Returns false and records the finding if the row fails it.
  bool index_range_holds(std::int64_t row);
  bool index_distinct_holds(std::int64_t row);
  bool value_bits_hold(std::int64_t row);
  bool count_holds(std::int64_t row, const row_state<T>&);
  bool ordering_holds(std::int64_t row);
  bool tie_break_holds(std::int64_t row, const row_state<T>&);
  bool tied_multiplicity_holds(std::int64_t row, const row_state<T>&);
  bool better_multiplicity_holds(std::int64_t row, const row_state<T>&);
  bool kth_rank_holds(std::int64_t row, const row_state<T>&);

  std::int64_t last_chosen_tie(std::int64_t row, const row_state<T>&) const;
  std::int64_t column_left_out(std::int64_t row) const;
  std::string show(T value) const;
  template <class Describe>
  bool fail(check, std::int64_t row, std::int64_t position, Describe&&);

  const problem& problem_;
  const contract& promises_;
  const T* input_;
  const T* values_;
  const Index* indices_;
  signed_order<T> by_;
  bool merged_;
  index_set chosen_;
  bag<order_key_t<T>> better_in_row_;  // payload `values`
  verdict result_;
};

}  // namespace kselect::harness::verification
