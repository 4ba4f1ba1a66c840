// Compares distances with sums in long double, computed pair by pair from the definitions.
//
// distance.hpp promises a relative error of at most 2^-24 + 2^-25, exact results if the arithmetic
// is exact, zero for equal vectors, and conventions for zero and constant vectors.

#include "runtime/distance/distance.hpp"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr distance_options small_tiles = {.query_tile = 4, .base_tile = 8, .threads = 2};

vector_set make_set(std::int64_t count, std::int64_t dimension, std::vector<float> data) {
  vector_set set;
  set.count = count;
  set.dimension = dimension;
  set.data = std::move(data);
  return set;
}

vector_set random_set(std::int64_t count, std::int64_t dimension, unsigned seed, float centre = 0,
                      float spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(centre, spread);
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  std::ranges::generate(data, [&] { return normal(bits); });
  return make_set(count, dimension, std::move(data));
}

const float* row(const vector_set& set, std::int64_t i) {
  return set.data.data() + i * set.dimension;
}

long double exact(metric m, const float* x, const float* y, std::int64_t dimension) {
  long double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0, square = 0;
  for (std::int64_t c = 0; c < dimension; ++c) {
    mean_x += static_cast<long double>(x[c]) / static_cast<long double>(dimension);
    mean_y += static_cast<long double>(y[c]) / static_cast<long double>(dimension);
  }
  if (m != metric::pearson) mean_x = mean_y = 0;
  for (std::int64_t c = 0; c < dimension; ++c) {
    const long double a = x[c] - mean_x;
    const long double b = y[c] - mean_y;
    xx += a * a, yy += b * b, xy += a * b, square += (a - b) * (a - b);
  }
  if (m == metric::sqeuclidean) return square;
  if (m == metric::euclidean) return std::sqrt(square);
  return 1 - xy / std::sqrt(xx * yy);
}

std::vector<float> all_rows(const vector_set& base, const vector_set& queries, metric m,
                            const distance_options& options = small_tiles) {
  std::vector<float> out(static_cast<std::size_t>(base.count * queries.count));
  distance_calculator(base.view(), m, options)
      .rows(queries.data.data(), queries.count, out.data(), base.count);
  return out;
}

// Rows of distances have every metric but the inner product, which is one of searches.
auto metrics_of_rows() {
  return names<metric> | std::views::filter([](const named<metric>& one) {
           return one.value != metric::inner_product;
         });
}

// Expects every distance, in every metric, to be within the promised error.
void expect_accurate(const vector_set& base, const vector_set& queries) {
  for (const auto& [m, name] : metrics_of_rows()) {
    if (m == metric::pearson && base.dimension == 1) continue;  // constant vectors: a test below
    const std::vector<float> out = all_rows(base, queries, m);
    for (std::int64_t i = 0; i < queries.count; ++i) {
      for (std::int64_t j = 0; j < base.count; ++j) {
        const long double truth = exact(m, row(queries, i), row(base, j), base.dimension);
        // The error of the reference itself in 1 - x.y, if that is small.
        const long double reference = m >= metric::cosine ? 1e-17L : 0;
        const auto found =
            static_cast<long double>(out[static_cast<std::size_t>(i * base.count + j)]);
        ASSERT_LE(std::abs(found - truth), std::ldexp(truth, -24) * 1.5L + reference)
            << name << ", " << base.count << " x " << base.dimension << ", query " << i << ", base "
            << j;
      }
    }
  }
}

TEST(Distance, IsAccurateAtEveryTileBorder) {
  for (const std::int64_t n : {1, 7, 8, 9, 17}) {
    for (const std::int64_t q : {1, 3, 4, 5}) {
      for (const std::int64_t d : {1, 2, 3, 31}) {
        expect_accurate(random_set(n, d, 1), random_set(q, d, 2));
      }
    }
  }
}

TEST(Distance, IsAccurateInDimensionsBeyondOneTile) {
  for (const std::int64_t d : {1023, 1024, 1025, 2048, 3001, 10000}) {
    expect_accurate(random_set(9, d, 1), random_set(5, d, 2));
  }
}

TEST(Distance, IsAccurateFarFromTheOrigin) {
  // Norms agree in their leading 7 digits, so only the direct sum gives right digits.
  expect_accurate(random_set(9, 100, 1, 1000, 0.01F), random_set(5, 100, 2, 1000, 0.01F));
}

TEST(Distance, IsAccurateBetweenNearlyEqualVectors) {
  const vector_set base = random_set(9, 50, 1);
  vector_set queries = base;
  for (std::int64_t i = 0; i < queries.count; ++i) {
    float& component = queries.data[static_cast<std::size_t>(i * 50 + i)];
    component = std::nextafter(component, 100.0F);
  }
  for (const metric m : {metric::sqeuclidean, metric::euclidean}) {
    const std::vector<float> out = all_rows(base, queries, m);
    for (std::int64_t i = 0; i < base.count; ++i) {
      const auto truth = static_cast<float>(exact(m, row(queries, i), row(base, i), 50));
      EXPECT_GT(truth, 0);
      EXPECT_FLOAT_EQ(out[static_cast<std::size_t>(i * 10)], truth);
    }
  }
}

TEST(Distance, IsAccurateAtExtremeMagnitudes) {
  for (const float scale : {1e-38F, 1e-44F}) {
    const vector_set base = make_set(2, 2, {scale, 0, 3 * scale, 5 * scale});
    for (const metric m : {metric::euclidean, metric::cosine}) {
      const std::vector<float> out = all_rows(base, base, m);
      EXPECT_FLOAT_EQ(out[1], static_cast<float>(exact(m, row(base, 0), row(base, 1), 2)));
    }
  }
  const vector_set large = make_set(2, 2, {1e38F, 0, -1e38F, 0});
  EXPECT_FLOAT_EQ(all_rows(large, large, metric::euclidean)[1], 2e38F);
  EXPECT_EQ(all_rows(large, large, metric::sqeuclidean)[1], std::numeric_limits<float>::infinity());
  EXPECT_FLOAT_EQ(all_rows(large, large, metric::cosine)[1], 2);
}

TEST(Distance, OfIntegersIsExactBeforeItsOneRounding) {
  // Images of 28 x 28 bytes; float32 cannot add their squares exactly.
  std::mt19937 bits(3);
  vector_set set = make_set(40, 784, std::vector<float>(40 * 784));
  for (float& value : set.data) value = static_cast<float>(bits() % 256);
  const std::vector<float> out = all_rows(set, set, metric::sqeuclidean);
  for (std::int64_t i = 0; i < set.count; ++i) {
    for (std::int64_t j = 0; j < set.count; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t c = 0; c < set.dimension; ++c) {
        const auto difference = static_cast<std::int64_t>(row(set, i)[c] - row(set, j)[c]);
        sum += difference * difference;
      }
      ASSERT_EQ(out[static_cast<std::size_t>(i * set.count + j)], static_cast<float>(sum));
    }
  }
}

TEST(Distance, OfEqualVectorsIsZeroInEveryMetric) {
  for (const float centre : {0.0F, 1000.0F}) {
    for (const std::int64_t d : {2, 3, 100, 784, 2500}) {
      const vector_set one = random_set(1, d, 7, centre);
      std::vector<float> copies;
      for (int i = 0; i < 20; ++i) copies.insert(copies.end(), one.data.begin(), one.data.end());
      const vector_set base = make_set(20, d, copies);
      for (const auto& [m, name] : metrics_of_rows()) {
        EXPECT_THAT(all_rows(base, one, m), Each(0.0F)) << name << ", dimension " << d;
      }
    }
  }
}

TEST(Distance, OfParallelVectorsIsZeroInCosineAndPearson) {
  const vector_set x = random_set(1, 300, 1);
  vector_set y = x;
  for (float& value : y.data) value *= -0.25F;
  for (const metric m : {metric::cosine, metric::pearson}) {
    EXPECT_EQ(all_rows(x, y, m)[0], 2) << to_string(m);
    for (float& value : y.data) value *= -1;
    EXPECT_LT(all_rows(x, y, m)[0], 1e-20F) << to_string(m);
    for (float& value : y.data) value *= -1;
  }
}

TEST(Distance, ToAZeroVectorIsOneInCosine) {
  const vector_set base = make_set(3, 2, {0, 0, 3, 4, -0.0F, 0});
  const std::vector<float> out = all_rows(base, base, metric::cosine);
  EXPECT_THAT(out, ElementsAre(1, 1, 1, 1, 0, 1, 1, 1, 1));
}

TEST(Distance, ToAConstantVectorIsOneInPearson) {
  for (const float value : {0.0F, 0.1F, -1e30F, 16777215.0F}) {
    for (const std::int64_t d : {1, 3, 7, 1000, 1025}) {
      vector_set base = random_set(2, d, 5);
      std::fill_n(base.data.begin(), d, value);
      EXPECT_THAT(all_rows(base, make_set(1, d, {base.data.begin(), base.data.begin() + d}),
                           metric::pearson),
                  Each(1.0F))
          << value << ", dimension " << d;
    }
  }
}

TEST(Distance, LeavesOutTheExcludedVectorAndCompactsTheRow) {
  const vector_set base = random_set(19, 5, 1);
  const vector_set queries = random_set(6, 5, 2);
  const std::vector<float> whole = all_rows(base, queries, metric::euclidean);
  const std::vector<std::int64_t> exclude = {0, 18, 7, 8, 9, 8};
  std::vector<float> out(6 * 18);
  distance_calculator(base.view(), metric::euclidean, small_tiles)
      .rows(queries.data.data(), 6, out.data(), 18, exclude.data());
  std::vector<float> expected;
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 19; ++j) {
      if (static_cast<std::int64_t>(j) != exclude[i]) expected.push_back(whole[i * 19 + j]);
    }
  }
  EXPECT_EQ(out, expected);
}

TEST(Distance, LeavesWhatLiesBetweenTheRowsAlone) {
  const vector_set base = random_set(9, 5, 1);
  std::vector<float> out(5 * 12, -1.0F);
  distance_calculator(base.view(), metric::euclidean, small_tiles)
      .rows(base.data.data(), 5, out.data(), 12);
  for (std::size_t at = 0; at < out.size(); ++at) EXPECT_EQ(out[at] == -1, at % 12 >= 9) << at;
}

TEST(Distance, OfAPrefixIsTheSame) {
  const vector_set base = random_set(19, 5, 1);
  vector_view prefix = base.view();
  prefix.count = 11;
  std::vector<float> out(11);
  distance_calculator(prefix, metric::cosine, small_tiles)
      .rows(base.data.data(), 1, out.data(), 11);
  const std::vector<float> whole = all_rows(base, base, metric::cosine);
  for (std::size_t j = 0; j < 11; ++j) EXPECT_FLOAT_EQ(out[j], whole[j]);
}

TEST(Distance, DoesNotDependOnTheNumberOfThreads) {
  const vector_set base = random_set(1500, 33, 1);
  const vector_set queries = random_set(300, 33, 2);
  for (const auto& [m, name] : metrics_of_rows()) {
    EXPECT_EQ(all_rows(base, queries, m, {.threads = 1}),
              all_rows(base, queries, m, {.threads = 3}))
        << name;
  }
}

TEST(Distance, OfAVectorThatIsNotFiniteIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const vector_set base =
      make_set(3, 2, {1, 2, infinity, 2, std::numeric_limits<float>::quiet_NaN(), 2});
  const std::vector<float> out = all_rows(base, base, metric::sqeuclidean);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], infinity);
  for (const std::size_t at : {2U, 4U, 5U, 6U, 7U, 8U}) EXPECT_TRUE(std::isnan(out[at])) << at;
}

TEST(Distance, WithoutVectorsOrQueriesWritesNothing) {
  const vector_set none = make_set(0, 5, {});
  const vector_set some = random_set(3, 5, 1);
  float untouched = -1;
  distance_calculator(none.view(), metric::euclidean).rows(some.data.data(), 3, &untouched, 1);
  distance_calculator(some.view(), metric::euclidean).rows(nullptr, 0, &untouched, 3);
  EXPECT_EQ(untouched, -1);
}

TEST(Distance, RefusesArgumentsThatFitNothing) {
  const vector_set base = random_set(3, 5, 1);
  const distance_calculator calculator(base.view(), metric::euclidean);
  std::vector<float> out(9);
  const auto expect_usage = [](const auto& action) {
    try {
      action();
      FAIL() << "nothing was thrown";
    } catch (const error& e) {
      EXPECT_EQ(e.category(), failure::usage) << e.what();
    }
  };
  expect_usage([&] { calculator.rows(base.data.data(), 1, out.data(), 2); });
  for (const std::int64_t excluded : {-1, 3}) {
    expect_usage([&] { calculator.rows(base.data.data(), 1, out.data(), 3, &excluded); });
  }
  for (const distance_options& bad :
       {distance_options{.query_tile = 0}, distance_options{.base_tile = 0},
        distance_options{.threads = 0}}) {
    expect_usage([&] { distance_calculator(base.view(), metric::cosine, bad); });
  }
}

}  // namespace
}  // namespace kselect::runtime
