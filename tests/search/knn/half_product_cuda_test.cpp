// k-NN on a GPU by half of the product, of which the other half is the mirror image: as on the CPU,
// for all tilings.

#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "search/knn/knn.hpp"
#include "tests/search/knn/knn_on_cuda.hpp"

namespace kselect::search {
namespace {
using namespace on_a_gpu;

using HalfAProductOnCuda = KnnOnCuda;

cuda_knn_options half_product(std::int64_t mebibytes) {
  return {.memory_bytes = mebibytes << 20, .half_product = true};
}

TEST_F(HalfAProductOnCuda, HalfAProductGivesTheSameGraph) {
  const vector_set base = integers(777, 45, 16);
  for (const auto& [m, name] : names<metric>) {
    if (m == metric::inner_product) continue;  // only the fused search has it
    SCOPED_TRACE(name);
    const neighbours found = expect_as_on_cpu(
        {.base = base, .exclude_self = true, .metric = m, .k = 12}, half_product(0), last_bit);
    EXPECT_TRUE(found.report.half_product);
    EXPECT_EQ(found.report.corpus_tiles, 1);
  }
}

// Tiles of several sizes; if they do not divide the corpus, their widths differ by one vector.
TEST_F(HalfAProductOnCuda, HalfAProductByPairsOfTilesIsTheSame) {
  std::set<std::int64_t> tiles;
  for (const std::int64_t count : {2000, 1993}) {
    const vector_set base = integers(count, 20, 20);
    for (const bool exclude : {false, true}) {
      const question q{.base = base, .exclude_self = exclude, .k = 10};
      const neighbours single = answer(q, on_cuda(), *cuda_, half_product(0));
      EXPECT_EQ(single.report.corpus_tiles, 1);
      const neighbours whole =
          answer(q, on_cuda(), *cuda_, {.memory_bytes = std::int64_t{8} << 20});
      EXPECT_GT(whole.report.query_tiles, 1);
      EXPECT_FALSE(whole.report.half_product);
      EXPECT_EQ(single.distances, whole.distances);
      for (const std::int64_t mebibytes : {8, 24, 40}) {
        SCOPED_TRACE(testing::Message() << count << " vectors in " << mebibytes << " MiB");
        const neighbours tiled = answer(q, on_cuda(), *cuda_, half_product(mebibytes));
        ASSERT_TRUE(tiled.report.half_product) << tiled.report.whole_product_because;
        EXPECT_GT(tiled.report.corpus_tiles, 1);
        EXPECT_EQ(tiled.report.query_tiles, tiled.report.corpus_tiles);
        EXPECT_EQ(tiled.distances, whole.distances);
        expect_consistent(q, tiled, 0);
        tiles.insert(tiled.report.corpus_tiles);
      }
    }
  }
  EXPECT_GE(tiles.size(), 3U);
}

TEST_F(HalfAProductOnCuda, HalfAProductByPairsServesEveryMetric) {
  const vector_set base = normal(1500, 31, 21);
  for (const auto& [m, name] : names<metric>) {
    if (m == metric::inner_product) continue;  // only the fused search has it
    SCOPED_TRACE(name);
    const neighbours found = expect_as_on_cpu(
        {.base = base, .exclude_self = true, .metric = m, .k = 7}, half_product(8), last_bit);
    EXPECT_TRUE(found.report.half_product) << found.report.whole_product_because;
    EXPECT_GT(found.report.corpus_tiles, 2);
  }
}

TEST_F(HalfAProductOnCuda, HalfAProductByPairsDoesAgainWhatIsNotProven) {
  const vector_set ties = integers(1500, 3, 22, 1);
  const neighbours tied =
      expect_as_on_cpu({.base = ties, .exclude_self = true, .k = 15}, half_product(8));
  EXPECT_GT(tied.report.corpus_tiles, 1);
  EXPECT_GT(tied.report.unproven, 0);
  const vector_set noise = normal(1500, 8, 23, 10000);
  const neighbours found = expect_as_on_cpu({.base = noise, .k = 6}, half_product(8), last_bit);
  EXPECT_GT(found.report.corpus_tiles, 1);
  EXPECT_EQ(found.report.unproven, 1500);
}

TEST_F(HalfAProductOnCuda, TheWholeProductIsTakenWhereCandidatesOfAllDoNotFit) {
  const vector_set base = integers(2000, 20, 24);
  const neighbours found =
      expect_as_on_cpu({.base = base, .exclude_self = true, .k = 10}, half_product(3));
  EXPECT_FALSE(found.report.half_product);
  EXPECT_NE(found.report.whole_product_because.find("candidates"), std::string::npos)
      << found.report.whole_product_because;
}

TEST_F(HalfAProductOnCuda, TimesOfPairsAreTakenForEveryRepeat) {
  const vector_set base = integers(1200, 16, 25);
  const question q{.base = base, .k = 5};
  cuda_knn_options options = half_product(8);
  const neighbours once = answer(q, on_cuda(), *cuda_, options);
  options.repeats = 3;
  const neighbours timed = answer(q, on_cuda(), *cuda_, options);
  EXPECT_GT(timed.report.corpus_tiles, 1);
  EXPECT_EQ(timed.report.query_tiles, timed.report.corpus_tiles);
  EXPECT_EQ(timed.report.unproven, once.report.unproven);
  EXPECT_EQ(timed.distances, once.distances);
  ASSERT_EQ(timed.report.times.size(), 3U);
  for (const cuda_knn_times& t : timed.report.times) {
    for (const cuda_knn_stage& stage : cuda_knn_stages) {
      // A search that holds candidates prepares no corpus, and need not redo a query.
      const bool taken = stage.name != "prepare" && stage.name != "threshold" && stage.name != "redo";
      if (taken) {
        EXPECT_GT(t.*stage.time, 0) << stage.name;
      }
    }
  }
}

}  // namespace
}  // namespace kselect::search
