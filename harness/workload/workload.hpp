#pragma once
// A problem with the rows that it is solved on. Algorithms see only its base, the problem.

#include <cstdint>
#include <string>

#include "harness/workload/distribution.hpp"
#include "harness/workload/row_lengths.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

using kselect::check_support;

struct workload : problem {
  harness::distribution distribution{};
  std::uint64_t seed = 0;
  harness::row_lengths row_lengths{};  // use give_lengths(): ragged rows are another problem

  void give_lengths(const harness::row_lengths& l) {
    row_lengths = l;
    lengths = l.kind == length_kind::equal ? row_numbers::none : row_numbers::int32;
  }

  bool operator==(const workload&) const = default;
};

// The elements that all rows have.
inline std::int64_t elements_of(const workload& w) {
  if (w.row_lengths.kind == length_kind::equal) return w.n * w.q;
  std::int64_t all = 0;
  for (const std::int32_t length : make_lengths(w.row_lengths, w.n, w.q, w.seed)) all += length;
  return all;
}

// As text, the problem first: `float32/smallest/Q=64/n=1024/k=8/values/row_major/uniform#7`.
inline std::string to_string(const workload& w) {
  std::string text = to_string(static_cast<const problem&>(w)) + '/' + to_string(w.distribution) +
                     '#' + std::to_string(w.seed);
  if (w.row_lengths.kind != length_kind::equal) text += '/' + to_string(w.row_lengths);
  return text;
}

// As progress shows it, what is usual left out: `n=1024 Q=64 k=8 float16 uniform largest`.
inline std::string short_title(const workload& w) {
  std::string text =
      "n=" + std::to_string(w.n) + " Q=" + std::to_string(w.q) + " k=" + std::to_string(w.k) + ' ';
  if (w.type != dtype::float32) text.append(to_string(w.type)) += ' ';
  text += to_string(w.distribution);
  if (w.direction != direction::smallest) text += " largest";
  if (w.row_lengths.kind != length_kind::equal) text += " lengths " + to_string(w.row_lengths);
  return text;
}

// Whether the contract excludes elements that rows of this distribution may hold.
inline support check_elements(const algorithm& entry, const workload& w) {
  if (entry.promises.nan == nan_policy::unsupported && may_contain_nan(w.distribution)) {
    return unsupported("rows may hold NaN, which the contract excludes");
  }
  if (!entry.promises.infinities && may_contain_infinities(w.distribution)) {
    return unsupported("rows may hold infinities, which the contract excludes");
  }
  return supported();
}

// Checks the problem and these elements.
inline support check_support(const algorithm& entry, const workload& w, const device& where) {
  support answer = check_support(entry, static_cast<const problem&>(w), where);
  return answer ? check_elements(entry, w) : answer;
}

}  // namespace kselect::harness
