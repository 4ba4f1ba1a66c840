#pragma once
// Rows made for the paths of buffered multi-select, and a selection from one of them on fibers: it
// is proven, and its work is counted.

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/run/trial.hpp"
#include "kselect/registry.hpp"
#include "kselect/select.hpp"
#include "kselect/simt/fiber.hpp"
#include "runtime/backend/host_backend.hpp"

namespace kselect::made_rows {

// Selects from one row and proves the answer.
template <class T>
simt::counters select(const std::string& name, const std::vector<T>& row, std::int64_t k,
                      direction wanted = direction::smallest) {
  problem p;
  p.type = *dtype_of<T>;
  p.direction = wanted;
  p.n = static_cast<std::int64_t>(row.size());
  p.q = 1;
  p.k = k;
  simt::counters counted;
  simt::fiber_options options;
  options.counters = &counted;
  const auto place = runtime::open_host_backend(executor_kind::fiber, 1, options);
  const harness::input_rows input(*place, std::as_bytes(std::span(row)));
  harness::trial attempt(*find_algorithm(name)->algorithm, p, input, *place);
  attempt.prepare();
  EXPECT_TRUE(attempt.run().ok()) << name;
  EXPECT_EQ(attempt.disprove(), "") << name;
  return counted;
}

inline std::vector<float> made(std::int64_t n, const std::function<float(std::int64_t)>& element) {
  std::vector<float> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = element(i);
  return row;
}

inline std::vector<float> uniform(std::int64_t n) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> number(0, 1);
  return made(n, [&](std::int64_t) { return number(generator); });
}

// 134 elements, then 64 ties, then the rest. The bracket of the list's k-th value holds the ties,
// which are spread over most lanes; some lanes have several.
inline std::vector<float> list_of_ties(float sign, std::int64_t shuffling) {
  constexpr std::int64_t n = 4096;
  return made(n, [&](std::int64_t i) {
    const std::int64_t shuffled = i * shuffling % n;
    const float x = shuffled < 134   ? static_cast<float>(shuffled) / 4096
                    : shuffled < 198 ? 0.125F
                                     : static_cast<float>(shuffled + 2048) / 4096;
    return sign * x;
  });
}

}  // namespace kselect::made_rows
