#pragma once
// A problem with the rows that it is solved on. Algorithms see only its base, the problem.

#include <cstdint>
#include <string>

#include "harness/workload/distribution.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

using kselect::check_support;

struct workload : problem {
  harness::distribution distribution{};
  std::uint64_t seed = 0;

  bool operator==(const workload&) const = default;
};

// As text, the problem first: `float32/smallest/Q=64/n=1024/k=8/values/row_major/uniform#7`.
inline std::string to_string(const workload& w) {
  return to_string(static_cast<const problem&>(w)) + '/' + to_string(w.distribution) + '#' +
         std::to_string(w.seed);
}

// As progress shows it, what is usual left out: `n=1024 Q=64 k=8 float16 uniform largest`.
inline std::string short_title(const workload& w) {
  std::string text =
      "n=" + std::to_string(w.n) + " Q=" + std::to_string(w.q) + " k=" + std::to_string(w.k) + ' ';
  if (w.type != dtype::float32) text.append(to_string(w.type)) += ' ';
  text += to_string(w.distribution);
  if (w.direction != direction::smallest) text += " largest";
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
