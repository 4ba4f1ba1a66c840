#include "harness/workload/generator.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/workload/rows.hpp"
#include "kselect/select.hpp"

namespace kselect::harness {
namespace {

workload make_problem(const char* text, std::int64_t n = 1000, std::int64_t q = 3) {
  workload p;
  p.n = n;
  p.q = q;
  p.k = 10;
  p.seed = 99;
  p.distribution = parse_distribution(text).value();
  return p;
}

template <class T = float>
std::vector<T> generate(workload p, int threads = 1) {
  p.type = *dtype_of<T>;
  std::vector<T> rows(static_cast<std::size_t>(p.input_elements()));
  generate_rows(p, std::as_writable_bytes(std::span(rows)), threads);
  return rows;
}

std::vector<float> row(const std::vector<float>& rows, const workload& p, std::int64_t r) {
  return {rows.begin() + r * p.n, rows.begin() + (r + 1) * p.n};
}

const char* const every_distribution[] = {
    "uniform",         "normal",       "decaying(9)",
    "ascending",       "descending",   "all_equal",
    "few_distinct(7)", "organ_pipe",   "same_leading_bits(20)",
    "inf_fraction",    "nan_fraction", "kth_ties(5)"};

// Records quote a seed: these bits must never change, on any machine.
TEST(Generator, GivesTheSameBitsForEver) {
  const auto bits = [](const char* text) {
    const auto rows = generate(make_problem(text, 4, 1));
    return std::vector<std::uint32_t>{bits_of(rows[0]), bits_of(rows[1]), bits_of(rows[2]),
                                      bits_of(rows[3])};
  };
  EXPECT_EQ(bits("uniform"),
            (std::vector<std::uint32_t>{1060431514, 1062085229, 1053209362, 1064663858}));
  EXPECT_EQ(bits("normal"),
            (std::vector<std::uint32_t>{1057696199, 1063010940, 3197211025, 1071545582}));
}

TEST(Generator, RowsCanBeMadePieceByPiece) {
  for (const char* text : every_distribution) {
    workload p = make_problem(text, 70, 9);
    const auto whole = generate(p);
    p.q = 4;
    std::vector<float> piece(static_cast<std::size_t>(p.input_elements()));
    generate_rows(p, std::as_writable_bytes(std::span(piece)), 2, 5);
    EXPECT_EQ(std::memcmp(piece.data(), whole.data() + 5 * p.n, piece.size() * sizeof(float)), 0)
        << text;
  }
}

TEST(Generator, DoesNotDependOnThreadsOrLayout) {
  for (const char* text : every_distribution) {
    // Longer than one task, so that several threads share a row.
    workload p = make_problem(text, 40001, 5);
    const auto rows = generate(p);
    const auto threaded = generate(p, 7);
    EXPECT_EQ(std::memcmp(rows.data(), threaded.data(), rows.size() * sizeof(float)), 0) << text;
    workload columns = p;
    columns.layout = layout::column_major;
    const auto transposed = generate(columns, 2);
    for (std::int64_t r = 0; r < p.q; ++r) {
      for (std::int64_t c = 0; c < p.n; c += 97) {
        ASSERT_EQ(bits_of(rows[static_cast<std::size_t>(p.offset(r, c))]),
                  bits_of(transposed[static_cast<std::size_t>(columns.offset(r, c))]))
            << text;
      }
    }
  }
}

TEST(Generator, RowsAndSeedsDiffer) {
  workload p = make_problem("uniform");
  const auto rows = generate(p);
  EXPECT_NE(row(rows, p, 0), row(rows, p, 1));
  p.seed = 100;
  EXPECT_NE(generate(p), rows);
}

TEST(Generator, LeavesTheGapBetweenRowsAlone) {
  workload p = make_problem("uniform", 10, 2);
  p.pitch = 12;
  const auto rows = generate(p);
  EXPECT_EQ(bits_of(rows[10]), 0xa5a5a5a5U);
  EXPECT_EQ(bits_of(rows[11]), 0xa5a5a5a5U);
}

TEST(Generator, UniformFillsTheUnitInterval) {
  const auto rows = generate(make_problem("uniform", 100000, 1));
  double sum = 0;
  for (const float x : rows) {
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += static_cast<double>(x);
  }
  // Mean 1/2, standard error 0.0009.
  EXPECT_NEAR(sum / 1e5, 0.5, 0.005);
}

TEST(Generator, NormalHasTheQuantilesOfTheNormal) {
  auto values = generate<double>(make_problem("normal", 100000, 1));
  std::ranges::sort(values);
  const auto quantile = [&](double p) { return values[static_cast<std::size_t>(p * 1e5)]; };
  EXPECT_NEAR(quantile(0.5), 0, 0.02);
  EXPECT_NEAR(quantile(0.8413), 1, 0.02);
  EXPECT_NEAR(quantile(0.0228), -2, 0.05);
  // Known values of the quantile function itself, all three ranges of AS 241.
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-6);
  EXPECT_NEAR(normal_quantile(1e-5), -4.264890794, 1e-5);
  EXPECT_NEAR(normal_quantile(1e-14), -7.650628105, 1e-5);
}

TEST(Generator, DecayingVarianceFallsByOneRatio) {
  const workload p = make_problem("decaying(5)", 12, 20000);
  const auto values = generate<double>(p);
  double expected = 1;
  for (std::int64_t column = 0; column < p.n; ++column, expected *= 4.0 / 6) {
    double squares = 0;
    for (std::int64_t r = 0; r < p.q; ++r) {
      const double x = values[static_cast<std::size_t>(p.offset(r, column))];
      squares += x * x;
    }
    // The standard error of a variance from 20,000 values is 1 %.
    EXPECT_NEAR(squares / 20000 / expected, 1, 0.05) << column;
  }
}

TEST(Generator, SortedDistributionsAreSorted) {
  const workload up = make_problem("ascending", 5000, 1);
  EXPECT_TRUE(std::ranges::is_sorted(generate(up)));
  const workload down = make_problem("descending", 5000, 1);
  EXPECT_TRUE(std::ranges::is_sorted(generate(down), std::greater<>{}));
  const auto pipe = generate(make_problem("organ_pipe", 5000, 1));
  EXPECT_TRUE(std::is_sorted(pipe.begin(), pipe.begin() + 2500));
  EXPECT_TRUE(std::is_sorted(pipe.begin() + 2500, pipe.end(), std::greater<>{}));
}

TEST(Generator, TiedDistributionsHaveTheTiesTheyName) {
  const auto distinct = [](const std::vector<float>& values) {
    return std::set<float>(values.begin(), values.end()).size();
  };
  const workload equal = make_problem("all_equal");
  const auto rows = generate(equal);
  EXPECT_EQ(distinct(row(rows, equal, 0)), 1U);
  EXPECT_EQ(distinct(rows), 3U);  // one value a row
  EXPECT_EQ(distinct(generate(make_problem("few_distinct(7)"))), 7U);
}

TEST(Generator, TiesStraddleTheKthPlace) {
  const workload p = make_problem("kth_ties(5)");
  const auto rows = generate(p);
  for (std::int64_t r = 0; r < p.q; ++r) {
    auto values = row(rows, p, r);
    EXPECT_FALSE(std::ranges::is_sorted(values));
    std::ranges::sort(values);
    const auto tied = std::ranges::equal_range(values, values[static_cast<std::size_t>(p.k - 1)]);
    EXPECT_EQ(tied.begin() - values.begin(), p.k / 2);
    EXPECT_EQ(tied.end() - values.begin(), p.k + 5);
  }
}

// Rows that end within a block of random numbers: no rank is looked for beyond the end.
TEST(Generator, TiesOfAnyNumberOfElements) {
  for (std::int64_t n = 1; n <= 20; ++n) {
    workload p = make_problem("kth_ties(5)", n, 64);
    p.k = 1;
    const auto rows = generate(p);
    for (std::int64_t r = 0; r < p.q; ++r) {
      EXPECT_EQ(std::ranges::count(row(rows, p, r), 0.5F), std::min<std::int64_t>(n, 6)) << n;
    }
  }
}

TEST(Generator, SpecialFractionsAreAsAsked) {
  const auto count = [](const char* text, auto is_special) {
    const auto rows = generate(make_problem(text, 20000, 1));
    return static_cast<double>(std::ranges::count_if(rows, is_special)) / 20000;
  };
  const auto infinite = [](float x) { return bits_of(x) == 0x7f800000U; };
  const auto nan = [](float x) { return is_nan(x); };
  EXPECT_NEAR(count("inf_fraction(0.9)", infinite), 0.9, 0.02);
  EXPECT_EQ(count("inf_fraction(1)", infinite), 1);
  EXPECT_EQ(count("inf_fraction(0)", infinite), 0);
  EXPECT_NEAR(count("nan_fraction(0.25)", nan), 0.25, 0.02);
  EXPECT_NEAR(count("nan_fraction(1)", [](float x) { return is_nan(x) && bits_of(x) >> 31 != 0; }),
              0.5, 0.02);  // both signs
}

TEST(Generator, LeadingBitsAreShared) {
  for (const int shared : {1, 5, 12, 20, 31, 32}) {
    const std::string text = "same_leading_bits(" + std::to_string(shared) + ")";
    const auto rows = generate(make_problem(text.c_str()));
    std::uint32_t varying = 0;
    for (const float x : rows) {
      EXPECT_FALSE(is_nan(x));
      varying |= bits_of(x) ^ bits_of(rows[0]);
    }
    EXPECT_EQ(shared == 32 ? varying : varying >> (32 - shared), 0U) << text;
    EXPECT_EQ(varying != 0U, shared < 32) << text;
  }
}

template <class T>
class GeneratorOf16Bits : public testing::Test {};
using types_of_16_bits = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(GeneratorOf16Bits, types_of_16_bits);

// A sweep over types thus selects from the same rows, rounded to each type.
TYPED_TEST(GeneratorOf16Bits, RoundsTheRowsOfFloat32) {
  for (const char* text : every_distribution) {
    const workload p = make_problem(text, 3001, 2);
    const auto wide = generate(p);
    const auto narrow = generate<TypeParam>(p);
    const bool made_of_bits = p.distribution.kind == distribution_kind::same_leading_bits;
    for (std::size_t i = 0; i < wide.size() && !made_of_bits; ++i) {
      ASSERT_EQ(is_nan(narrow[i]), is_nan(wide[i])) << text << " " << i;
      if (is_nan(wide[i])) continue;
      ASSERT_EQ(narrow[i].bits, from_float<TypeParam>(wide[i]).bits) << text << " " << i;
    }
  }
}

TYPED_TEST(GeneratorOf16Bits, HasNaNsOfBothSignsAndManyPayloads) {
  const auto rows = generate<TypeParam>(make_problem("nan_fraction(1)", 20000, 1));
  std::set<unsigned> patterns;
  for (const TypeParam x : rows) {
    ASSERT_TRUE(is_nan(x));
    patterns.insert(x.bits);
  }
  EXPECT_GT(patterns.size(), 100U);
  EXPECT_LT(*patterns.begin(), 0x8000U);
  EXPECT_GT(*patterns.rbegin(), 0x8000U);
}

TYPED_TEST(GeneratorOf16Bits, SharesLeadingBits) {
  for (const int shared : {1, 5, 12, 15, 16, 20, 32}) {
    const std::string text = "same_leading_bits(" + std::to_string(shared) + ")";
    const auto rows = generate<TypeParam>(make_problem(text.c_str()));
    unsigned varying = 0;
    for (const TypeParam x : rows) {
      EXPECT_FALSE(is_nan(x));
      varying |= x.bits ^ rows[0].bits;
    }
    EXPECT_EQ(varying >> std::max(0, 16 - shared), 0U) << text;
    EXPECT_EQ(varying != 0U, shared < 16) << text;
  }
}

// Of an integer type the whole range is used, and no number lies beyond it.
template <class T>
class GeneratorOfIntegers : public testing::Test {};
using integer_types = testing::Types<std::int32_t, std::uint32_t, std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(GeneratorOfIntegers, integer_types);

TYPED_TEST(GeneratorOfIntegers, CoversTheRange) {
  using limits = std::numeric_limits<TypeParam>;
  const double least = static_cast<double>(limits::min());
  const double numbers = static_cast<double>(limits::max()) - least + 1;
  const auto shares_of = [&](const char* text) {
    std::array<int, 4> quarters{};
    for (const TypeParam x : generate<TypeParam>(make_problem(text, 10000, 2))) {
      ++quarters[static_cast<std::size_t>((static_cast<double>(x) - least) / numbers * 4)];
    }
    return quarters;
  };
  for (const int count : shares_of("uniform")) EXPECT_NEAR(count, 5000, 400);
  const auto normal = shares_of("normal");  // a quarter of the range is four deviations
  EXPECT_NEAR(normal[1], 10000, 500);
  EXPECT_NEAR(normal[2], 10000, 500);
  const auto rising = generate<TypeParam>(make_problem("ascending", 3000, 1));
  EXPECT_TRUE(std::is_sorted(rising.begin(), rising.end()));
  EXPECT_LT(static_cast<double>(rising.front()), least + numbers / 100);
  EXPECT_GT(static_cast<double>(rising.back()), least + numbers * 0.99 - 1);
  for (const char* const text : {"inf_fraction(1)", "nan_fraction(1)"}) {
    for (const TypeParam x : generate<TypeParam>(make_problem(text, 100, 1))) {
      ASSERT_EQ(x, limits::max()) << text;
    }
  }
}

}  // namespace
}  // namespace kselect::harness
