#pragma once
// A problem with the rows that it is solved on. Algorithms see only its base, the problem.

#include <cstdint>
#include <string>

#include "harness/workload/distribution.hpp"
#include "harness/workload/drawn_mask.hpp"
#include "harness/workload/row_lengths.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

using kselect::check_support;

struct workload : problem {
  harness::distribution distribution{};
  std::uint64_t seed = 0;
  harness::row_lengths row_lengths{};  // use give_lengths(): ragged rows are another problem
  harness::drawn_mask drawn_mask{};    // use give_mask(): so is a mask

  void give_lengths(const harness::row_lengths& l) {
    row_lengths = l;
    lengths = l.kind == length_kind::equal ? row_numbers::none : row_numbers::int32;
  }

  // Of rows of the present n.
  void give_mask(const harness::drawn_mask& m) {
    drawn_mask = m;
    mask = m.kind;
    mask_pitch = m.kind == mask_bits::elements ? words_of_mask(n) : 0;
  }
  // Of all bits that make_mask() makes.
  std::size_t mask_bytes() const {
    const std::int64_t rows = mask == mask_bits::none ? 0 : mask == mask_bits::columns ? 1 : q;
    return static_cast<std::size_t>(rows * words_of_mask(n)) * sizeof(std::uint32_t);
  }

  bool operator==(const workload&) const = default;
};

// What a call reads at least: the elements that rows have and a mask admits, and the bits for the
// elements that rows have, once where rows share them.
struct least_input {
  std::int64_t elements = 0, mask_bytes = 0;
};
least_input least_input_of(const workload& w);

// As text, the problem first: `float32/smallest/Q=64/n=1024/k=8/values/row_major/uniform#7`.
inline std::string to_string(const workload& w) {
  std::string text = to_string(static_cast<const problem&>(w)) + '/' + to_string(w.distribution) +
                     '#' + std::to_string(w.seed);
  if (w.row_lengths.kind != length_kind::equal) text += '/' + to_string(w.row_lengths);
  if (w.mask != mask_bits::none) text += '/' + to_string(w.drawn_mask);
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
  if (w.mask != mask_bits::none) text += " mask " + to_string(w.drawn_mask);
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
