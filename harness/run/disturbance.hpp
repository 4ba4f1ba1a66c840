#pragma once
// Changes of the rows between the calls of a turn, so that no call can be answered by memory.
//
// The calls of a turn read the same rows. An entry could work once, recognise the rows by a few
// elements, and return its answer again; or work in those calls alone that are proven. So before
// every call one element of the answer moves elsewhere in its row, by a draw that nobody can
// foresee, and after the call that row's answer must show it. The rows keep their elements, apart
// from one that is overwritten where an answer has no indices; the time of a call does not change.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/run/trial.hpp"

namespace kselect::harness {

// Bits from the system's source of entropy: no seed of a config determines them.
std::uint64_t unforeseen_bits();

class disturbance {
 public:
  // `rows` lie in memory that may be written. Both must outlive this object.
  disturbance(const problem& p, const contract& promises, input_rows& rows, trial& attempt,
              backend& place)
      : problem_(p), promises_(promises), rows_(rows), attempt_(attempt), place_(place) {}
  ~disturbance();
  disturbance(const disturbance&) = delete;
  disturbance& operator=(const disturbance&) = delete;

  // Before a call, and before its outputs are poisoned: undoes the last change and makes another,
  // by the last answer if it is of these rows, else by a look at a row that is not long.
  void stir();
  // After the call: whether its answer shows the change. Where it does not, ties may be the reason:
  // a proof of the whole answer decides.
  bool shown();

 private:
  struct moved {
    std::int64_t row, from, to;
    std::uint64_t bits;  // of the element
  };
  std::optional<std::int64_t> answered(std::int64_t row);
  std::optional<std::int64_t> best_of(std::int64_t row);
  std::uint64_t bits_at(std::int64_t row, std::int64_t column) const;
  std::uint64_t value_given(std::int64_t row, std::int64_t j, std::int64_t column) const;
  void write(std::int64_t row, std::int64_t column, std::uint64_t bits);
  bool shows_move(const moved& m);
  bool proves_row();

  const problem problem_;
  const contract promises_;
  input_rows& rows_;
  trial& attempt_;
  backend& place_;
  std::optional<moved> moved_;
  std::vector<std::byte> values_, indices_, row_;
};

}  // namespace kselect::harness
