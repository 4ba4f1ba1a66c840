#pragma once
// k-NN on a GPU compared with the CPU: equal distances, and neighbours at these distances.
//
// Distances between integer vectors are exact on both sides, so their bits must be equal, and ties
// are in the order of indices; otherwise the last bit may differ. With ties neighbours are
// ambiguous, so a neighbour is checked by its distance.

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search::on_a_gpu {

inline vector_set make_set(std::int64_t count, std::int64_t dimension, std::vector<float> data) {
  vector_set set;
  set.count = count;
  set.dimension = dimension;
  set.data = std::move(data);
  set.source = "test";
  return set;
}

inline vector_set integers(std::int64_t count, std::int64_t dimension, unsigned seed,
                           int most = 255) {
  std::mt19937 bits(seed);
  std::uniform_int_distribution<int> value(0, most);
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  std::ranges::generate(data, [&] { return static_cast<float>(value(bits)); });
  return make_set(count, dimension, std::move(data));
}

inline vector_set normal(std::int64_t count, std::int64_t dimension, unsigned seed,
                         float centre = 0) {
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

inline const algorithm& on_cpu() { return *find_algorithm("cpu/nth_element")->algorithm; }
inline const algorithm& on_cuda() { return *find_algorithm("qms-block")->algorithm; }

struct question {
  const vector_set& base;
  const vector_set* query = nullptr;
  bool exclude_self = false;
  runtime::metric metric = runtime::metric::sqeuclidean;
  std::int64_t k = 1;
};

inline neighbours answer(const question& q, const algorithm& entry, backend& place,
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
inline float allowance(float right, float tolerance) {
  return tolerance == 0 ? 0 : tolerance * right + 1e-20F;
}

// Query i has the distances `row`. Its neighbours must be in order, distinct, at the listed
// distances, and not the query itself.
inline void expect_consistent(const question& q, const neighbours& found, float tolerance,
                              std::int64_t i, const float* row) {
  std::set<std::int64_t> seen;
  for (std::int64_t j = 0; j < q.k; ++j) {
    const auto at = static_cast<std::size_t>(i * q.k + j);
    const std::int64_t neighbour = found.indices[at];
    ASSERT_TRUE(neighbour >= 0 && neighbour < q.base.count) << neighbour;
    ASSERT_TRUE(seen.insert(neighbour).second) << "twice: " << neighbour;
    ASSERT_FALSE(q.exclude_self && neighbour == i);
    ASSERT_NEAR(found.distances[at], row[neighbour], allowance(row[neighbour], tolerance));
    if (j == 0) continue;
    // Distances that are not exact may differ although they round to the same.
    const bool in_order = tolerance != 0 || found.indices[at - 1] < neighbour;
    ASSERT_TRUE(found.distances[at - 1] < found.distances[at] ||
                (found.distances[at - 1] == found.distances[at] && in_order))
        << "query " << i << ", place " << j;
  }
}

// Checks every query. Each call of the calculator converts the whole base and gets many queries.
inline void expect_consistent(const question& q, const neighbours& found, float tolerance) {
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

inline constexpr float last_bit = 1.3e-7F;

}  // namespace kselect::search::on_a_gpu
