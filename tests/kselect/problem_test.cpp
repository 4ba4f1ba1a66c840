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
  EXPECT_EQ(to_string(p), "float32/smallest/Q=64/n=1048576/k=256/values_and_indices/row_major");
  p.layout = layout::column_major;
  p.pitch = 96;
  p.index = index_type::int64;
  EXPECT_EQ(to_string(p),
            "float32/smallest/Q=64/n=1048576/k=256/values_and_indices:int64/"
            "column_major:pitch=96");
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
  p.payload = payload::indices;
  EXPECT_EQ(p.values_bytes(), 0U);
  EXPECT_EQ(p.indices_bytes(), 3U * 4 * 4);
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
  EXPECT_DEATH(visit(dtype::int32, []<class T>(T) {}), "");
}

}  // namespace
}  // namespace kselect
