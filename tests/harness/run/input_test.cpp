// Rows made from generated vectors: distances, the same in both layouts, repeatable.

#include "harness/run/input.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/config/minimal_config.hpp"

namespace kselect {
namespace {

std::vector<float> distances(const char* metric, problem p) {
  const std::string vectors =
      std::string(R"({"vectors": {"dimension": 128, "metric": ")") + metric + "\"}}";
  const sweep_config config = testing_config::config_with({{"/input/generator", vectors.c_str()}});
  std::vector<float> rows(static_cast<std::size_t>(p.input_elements()), -1);
  open_input(config, {}, 2)->fill(p, std::as_writable_bytes(std::span(rows)));
  return rows;
}

problem sized(std::int64_t n, std::int64_t q) {
  problem p;
  p.n = n;
  p.q = q;
  p.k = 1;
  p.seed = 5;
  return p;
}

// Two uniform components differ by 1/6 in the mean square, so d of them by d/6, give or take.
TEST(GeneratedVectors, LieAsFarApartAsUniformOnes) {
  double sum = 0;
  const std::vector<float> rows = distances("sqeuclidean", sized(300, 300));
  for (const float distance : rows) {
    EXPECT_GT(distance, 5);
    EXPECT_LT(distance, 45);
    sum += static_cast<double>(distance);
  }
  EXPECT_NEAR(sum / static_cast<double>(rows.size()), 128.0 / 6, 0.5);
}

TEST(GeneratedVectors, GiveTheSameRowsInBothLayouts) {
  const problem rows = sized(70, 300);  // more rows than are transposed at a time
  problem columns = rows;
  columns.layout = layout::column_major;
  columns.pitch = 303;
  const std::vector<float> by_row = distances("euclidean", rows);
  const std::vector<float> by_column = distances("euclidean", columns);
  for (std::int64_t r = 0; r < rows.q; ++r) {
    for (std::int64_t c = 0; c < rows.n; ++c) {
      ASSERT_EQ(by_row[static_cast<std::size_t>(rows.offset(r, c))],
                by_column[static_cast<std::size_t>(columns.offset(r, c))]);
    }
  }
}

// A corpus of n is the beginning of a larger one, so that sweeps over n and Q compare.
TEST(GeneratedVectors, AreTheBeginningOfALargerSet) {
  const problem small = sized(20, 10), large = sized(50, 30);
  const std::vector<float> few = distances("cosine", small), many = distances("cosine", large);
  for (std::int64_t r = 0; r < small.q; ++r) {
    for (std::int64_t c = 0; c < small.n; ++c) {
      ASSERT_EQ(few[static_cast<std::size_t>(small.offset(r, c))],
                many[static_cast<std::size_t>(large.offset(r, c))]);
    }
  }
}

}  // namespace
}  // namespace kselect
