// Buffered multi-select, a row a block or a warp, whose kernel puts the answer in order: rows made
// for each way of dealing an answer into bins, and the limits of such plans. The certificate proves
// order and ties.

#include "algorithms/buffered_multi_select/in_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/algorithms/buffered_multi_select/made_rows.hpp"
#include "tests/problems.hpp"

namespace kselect::in_order_rows {
namespace {

using made_rows::made;
using made_rows::select;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Rows of n elements whose best ones have bins of different kinds.
std::map<std::string, std::vector<float>> rows_of(std::int64_t n) {
  const auto scattered = [n](std::int64_t i) { return i * 7919 % n; };
  const auto number = [](std::int64_t i) { return static_cast<float>(i); };
  std::map<std::string, std::vector<float>> rows;
  rows["uniform"] = made_rows::uniform(n);
  rows["equal"] = made(n, [](std::int64_t) { return 0.25F; });
  rows["ascending"] = made(n, [&](std::int64_t i) { return number(i); });
  rows["descending"] = made(n, [&](std::int64_t i) { return number(-i); });
  rows["two values"] = made(n, [&](std::int64_t i) { return scattered(i) < 30 ? -1.0F : 2.0F; });
  rows["few values"] = made(n, [&](std::int64_t i) { return number(i * 7 % 5); });
  rows["ties at the end"] =
      made(n, [&](std::int64_t i) { return number(std::min<std::int64_t>(scattered(i), 40)); });
  rows["ties before the end"] =
      made(n, [&](std::int64_t i) { return scattered(i) < 150 ? 1.0F : number(scattered(i)); });
  rows["powers"] = made(
      n, [&](std::int64_t i) { return std::ldexp(1.0F, static_cast<int>(i * 37 % 250) - 126); });
  rows["zeros of both signs"] = made(n, [](std::int64_t i) { return i % 3 == 0 ? -0.0F : 0.0F; });
  rows["denormal"] =
      made(n, [&](std::int64_t i) { return std::bit_cast<float>(std::uint32_t(scattered(i))); });
  rows["infinities"] =
      made(n, [&](std::int64_t i) { return scattered(i) < 20 ? -infinity : number(scattered(i)); });
  rows["beyond infinity"] = made(n, [&](std::int64_t i) {
    return scattered(i) < n - 10 ? infinity : std::bit_cast<float>(0x7fc00000U + std::uint32_t(i));
  });
  rows["NaN below all"] = made(n, [&](std::int64_t i) {
    return scattered(i) < 10 ? std::bit_cast<float>(0xffc00000U + std::uint32_t(i)) : number(i);
  });
  rows["largest range"] = made(n, [&](std::int64_t i) {
    const float most = std::numeric_limits<float>::max();
    return scattered(i) < 5 ? -most : most * number(scattered(i)) / number(n);
  });
  return rows;
}

void prove(const std::string& name, std::int64_t n, std::int64_t k) {
  for (const auto& [what, row] : rows_of(n)) {
    for (const direction wanted : {direction::smallest, direction::largest}) {
      SCOPED_TRACE(what + ", n " + std::to_string(n) + ", k " + std::to_string(k));
      select(name, row, k, wanted);
    }
  }
}

TEST(BufferedMultiSelectInOrder, OfOneBlock) {
  for (const std::int64_t k : {1, 31, 64}) prove("bms-block+sorted", 3001, k);
  for (const std::int64_t k : {65, 200, 256}) prove("bms-block+sorted", 8000, k);
  prove("bms-block+sorted", 40'000, 129);
}

TEST(BufferedMultiSelectInOrder, OfOneWarp) {
  for (const std::int64_t k : {1, 8, 32, 33, 64}) prove("bms-warp+sorted", 1000, k);
}

// All bits of 16 occur: NaNs, infinities and denormal numbers of both signs.
TEST(BufferedMultiSelectInOrder, Of16Bits) {
  for (const std::int64_t n : {1000, 12'000}) {
    std::vector<float16> some(static_cast<std::size_t>(n));
    std::vector<bfloat16> others(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i].bits = others[i].bits = static_cast<std::uint16_t>(i * 40'503);
    }
    for (const std::int64_t k : {20, 64, 250}) {
      for (const direction wanted : {direction::smallest, direction::largest}) {
        for (const char* name : {"bms-warp+sorted", "bms-block+sorted"}) {
          select(name, some, k, wanted);
          select(name, others, k, wanted);
        }
      }
    }
  }
}

// The last block of warps has one row.
TEST(BufferedMultiSelectInOrder, OfSeveralRows) {
  problem p = shaped(900, 3, 25);
  p.index = index_type::int64;
  std::vector<float> rows(static_cast<std::size_t>(p.input_elements()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i * 7919 % 1009);
  const auto place = runtime::open_host_backend(executor_kind::fiber, 1);
  const harness::input_rows input(*place, std::as_bytes(std::span(rows)));
  for (const char* name : {"bms-warp+sorted", "bms-block+sorted"}) {
    harness::trial attempt(*find_algorithm(name)->algorithm, p, input, *place);
    attempt.prepare();
    EXPECT_TRUE(attempt.run().ok()) << name;
    EXPECT_EQ(attempt.disprove(), "") << name;
  }
}

TEST(BufferedMultiSelectInOrder, PlansHaveLimits) {
  const device where = runtime::open_host_backend(executor_kind::fiber, 1)->description();
  const auto accepts = [&](const char* name, problem p) {
    return bool(bms::plan_of_block_in_order(*find_algorithm(name)->algorithm, p, where));
  };
  EXPECT_TRUE(accepts("bms-block", shaped(8192, 4, 256)));
  EXPECT_FALSE(accepts("bms-block", shaped(8192, 4, 257)));
  EXPECT_TRUE(accepts("bms-warp", shaped(1024, 4, 32)));
  EXPECT_FALSE(accepts("bms-warp", shaped(1024, 4, 65)));
  EXPECT_FALSE(accepts("bms-block", shaped(1000, 4, 200))) << "the row stays in registers";
  EXPECT_FALSE(accepts("bms-grid", shaped(8192, 4, 64)));
  problem values = shaped(8192, 4, 64);
  values.payload = payload::values;
  EXPECT_FALSE(accepts("bms-block", values));
  problem doubles = shaped(8192, 4, 64);
  doubles.type = dtype::float64;
  EXPECT_FALSE(accepts("bms-block", doubles));
}

}  // namespace
}  // namespace kselect::in_order_rows
