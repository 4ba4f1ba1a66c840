#pragma once
// Problems of tests: all that a test does not name is as by default.

#include "harness/workload/workload.hpp"

namespace kselect {

// Tests of the library, too, make rows and prove answers.
using namespace runtime;
using namespace harness;

inline problem shaped(std::int64_t n, std::int64_t q, std::int64_t k, dtype type = dtype::float32) {
  problem p;
  p.n = n;
  p.q = q;
  p.k = k;
  p.type = type;
  return p;
}

// The same on generated rows: uniform, of seed 0.
inline workload posed(std::int64_t n, std::int64_t q, std::int64_t k, dtype type = dtype::float32) {
  return {shaped(n, q, k, type)};
}

}  // namespace kselect
