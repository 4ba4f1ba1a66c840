// Distances on a GPU, for every metric, way of summation and way of multiplication: they differ
// from the CPU's by at most the bound of distance_rows.hpp. The CPU's are right to half a unit in
// the last place.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/distance/cuda/distance_rows.hpp"
#include "runtime/distance/distance.hpp"

namespace kselect::runtime {
namespace {

using floats = std::vector<float>;

floats normal_vectors(std::int64_t count, std::int64_t dimension, unsigned seed, float spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, spread);
  floats data(static_cast<std::size_t>(count * dimension));
  std::ranges::generate(data, [&] { return normal(bits); });
  return data;
}

double square_norm(const float* x, std::int64_t dimension) {
  double sum = 0;
  for (std::int64_t c = 0; c < dimension; ++c) sum += double{x[c]} * x[c];
  return sum;
}

class CudaDistance : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    place_ = open_backend(executor_kind::cuda, 1);
  }

  std::unique_ptr<device_vectors> upload(const floats& data, std::int64_t dimension, metric m,
                                         norm_reduction how = norm_reduction::by_key) {
    const std::int64_t count = static_cast<std::int64_t>(data.size()) / dimension;
    auto vectors = std::make_unique<device_vectors>(*place_, count, dimension, m, how);
    place_->to_device(reinterpret_cast<std::byte*>(vectors->raw()), std::as_bytes(std::span(data)));
    vectors->summarise(count, nullptr);
    return vectors;
  }

  // The rows that `compute(out, pitch)` writes, without gaps.
  template <class Compute>
  floats rows(std::int64_t count, std::int64_t width, Compute compute) {
    const std::int64_t pitch = (width + 3) / 4 * 4 + 4;
    floats padded(static_cast<std::size_t>(count * pitch), std::nanf(""));
    const device_buffer memory(*place_, padded.size() * sizeof(float));
    place_->to_device(memory.data(), std::as_bytes(std::span(padded)));
    compute(reinterpret_cast<float*>(memory.data()), pitch);
    EXPECT_TRUE(place_->synchronise().ok());
    place_->to_host(std::as_writable_bytes(std::span(padded)), memory.data());
    floats dense;
    for (std::int64_t i = 0; i < count; ++i) {
      dense.insert(dense.end(), padded.begin() + i * pitch, padded.begin() + i * pitch + width);
    }
    return dense;
  }

  std::unique_ptr<backend> place_;
};

// Ranked distances by the CPU. For euclidean it computes sqeuclidean, because squaring a rounded
// float32 root does not give the square back.
floats by_cpu(const floats& queries, const floats& corpus, std::int64_t dimension, metric m) {
  const std::int64_t count = static_cast<std::int64_t>(queries.size()) / dimension;
  const std::int64_t width = static_cast<std::int64_t>(corpus.size()) / dimension;
  floats out(static_cast<std::size_t>(count * width));
  const distance_calculator calculator({corpus.data(), width, dimension},
                                       m == metric::euclidean ? metric::sqeuclidean : m);
  calculator.rows(queries.data(), count, out.data(), width);
  return out;
}

void expect_within_bound(const floats& found, const floats& queries, const floats& corpus,
                         std::int64_t dimension, metric m, double factor) {
  const floats right = by_cpu(queries, corpus, dimension, m);
  ASSERT_EQ(found.size(), right.size());
  const std::size_t width = corpus.size() / static_cast<std::size_t>(dimension);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / width);
    const auto column = static_cast<std::int64_t>(i % width);
    const double root = has_unit_images(m)
                            ? 2 * std::sqrt(0.5)
                            : std::sqrt(square_norm(&queries[row * dimension], dimension)) +
                                  std::sqrt(square_norm(&corpus[column * dimension], dimension));
    const double bound = factor * root * root + 1e-7 * right[i];
    ASSERT_NEAR(found[i], right[i], bound)
        << to_string(m) << " dimension " << dimension << " at " << row << ", " << column;
  }
}

constexpr std::array metrics = {metric::sqeuclidean, metric::euclidean, metric::cosine,
                                metric::pearson};

TEST_F(CudaDistance, IsWithinItsBoundInEveryMetricAndShape) {
  distance_rows distances(place_->executor().stream, false);
  for (const metric m : metrics) {
    for (const auto& [q, n, d] : {std::array<std::int64_t, 3>{1, 1, 1},
                                  {1, 5, 3},
                                  {17, 1023, 7},
                                  {33, 1025, 64},
                                  {70, 300, 784}}) {
      const floats x = normal_vectors(q, d, 1);
      const floats y = normal_vectors(n, d, 2);
      for (const norm_reduction how : {norm_reduction::by_key, norm_reduction::by_warp}) {
        const auto queries = upload(x, d, m, how);
        const auto corpus = upload(y, d, m, how);
        const floats found = rows(q, n, [&](float* out, std::int64_t pitch) {
          distances.multiply(queries->view(q), corpus->view(n), out, pitch);
        });
        expect_within_bound(found, x, y, d, m, distances.error_factor(d));
      }
    }
  }
}

TEST_F(CudaDistance, HalfAProductMirroredIsWithinTheSameBound) {
  distance_rows distances(place_->executor().stream, false);
  for (const metric m : metrics) {
    for (const std::int64_t n : {1, 31, 32, 33, 200}) {
      const floats x = normal_vectors(n, 19, 3);
      const auto all = upload(x, 19, m);
      const floats found = rows(n, n, [&](float* out, std::int64_t pitch) {
        distances.multiply_by_itself(all->view(n), out, pitch);
      });
      expect_within_bound(found, x, x, 19, m, distances.error_factor(19));
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(found[i * n + j], found[j * n + i]);
      }
    }
  }
}

TEST_F(CudaDistance, OneProductServesBothWays) {
  distance_rows distances(place_->executor().stream, false);
  for (const metric m : metrics) {
    for (const auto& [q, n] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                               {1, 33},
                               {31, 32},
                               {64, 65},
                               {200, 7},
                               {130, 131}}) {
      const floats x = normal_vectors(q, 19, 7);
      const floats y = normal_vectors(n, 19, 8);
      const auto queries = upload(x, 19, m);
      const auto corpus = upload(y, 19, m);
      // One allocation holds the rows and then the transposed rows, both with the same pitch.
      const std::int64_t wider = std::max(q, n);
      const floats both = rows(q + n, wider, [&](float* out, std::int64_t pitch) {
        distances.multiply_both_ways(queries->view(q), corpus->view(n), out, out + q * pitch,
                                     pitch);
      });
      floats one_way, other_way;
      for (std::int64_t i = 0; i < q; ++i) {
        for (std::int64_t j = 0; j < wider; ++j) {
          const float d = both[i * wider + j];
          ASSERT_EQ(std::isnan(d), j >= n) << "past the end, " << i << ", " << j;
          if (j >= n) continue;
          ASSERT_EQ(d, both[(q + j) * wider + i]);
          one_way.push_back(d);
        }
      }
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < wider; ++i) {
          ASSERT_EQ(std::isnan(both[(q + j) * wider + i]), i >= q);
          if (i < q) other_way.push_back(both[(q + j) * wider + i]);
        }
      }
      expect_within_bound(one_way, x, y, 19, m, distances.error_factor(19));
      expect_within_bound(other_way, y, x, 19, m, distances.error_factor(19));
    }
  }
}

TEST_F(CudaDistance, WithTf32IsWithinTheWiderBound) {
  distance_rows distances(place_->executor().stream, true);
  const floats x = normal_vectors(40, 256, 4);
  const auto all = upload(x, 256, metric::sqeuclidean);
  const floats found = rows(40, 40, [&](float* out, std::int64_t pitch) {
    distances.multiply(all->view(40), all->view(40), out, pitch);
  });
  expect_within_bound(found, x, x, 256, metric::sqeuclidean, distances.error_factor(256));
}

TEST_F(CudaDistance, DirectlyTellsHowMuchFartherThanGivenChosenQueriesAre) {
  distance_rows distances(place_->executor().stream, false);
  const std::vector<std::int32_t> chosen = {39, 0, 7, 7, 20};
  std::vector<double> from(40, 0.5);
  from[20] = 0;
  const device_buffer numbers(*place_, chosen.size() * sizeof(std::int32_t));
  place_->to_device(numbers.data(), std::as_bytes(std::span(chosen)));
  const device_buffer start(*place_, from.size() * sizeof(double));
  place_->to_device(start.data(), std::as_bytes(std::span(from)));
  for (const metric m : metrics) {
    const floats x = normal_vectors(40, 37, 5);
    floats y = normal_vectors(100, 37, 6);
    std::copy_n(x.begin(), 37, y.begin());  // equal vectors
    const auto queries = upload(x, 37, m);
    const auto corpus = upload(y, 37, m);
    const floats found = rows(5, 100, [&](float* out, std::int64_t pitch) {
      distances.directly(queries->view(40), reinterpret_cast<const std::int32_t*>(numbers.data()),
                         5, reinterpret_cast<const double*>(start.data()), corpus->view(100), out,
                         pitch);
    });
    const floats right = by_cpu(x, y, 37, m);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (std::size_t j = 0; j < 100; ++j) {
        const double there = right[static_cast<std::size_t>(chosen[i]) * 100 + j];
        const double expected = chosen[i] == 20 ? 1 : (there - 0.5) / 0.5;
        ASSERT_NEAR(found[i * 100 + j], expected, 4e-7 * there + 1e-7) << to_string(m);
      }
    }
    EXPECT_EQ(found[100], -1) << to_string(m);  // equal vectors
  }
}

TEST_F(CudaDistance, ZeroAndConstantVectorsAreAtDistanceOne) {
  distance_rows distances(place_->executor().stream, false);
  const floats x = {0, 0, 0, 0, 5, 5, 5, 5, 1, 2, 3, 5};
  for (const norm_reduction how : {norm_reduction::by_key, norm_reduction::by_warp}) {
    for (const metric m : {metric::cosine, metric::pearson}) {
      const auto all = upload(x, 4, m, how);
      const floats found = rows(3, 3, [&](float* out, std::int64_t pitch) {
        distances.multiply(all->view(3), all->view(3), out, pitch);
      });
      for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(found[j], 1) << to_string(m);
      if (m == metric::pearson) {
        EXPECT_EQ(found[3 + 2], 1);
      }
    }
  }
}

TEST_F(CudaDistance, BeyondFloat32IsInfiniteAndNeverNan) {
  distance_rows distances(place_->executor().stream, false);
  const floats x = {3e38F, -3e38F, 1, 2};
  const auto all = upload(x, 2, metric::sqeuclidean);
  const floats found = rows(2, 2, [&](float* out, std::int64_t pitch) {
    distances.multiply(all->view(2), all->view(2), out, pitch);
  });
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(found, (floats{infinity, infinity, infinity, 0}));
}

}  // namespace
}  // namespace kselect::runtime
