#include "kselect/problem.hpp"

#include <type_traits>

#include <gtest/gtest.h>

namespace kselect {
namespace {

TEST(Problem, PrintsOneStableName) {
  problem p;
  p.n = 1048576;
  p.q = 64;
  p.k = 256;
  p.seed = 7;
  EXPECT_EQ(to_string(p),
            "float32/smallest/Q=64/n=1048576/k=256/values_and_indices/row_major/uniform#7");
  p.layout = layout::column_major;
  p.pitch = 96;
  p.index = index_type::int64;
  p.distribution = {distribution_kind::few_distinct, 16};
  EXPECT_EQ(to_string(p),
            "float32/smallest/Q=64/n=1048576/k=256/values_and_indices:int64/"
            "column_major:pitch=96/few_distinct(16)#7");
}

TEST(Problem, SizesFollowFromLayoutAndPayload) {
  problem p;
  p.n = 10;
  p.q = 3;
  p.k = 4;
  EXPECT_EQ(p.input_elements(), 30);
  p.pitch = 16;
  EXPECT_EQ(p.offset(2, 9), 41);
  EXPECT_EQ(p.input_elements(), 42);
  p.layout = layout::column_major;
  EXPECT_EQ(p.offset(2, 9), 9 * 16 + 2);
  EXPECT_EQ(p.values_bytes(), 3U * 4 * 4);
  EXPECT_EQ(p.indices_bytes(), 3U * 4 * 4);
  p.payload = payload::kth_value;
  EXPECT_EQ(p.values_bytes(), 3U * 4);
  EXPECT_EQ(p.indices_bytes(), 0U);
  p.n = 0;
  EXPECT_EQ(p.input_bytes(), 0U);
}

TEST(Problem, KnowsItsTypes) {
  problem p;
  p.n = p.k = 3;
  p.q = 5;
  for (const auto& [type, name] : names<dtype>) {
    p.type = type;
    EXPECT_TRUE(to_string(p).starts_with(std::string(name) + "/"));
    const std::size_t size = visit_number(type, []<class T>(T) { return sizeof(T); });
    EXPECT_EQ(size_of(type), size);
    EXPECT_EQ(p.input_bytes(), 15 * size);
    EXPECT_EQ(p.values_bytes(), 15 * size);
    EXPECT_EQ(visit_bits(type, []<class T>(T) { return sizeof(T); }), size);
  }
  const auto is_bfloat16 = []<class T>(T) { return std::is_same_v<T, bfloat16>; };
  EXPECT_TRUE(visit_number(dtype::bfloat16, is_bfloat16));
  EXPECT_FALSE(visit_number(dtype::float16, is_bfloat16));
  EXPECT_DEATH(visit(dtype::float16, []<class T>(T) {}), "");
}

TEST(Distribution, NamesRoundTrip) {
  for (const char* text :
       {"uniform", "normal", "few_distinct(16)", "inf_fraction(0.999)", "kth_ties(3)"}) {
    const auto parsed = parse_distribution(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
  EXPECT_EQ(to_string(parse_distribution("few_distinct").value()), "few_distinct(16)");
}

TEST(Distribution, RefusesWhatItDoesNotDefine) {
  for (const char* text :
       {"", "gaussian", "uniform(1)", "few_distinct(0)", "few_distinct(", "few_distinct()",
        "few_distinct(1", "few_distinct(1x)", "few_distinct(1.5)", "inf_fraction(2)",
        "nan_fraction(nan)", "external", "few_distinct(16) "}) {
    EXPECT_FALSE(parse_distribution(text)) << text;
  }
}

}  // namespace
}  // namespace kselect
