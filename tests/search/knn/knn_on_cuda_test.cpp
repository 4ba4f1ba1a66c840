// k-NN on a GPU compared with the CPU: equal distances, and neighbours at these distances, for all
// tilings.
//
// Distances between integer vectors are exact on both sides, so their bits must be equal; otherwise
// the last bit may differ. With ties neighbours are ambiguous, so a neighbour is checked by its
// distance.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "runtime/error.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {
namespace {

vector_set make_set(std::int64_t count, std::int64_t dimension, std::vector<float> data) {
  vector_set set;
  set.count = count;
  set.dimension = dimension;
  set.data = std::move(data);
  set.source = "test";
  return set;
}

vector_set integers(std::int64_t count, std::int64_t dimension, unsigned seed, int most = 255) {
  std::mt19937 bits(seed);
  std::uniform_int_distribution<int> value(0, most);
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  std::ranges::generate(data, [&] { return static_cast<float>(value(bits)); });
  return make_set(count, dimension, std::move(data));
}

vector_set normal(std::int64_t count, std::int64_t dimension, unsigned seed, float centre = 0) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> value(centre, 1);
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  std::ranges::generate(data, [&] { return value(bits); });
  return make_set(count, dimension, std::move(data));
}

struct neighbours {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  cuda_knn_report report;
};

const algorithm& on_cpu() { return *find_algorithm("cpu/nth_element")->algorithm; }
const algorithm& on_cuda() { return *find_algorithm("qms-block")->algorithm; }

struct question {
  const vector_set& base;
  const vector_set* query = nullptr;
  bool exclude_self = false;
  runtime::metric metric = runtime::metric::sqeuclidean;
  std::int64_t k = 1;
};

neighbours answer(const question& q, const algorithm& entry, backend& place,
                  const cuda_knn_options& options = {}) {
  neighbours found;
  const knn_request request{.base = q.base,
                            .query = q.query,
                            .exclude_self = q.exclude_self,
                            .metric = q.metric,
                            .k = q.k,
                            .entry = entry,
                            .cuda = options,
                            .report = &found.report};
  knn(request, place, [&](const knn_block& block) {
    EXPECT_EQ(block.first * q.k, static_cast<std::int64_t>(found.indices.size()));
    found.indices.insert(found.indices.end(), block.indices.begin(), block.indices.end());
    found.distances.insert(found.distances.end(), block.distances.begin(), block.distances.end());
  });
  return found;
}

// The allowed difference. `tolerance` is relative; if it is not 0, 1e-20 is added for the rounding
// of the unit vectors of cosine and pearson (distance.hpp). 0 requires equal bits.
float allowance(float right, float tolerance) {
  return tolerance == 0 ? 0 : tolerance * right + 1e-20F;
}

// Query i has the distances `row`. Its neighbours must be in order, distinct, at the listed
// distances, and not the query itself.
void expect_consistent(const question& q, const neighbours& found, float tolerance, std::int64_t i,
                       const float* row) {
  std::set<std::int64_t> seen;
  for (std::int64_t j = 0; j < q.k; ++j) {
    const auto at = static_cast<std::size_t>(i * q.k + j);
    const std::int64_t neighbour = found.indices[at];
    ASSERT_TRUE(neighbour >= 0 && neighbour < q.base.count) << neighbour;
    ASSERT_TRUE(seen.insert(neighbour).second) << "twice: " << neighbour;
    ASSERT_FALSE(q.exclude_self && neighbour == i);
    ASSERT_NEAR(found.distances[at], row[neighbour], allowance(row[neighbour], tolerance));
    if (j == 0) continue;
    ASSERT_TRUE(
        found.distances[at - 1] < found.distances[at] ||
        (found.distances[at - 1] == found.distances[at] && found.indices[at - 1] < neighbour))
        << "query " << i << ", place " << j;
  }
}

// Checks every query. Each call of the calculator converts the whole base and gets many queries.
void expect_consistent(const question& q, const neighbours& found, float tolerance) {
  constexpr std::int64_t at_a_time = 256;
  const vector_set& queries = q.query == nullptr ? q.base : *q.query;
  ASSERT_EQ(found.indices.size(), static_cast<std::size_t>(queries.count * q.k));
  const distance_calculator calculator(q.base.view(), q.metric, {.threads = 2});
  std::vector<float> rows(static_cast<std::size_t>(at_a_time * q.base.count));
  for (std::int64_t first = 0; first < queries.count; first += at_a_time) {
    const std::int64_t count = std::min(at_a_time, queries.count - first);
    calculator.rows(queries.data.data() + first * queries.dimension, count, rows.data(),
                    q.base.count);
    for (std::int64_t i = 0; i < count; ++i) {
      expect_consistent(q, found, tolerance, first + i, rows.data() + i * q.base.count);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class KnnOnCuda : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!why_unavailable(executor_kind::cuda).empty()) return;
    cuda_ = open_backend(executor_kind::cuda, 2);
    cpu_ = open_backend(executor_kind::cpu, 2);
  }
  static void TearDownTestSuite() {
    cuda_.reset();
    cpu_.reset();
  }
  void SetUp() override {
    if (cuda_ == nullptr) GTEST_SKIP() << why_unavailable(executor_kind::cuda);
  }

  neighbours expect_as_on_cpu(const question& q, const cuda_knn_options& options = {},
                              float tolerance = 0) {
    const neighbours right = answer(q, on_cpu(), *cpu_);
    neighbours found = answer(q, on_cuda(), *cuda_, options);
    EXPECT_EQ(found.distances.size(), right.distances.size());
    for (std::size_t i = 0; i < right.distances.size(); ++i) {
      EXPECT_NEAR(found.distances[i], right.distances[i], allowance(right.distances[i], tolerance))
          << i;
      if (HasFailure()) return found;
    }
    expect_consistent(q, found, tolerance);
    return found;
  }

  static inline std::unique_ptr<backend> cuda_, cpu_;
};

constexpr float last_bit = 1.3e-7F;

TEST_F(KnnOnCuda, FindsTheNeighboursOfQueriesInEveryMetric) {
  const vector_set base = normal(700, 33, 1);
  const vector_set query = normal(90, 33, 2);
  for (const auto& [m, name] : names<metric>) {
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

cuda_knn_options half_product(std::int64_t mebibytes) {
  return {.memory_bytes = mebibytes << 20, .half_product = true};
}

TEST_F(KnnOnCuda, HalfAProductGivesTheSameGraph) {
  const vector_set base = integers(777, 45, 16);
  for (const auto& [m, name] : names<metric>) {
    SCOPED_TRACE(name);
    const neighbours found = expect_as_on_cpu(
        {.base = base, .exclude_self = true, .metric = m, .k = 12}, half_product(0), last_bit);
    EXPECT_TRUE(found.report.half_product);
    EXPECT_EQ(found.report.corpus_tiles, 1);
  }
}

// Tiles of several sizes; if they do not divide the corpus, their widths differ by one vector.
TEST_F(KnnOnCuda, HalfAProductByPairsOfTilesIsTheSame) {
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

TEST_F(KnnOnCuda, HalfAProductByPairsServesEveryMetric) {
  const vector_set base = normal(1500, 31, 21);
  for (const auto& [m, name] : names<metric>) {
    SCOPED_TRACE(name);
    const neighbours found = expect_as_on_cpu(
        {.base = base, .exclude_self = true, .metric = m, .k = 7}, half_product(8), last_bit);
    EXPECT_TRUE(found.report.half_product) << found.report.whole_product_because;
    EXPECT_GT(found.report.corpus_tiles, 2);
  }
}

TEST_F(KnnOnCuda, HalfAProductByPairsDoesAgainWhatIsNotProven) {
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

TEST_F(KnnOnCuda, TheWholeProductIsTakenWhereCandidatesOfAllDoNotFit) {
  const vector_set base = integers(2000, 20, 24);
  const neighbours found =
      expect_as_on_cpu({.base = base, .exclude_self = true, .k = 10}, half_product(3));
  EXPECT_FALSE(found.report.half_product);
  EXPECT_NE(found.report.whole_product_because.find("candidates"), std::string::npos)
      << found.report.whole_product_because;
}

TEST_F(KnnOnCuda, TimesOfPairsAreTakenForEveryRepeat) {
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
      if (stage.name != "redo") {
        EXPECT_GT(t.*stage.time, 0) << stage.name;
      }
    }
  }
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
