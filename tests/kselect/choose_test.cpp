// What `auto` chooses: a member that takes the problem, whenever there is one.

#include "kselect/choose.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"

namespace kselect {
namespace {

device large_gpu() {
  device d;
  d.kind = executor_kind::cuda;
  d.multiprocessors = 132;
  d.compute_capability = 90;
  d.shared_bytes = 227 << 10;
  return d;
}

problem shaped(std::int64_t n, std::int64_t q, std::int64_t k) {
  problem p;
  p.n = n;
  p.q = q;
  p.k = k;
  return p;
}

std::string_view chosen(const problem& p) {
  const choice c = choose_algorithm(p, large_gpu());
  return c.member == nullptr ? "" : c.member->name;
}

TEST(choose, follows_the_shape) {
  EXPECT_EQ(chosen(shaped(1024, 100'000, 8)), "bms-warp");
  EXPECT_EQ(chosen(shaped(8192, 10'000, 32)), "bms-block");
  EXPECT_EQ(chosen(shaped(1 << 20, 1, 256)), "bms-grid");
  EXPECT_EQ(chosen(shaped(1 << 20, 1000, 500'000)), "radix-select");
  problem p = shaped(1 << 16, 100, 10);
  p.payload = payload::kth_value;
  EXPECT_EQ(chosen(p), "radix-select");
  p.payload = payload::values;
  p.layout = layout::column_major;
  EXPECT_EQ(chosen(p), "tang/heap+full_buffer+partition4");
}

TEST(choose, gives_a_reason_with_every_member) {
  for (const executor_kind kind : {executor_kind::cpu, executor_kind::fiber, executor_kind::cuda}) {
    device d = large_gpu();
    d.kind = kind;
    for (const std::int64_t n : {1, 100, 5000, 1 << 20}) {
      const choice c = choose_algorithm(shaped(n, 10, 1), d);
      ASSERT_NE(c.member, nullptr);
      EXPECT_FALSE(c.reason.empty());
    }
  }
}

TEST(choose, never_chooses_what_does_not_take_the_problem_nor_refuses_row_major_rows) {
  std::mt19937_64 generator(11);
  const auto between = [&](std::int64_t low, std::int64_t high) {  // log-uniform
    std::uniform_real_distribution<double> exponent(std::log2(low), std::log2(high));
    return static_cast<std::int64_t>(std::exp2(exponent(generator)));
  };
  for (int i = 0; i < 3000; ++i) {
    problem p;
    p.n = between(1, 1 << 27);
    p.q = between(1, 1 << 18);
    p.k = std::min(p.n, between(1, p.n + 1));
    p.type = i % 2 == 0 ? dtype::float32 : dtype::float64;
    p.payload = i % 3 == 0 ? payload::values : payload::values_and_indices;
    const choice c = choose_algorithm(p, large_gpu());
    ASSERT_NE(c.member, nullptr) << to_string(p);
    EXPECT_TRUE(check_support(*c.member, p, large_gpu())) << to_string(p);
    EXPECT_TRUE(check_support(*find_algorithm("auto")->algorithm, p, large_gpu()));
  }
}

}  // namespace
}  // namespace kselect
