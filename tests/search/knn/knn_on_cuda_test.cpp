// k-NN on a GPU compared with the CPU, for all tilings of the whole product.

#include "tests/search/knn/knn_on_cuda.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "runtime/error.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {
namespace {
using namespace on_a_gpu;

TEST_F(KnnOnCuda, FindsTheNeighboursOfQueriesInEveryMetric) {
  const vector_set base = normal(700, 33, 1);
  const vector_set query = normal(90, 33, 2);
  for (const auto& [m, name] : names<metric>) {
    if (m == metric::inner_product) continue;  // only the fused search has it
    SCOPED_TRACE(name);
    expect_as_on_cpu({.base = base, .query = &query, .metric = m, .k = 11}, {}, last_bit);
  }
}

TEST_F(KnnOnCuda, IsExactOnIntegersWithAndWithoutSelf) {
  const vector_set base = integers(600, 50, 3);
  for (const bool exclude : {false, true}) {
    const neighbours found = expect_as_on_cpu({.base = base, .exclude_self = exclude, .k = 9});
    if (!exclude) {
      EXPECT_EQ(found.distances[0], 0);
    }
    EXPECT_GT(found.report.rows_proven, 0);
  }
}

TEST_F(KnnOnCuda, TiesAndDuplicatesAreDoneAgainAndExact) {
  // Components 0 and 1 in three dimensions: eight different vectors, each about fifty times.
  const vector_set base = integers(400, 3, 4, 1);
  const neighbours found = expect_as_on_cpu({.base = base, .exclude_self = true, .k = 20});
  EXPECT_GT(found.report.unproven, 0);
}

TEST_F(KnnOnCuda, ChoosesAndOrdersByFloat64WhatRoundsToTheSameFloat32) {
  constexpr std::int64_t count = 600, stride = 239;  // without a common divisor
  std::vector<float> data;
  for (std::int64_t i = 0; i < count; ++i) {  // squared distances 1 + a^2 2^-46
    data.insert(data.end(), {1, std::ldexp(static_cast<float>(i * stride % count), -23), 0, 0});
  }
  const vector_set base = make_set(count, 4, std::move(data));
  const vector_set query = make_set(1, 4, {0, 0, 0, 0});
  for (const std::int64_t k : {1, 40, 550}) {
    SCOPED_TRACE(k);
    const neighbours found = answer({.base = base, .query = &query, .k = k}, on_cuda(), *cuda_);
    for (std::size_t j = 0; j < found.indices.size(); ++j) {
      ASSERT_EQ(found.indices[j] * stride % count, static_cast<std::int64_t>(j));
    }
  }
}

TEST_F(KnnOnCuda, IsExactWhereDistancesUnderflowFloat32) {
  vector_set base = integers(500, 3, 21);
  for (float& x : base.data) x *= 0x1p-100F;
  const vector_set query = make_set(1, 3, {0, 0, 0});
  const neighbours found = answer({.base = base, .query = &query, .k = 20}, on_cuda(), *cuda_);
  const auto square = [&](std::int64_t i) {
    double sum = 0;
    for (int c = 0; c < 3; ++c) {
      const double x = base.data[static_cast<std::size_t>(3 * i + c)];
      sum += x * x;
    }
    return sum;
  };
  std::vector<double> all;
  for (std::int64_t i = 0; i < base.count; ++i) all.push_back(square(i));
  std::ranges::sort(all);
  for (std::size_t j = 0; j < found.indices.size(); ++j) {
    EXPECT_EQ(square(found.indices[j]), all[j]);
  }
}

TEST_F(KnnOnCuda, IsRightWhereFloat32ProductsAreNoise) {
  // Norms are near 1e4 * sqrt(8), differences near 1: the difference of the squared norms is
  // smaller than their rounding.
  const vector_set base = normal(500, 8, 5, 10000);
  const neighbours found = expect_as_on_cpu({.base = base, .k = 6}, {}, last_bit);
  EXPECT_EQ(found.report.unproven, 500);
}

TEST_F(KnnOnCuda, IsRightBeyondTheRangeOfFloat32Products) {
  vector_set base = normal(300, 4, 6);
  for (float& x : base.data) x *= 3e18F;
  expect_as_on_cpu({.base = base, .k = 3}, {}, last_bit);
  for (float& x : base.data) x *= 1e-21F;
  for (float& x : base.data) x *= 1e-21F;
  expect_as_on_cpu({.base = base, .metric = metric::cosine, .k = 3}, {}, last_bit);
}

TEST_F(KnnOnCuda, KOfAllAndNearlyAll) {
  const vector_set base = integers(130, 17, 7);
  for (const std::int64_t k : {1, 2, 63, 121, 122, 129, 130}) {
    SCOPED_TRACE(k);
    expect_as_on_cpu({.base = base, .k = k});
    if (k < 130) expect_as_on_cpu({.base = base, .exclude_self = true, .k = k});
  }
}

TEST_F(KnnOnCuda, SmallestSizes) {
  const vector_set one = integers(1, 1, 8);
  expect_as_on_cpu({.base = one, .k = 1});
  const vector_set two = integers(2, 1, 9);
  expect_as_on_cpu({.base = two, .exclude_self = true, .k = 1});
  const vector_set line = integers(257, 1, 10);
  expect_as_on_cpu({.base = line, .exclude_self = true, .k = 5});
}

TEST_F(KnnOnCuda, TiledByMemoryIsTheSame) {
  const vector_set query = integers(1500, 20, 12);
  for (const std::int64_t count : {20000, 20001, 19967}) {
    const vector_set base = integers(count, 20, 11);
    const question q{.base = base, .query = &query, .k = 10};
    const neighbours whole = answer(q, on_cuda(), *cuda_);
    EXPECT_EQ(whole.report.corpus_tiles, 1);
    const neighbours tiled = answer(q, on_cuda(), *cuda_, {.memory_bytes = std::int64_t{8} << 20});
    EXPECT_GT(tiled.report.corpus_tiles, 1);
    EXPECT_GT(tiled.report.query_tiles, 1);
    EXPECT_FALSE(tiled.report.streamed);
    EXPECT_EQ(whole.distances, tiled.distances);
    expect_consistent(q, tiled, 0);
  }
}

TEST_F(KnnOnCuda, StreamedCorpusIsTheSame) {
  const vector_set base = integers(20001, 40, 13);
  const vector_set query = integers(300, 40, 14);
  for (const auto& [m, name] : names<metric>) {
    if (m == metric::inner_product) continue;  // only the fused search has it
    SCOPED_TRACE(name);
    const question q{.base = base, .query = &query, .metric = m, .k = 10};
    const neighbours whole = answer(q, on_cuda(), *cuda_);
    const neighbours streamed =
        answer(q, on_cuda(), *cuda_, {.memory_bytes = std::int64_t{2} << 20, .sum_by_warp = true});
    EXPECT_TRUE(streamed.report.streamed);
    EXPECT_GT(streamed.report.corpus_tiles, 2);
    ASSERT_EQ(whole.distances.size(), streamed.distances.size());
    for (std::size_t i = 0; i < whole.distances.size(); ++i) {
      ASSERT_NEAR(whole.distances[i], streamed.distances[i], last_bit * whole.distances[i]);
    }
  }
}

TEST_F(KnnOnCuda, StreamedGraphLeavesOutEachVectorItself) {
  const vector_set base = integers(2001, 300, 15);
  const neighbours found = expect_as_on_cpu({.base = base, .exclude_self = true, .k = 4},
                                            {.memory_bytes = std::int64_t{2} << 20});
  EXPECT_TRUE(found.report.streamed);
}

TEST_F(KnnOnCuda, WithTf32SmallIntegersAreStillExact) {
  // Factors below 2^11 are exact in TF32's 11 bits, and the sums are below 2^24.
  const vector_set base = integers(500, 60, 17);
  const question q{.base = base, .exclude_self = true, .k = 8};
  expect_as_on_cpu(q, {.tf32 = true});
}

TEST_F(KnnOnCuda, EveryRowIsProvenWhenAskedForAndNoneForTimes) {
  const vector_set base = integers(300, 30, 18);
  const question q{.base = base, .k = 5};
  const neighbours all = answer(q, on_cuda(), *cuda_, {.prove = proof_scope::all});
  EXPECT_GE(all.report.rows_proven, 300);
  const neighbours timed = answer(q, on_cuda(), *cuda_, {.prove = proof_scope::none, .repeats = 3});
  EXPECT_EQ(timed.report.rows_proven, 0);
  ASSERT_EQ(timed.report.times.size(), 3U);
  for (const cuda_knn_times& t : timed.report.times) {
    EXPECT_GT(t.bare_product, 0);
    EXPECT_GT(t.distance, 0);
    EXPECT_GT(t.selection, 0);
    EXPECT_GT(t.order, 0);
    EXPECT_EQ(t.merge, 0) << "one tile";
    EXPECT_GT(t.elapsed, 0.99 * t.total());
  }
  EXPECT_EQ(timed.distances, all.distances);
  const neighbours first = answer(q, on_cuda(), *cuda_, {.prove = proof_scope::all, .repeats = 3});
  EXPECT_EQ(first.report.rows_proven, all.report.rows_proven) << "others than the first prove";
}

status write_nothing(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {};
}

TEST_F(KnnOnCuda, AWrongSelectionIsNeverReturned) {
  algorithm liar = on_cuda();
  liar.plan = [](const problem& p, const device&) { return call_plan::of<&write_nothing>(p); };
  const vector_set base = integers(100, 4, 19);
  try {
    answer({.base = base, .k = 3}, liar, *cuda_);
    FAIL() << "a selection that was never made was returned";
  } catch (const error& e) {
    EXPECT_EQ(e.category(), failure::wrong_answer) << e.what();
  }
}

}  // namespace
}  // namespace kselect::search
