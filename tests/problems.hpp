#pragma once
// Problems of tests: all that a test does not name is as by default.

#include "kselect/problem.hpp"

namespace kselect {

inline problem shaped(std::int64_t n, std::int64_t q, std::int64_t k, dtype type = dtype::float32) {
  problem p;
  p.n = n;
  p.q = q;
  p.k = k;
  p.type = type;
  return p;
}

}  // namespace kselect
