// The metrics: they match their definitions, give the same bits on host and device, and stay within
// their stated error.

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include "search/metric/metrics/euclidean.hpp"
#include "search/metric/metrics/levenshtein.hpp"
#include "search/metric/metrics/levenshtein_table.hpp"
#include "tests/search/metric/objects.hpp"

namespace kselect::search::metric_space {
namespace {

static_assert(metric<euclidean>);
static_assert(metric<levenshtein>);
static_assert(metric<levenshtein_table>);

int table_distance(const word& a, const word& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return static_cast<int>(row.back());
}

TEST(Levenshtein, IsTheDynamicProgrammesDistance) {
  // Lengths around multiples of the block size 64, and few letters, which give many matches.
  std::mt19937 random(7);
  const std::vector<std::size_t> lengths = {1, 2, 5, 31, 63, 64, 65, 100, 127, 128, 129, 200, 256};
  std::vector<word> words;
  for (const std::size_t length : lengths) {
    for (const char32_t letters : {U'\2', U'\5'}) {
      word w;
      for (std::size_t c = 0; c < length; ++c)
        w.push_back(static_cast<char32_t>(U'a' + random() % letters));
      words.push_back(w);
    }
  }
  const levenshtein::set set(words);
  for (std::int64_t i = 0; i < set.count(); ++i) {
    const auto ready = levenshtein::prepare(set, i);
    const auto codes = levenshtein_table::prepare(set, i);
    for (std::int64_t j = 0; j < set.count(); ++j) {
      const auto expected = static_cast<float>(
          table_distance(words[static_cast<std::size_t>(i)], words[static_cast<std::size_t>(j)]));
      EXPECT_EQ(levenshtein::distance(set, j, ready), expected) << i << ' ' << j;
      EXPECT_EQ(levenshtein_table::distance(set, j, codes), expected) << i << ' ' << j;
    }
  }
}

TEST(Levenshtein, CountsCharactersNotBytes) {
  const levenshtein::set set({U"año", U"ano", U"a\U0001F600o"});
  const auto ready = levenshtein::prepare(set, 0);
  EXPECT_EQ(levenshtein::distance(set, 1, ready), 1);
  EXPECT_EQ(levenshtein::distance(set, 2, ready), 1);
}

TEST(Levenshtein, QueriesMayHaveCharactersOfTheirOwn) {
  const levenshtein::set corpus({U"casa", U"zeta"});
  levenshtein::set queries({U"xyza", U"casas"});
  levenshtein::adapt(queries, corpus);
  EXPECT_EQ(levenshtein::distance(corpus, 0, levenshtein::prepare(queries, 0)), 3);
  EXPECT_EQ(levenshtein::distance(corpus, 0, levenshtein::prepare(queries, 1)), 1);
  EXPECT_EQ(levenshtein_table::distance(corpus, 0, levenshtein_table::prepare(queries, 0)), 3);
  EXPECT_EQ(queries.text(0), U"xyza");
  const std::int64_t second = 1;
  EXPECT_EQ(queries.gather(std::span(&second, 1)).text(0), U"casas");
}

TEST(Euclidean, StaysWithinItsTolerance) {
  for (const std::int64_t dimension : {1, 7, 8, 20, 254, 1000}) {
    for (const double scale : {1.0, 1e-25, 1e15}) {
      std::vector<float> data = normal_data(40, dimension, 3);
      for (float& x : data) x = static_cast<float>(static_cast<double>(x) * scale);
      const euclidean::set set(data, 40, dimension);
      const tolerance slack = euclidean::tolerance_of(set);
      for (std::int64_t i = 0; i < 40; ++i) {
        const auto ready = euclidean::prepare(set, i);
        for (std::int64_t j = 0; j < 40; ++j) {
          long double sum = 0;
          for (std::int64_t c = 0; c < dimension; ++c) {
            const long double difference =
                static_cast<long double>(set.row(i)[c]) - static_cast<long double>(set.row(j)[c]);
            sum += difference * difference;
          }
          const long double exact = std::sqrt(sum);
          const auto computed = static_cast<long double>(euclidean::distance(set, j, ready));
          EXPECT_LE(std::abs(computed - exact), exact * static_cast<long double>(slack.relative) +
                                                    static_cast<long double>(slack.absolute))
              << dimension << ' ' << scale;
        }
      }
    }
  }
}

template <class M>
class EveryMetric : public testing::Test {};
using metrics = testing::Types<euclidean, levenshtein, levenshtein_table>;
TYPED_TEST_SUITE(EveryMetric, metrics);

TYPED_TEST(EveryMetric, IsAMetric) {
  using M = TypeParam;
  const typename M::set set = test_objects<M>(60, 11);
  const tolerance slack = M::tolerance_of(set);
  const std::int64_t n = set.count();
  std::vector<float> d(static_cast<std::size_t>(n * n));
  const auto at = [&](std::int64_t i, std::int64_t j) -> float& {
    return d[static_cast<std::size_t>(i * n + j)];
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const auto ready = M::prepare(set, i);
    for (std::int64_t j = 0; j < n; ++j) at(i, j) = M::distance(set, j, ready);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(at(i, i), 0);
    for (std::int64_t j = 0; j < n; ++j) {
      EXPECT_EQ(at(i, j), at(j, i));
      for (std::int64_t p = 0; p < n; ++p) {
        EXPECT_FALSE(separated(at(i, p), at(j, p), at(i, j), slack)) << i << ' ' << j << ' ' << p;
      }
    }
  }
}

TYPED_TEST(EveryMetric, SurvivesItsSections) {
  using M = TypeParam;
  const typename M::set set = test_objects<M>(50, 5);
  sections written;
  M::write(set, written);
  sections again;
  M::write(M::read(written), again);
  ASSERT_EQ(written.size(), again.size());
  for (std::size_t s = 0; s < written.size(); ++s) EXPECT_EQ(written[s].bytes, again[s].bytes);
  written.pop_back();
  EXPECT_THROW(M::read(written), std::invalid_argument);
}

TEST(Separated, NeedsMoreThanTheRadius) {
  EXPECT_FALSE(separated(5, 2, 3, {}));
  EXPECT_TRUE(separated(6, 2, 3, {}));
  EXPECT_FALSE(separated(2, 6, 3, {}));
  EXPECT_FALSE(separated(6, 2, INFINITY, {}));
  EXPECT_FALSE(separated(INFINITY, INFINITY, 3, {1e-6F, 0}));
  EXPECT_FALSE(separated(INFINITY, 2, 3, {1e-6F, 0}));
  // The difference is within the rounding error.
  EXPECT_FALSE(separated(4, 1, std::nextafter(3.0F, 0.0F), {1e-6F, 0}));
}

// It never holds where `separated` does not, and is no weaker by more than a few roundings.
TEST(Separation, IsSeparatedOfMostPairs) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> number(0, 10), off(-2e-5F, 2e-5F);
  for (const tolerance slack :
       {tolerance{}, tolerance{1e-6F, 0}, tolerance{0, 0.25F}, tolerance{3e-7F, 1e-3F}}) {
    const separation test(slack);
    int apart = 0;
    for (int i = 0; i < 20000; ++i) {
      const float a = number(random), b = number(random);
      const float gap = std::abs(a - b) - slack.absolute, radius = gap * (1 + off(random));
      if (radius < 0) continue;
      const bool exact = separated(a, b, radius, slack) || separated(b, a, radius, slack);
      if (test(a, b, radius)) {
        ++apart;
        EXPECT_TRUE(exact) << a << ' ' << b << ' ' << radius;
      }
      EXPECT_TRUE(test(a, b, radius * (1 - 1e-4F) - 1e-4F) || !exact) << a << ' ' << b;
    }
    EXPECT_GT(apart, 1000);
  }
}
TEST(Separation, OfWhatOverflowedTellsNothing) {
  const separation test({1e-6F, 0});
  EXPECT_TRUE(test(6, 2, 3));
  EXPECT_TRUE(test(2, 6, 3));
  EXPECT_FALSE(test(6, 2, INFINITY));
  EXPECT_FALSE(test(INFINITY, 2, 3));
  EXPECT_FALSE(test(NAN, 2, 3));
  EXPECT_FALSE(test(2, NAN, 3));
}

}  // namespace
}  // namespace kselect::search::metric_space
