// The verdict depends only on the answer, not on the number of threads or on whether rows or
// columns are divided among them. It is also right for rows so long that they are cut into
// segments, blocks and tiles.

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/verify/certificate.hpp"
#include "harness/verify/index_set.hpp"
#include "harness/verify/stream.hpp"
#include "solved.hpp"

namespace kselect::harness {
namespace {

using testing_answers::sample;
using testing_answers::shape;
using testing_answers::solved;

class certificate_shape : public testing::TestWithParam<shape> {};

TEST_P(certificate_shape, verdict_is_the_same_on_any_number_of_threads) {
  for (const payload asked : {payload::values_and_indices, payload::values, payload::kth_value}) {
    sample it = solved(GetParam(), asked);
    SCOPED_TRACE(to_string(it.what));
    for (int threads = 1; threads <= 4; ++threads) EXPECT_TRUE(it.check(threads)) << threads;

    // The worst element of the row replaces one of the k best.
    for (const std::int64_t row : {it.what.q - 1, it.what.q / 2}) {
      it.choose(row, it.what.k - 1, it.ranking(row).back());
    }
    const verdict alone = it.check(1);
    EXPECT_EQ(alone.rows_wrong, it.what.q > 1 ? 2 : 1);
    ASSERT_TRUE(alone.first);
    EXPECT_EQ(alone.first->row, it.what.q / 2);
    EXPECT_EQ(to_string(alone.first->failed),
              asked == payload::kth_value ? to_string(check::kth_rank) : to_string(check::count));
    for (int threads = 2; threads <= 4; ++threads) {
      const verdict shared = it.check(threads);
      EXPECT_EQ(shared.rows_checked, alone.rows_checked);
      EXPECT_EQ(shared.rows_wrong, alone.rows_wrong);
      ASSERT_TRUE(shared.first);
      EXPECT_EQ(shared.first->row, alone.first->row);
      EXPECT_EQ(shared.first->position, alone.first->position);
      EXPECT_EQ(shared.first->detail, alone.first->detail);
    }
  }
}

// A better element anywhere in the row must be found, especially at the boundaries of blocks, tiles
// and segments.
TEST_P(certificate_shape, no_column_is_skipped_or_counted_twice) {
  sample it = solved(GetParam(), payload::values_and_indices);
  const auto row = it.what.q - 1;
  const auto ranking = it.ranking(row);
  std::vector<std::int64_t> columns = {0, 1, it.what.n / 2, it.what.n - 2, it.what.n - 1};
  for (std::int64_t c = 127; c < it.what.n;
       c += std::max<std::int64_t>(128, it.what.n / 64 / 128 * 128)) {
    columns.insert(columns.end(), {c, std::min(c + 1, it.what.n - 1)});
  }
  for (const std::int64_t column : columns) {
    if (std::find(ranking.begin(), ranking.begin() + it.what.k, column) !=
        ranking.begin() + it.what.k) {
      continue;
    }
    const float before = std::exchange(it.element(row, column), -1.0F);
    for (const int threads : {1, 3}) {
      const verdict found = it.check(threads);
      EXPECT_EQ(found.rows_wrong, 1) << to_string(it.what) << " column " << column;
      ASSERT_TRUE(found.first);
      EXPECT_EQ(found.first->failed, check::count);
    }
    it.element(row, column) = before;
  }
  EXPECT_TRUE(it.check(2));
}

INSTANTIATE_TEST_SUITE_P(
    both_layouts, certificate_shape,
    testing::Values(shape{"one_long_row", 100'003, 1, 100, layout::row_major, 0},
                    shape{"three_long_rows", 70'001, 3, 33, layout::row_major, 70'010},
                    shape{"many_short_rows", 129, 300, 5, layout::row_major, 0},
                    shape{"tiny_rows", 7, 500, 3, layout::row_major, 8},
                    shape{"most_chosen", 1000, 4, 900, layout::row_major, 0},
                    shape{"one_long_column", 50'001, 1, 100, layout::column_major, 0},
                    shape{"few_long_columns", 40'000, 5, 64, layout::column_major, 9},
                    shape{"band_and_a_row", 300, 65, 7, layout::column_major, 0},
                    shape{"many_short_columns", 131, 300, 5, layout::column_major, 301}),
    [](const auto& it) { return it.param.name; });

// Pages that are never written share the kernel's zero page: the row needs address space but hardly
// any memory.
TEST(certificate, counts_in_rows_longer_than_32_bits_can_index) {
  problem what;
  what.n = (std::int64_t{1} << 32) + 5;
  what.q = 1;
  what.k = 2;
  what.index = index_type::int64;
  what.direction = direction::largest;
  const std::size_t bytes = what.input_bytes();
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  madvise(mapped, bytes, MADV_HUGEPAGE);  // huge pages, if available, cause fewer page faults
  float* const row = static_cast<float*>(mapped);
  row[3] = 1;
  row[what.n - 1] = 2;
  std::array<float, 2> values = {2, 1};
  std::array<std::int64_t, 2> indices = {what.n - 1, 3};
  EXPECT_TRUE(verify(what, {}, {row, values.data(), indices.data()}, 2));

  // The index truncated to 32 bits: column 4 holds a zero.
  indices[0] = static_cast<std::int64_t>(static_cast<std::uint32_t>(what.n - 1));
  const verdict found = verify(what, {}, {row, values.data(), indices.data()}, 2);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->failed, check::value_bits);
  EXPECT_EQ(munmap(mapped, bytes), 0);
}

TEST(stream, signed_key_orders_as_selection_key_does) {
  std::mt19937_64 random(3);
  const auto agree = [&](auto number) {
    using T = decltype(number);
    using bits = order_key_t<T>;
    using order = verification::signed_order<kselect::word<bits>>;
    for (const direction wanted : {direction::smallest, direction::largest}) {
      for (int trial = 0; trial < 10'000; ++trial) {
        const T value = std::bit_cast<T>(static_cast<bits>(random()));
        const auto key = verification::signed_key(kselect::word<bits>{bits_of(value)},
                                                  order::of(dtype_traits<T>::type, wanted));
        ASSERT_EQ(static_cast<bits>(static_cast<bits>(key) ^ sign_bit<T>),
                  selection_key(value, wanted));
      }
    }
  };
  for (const auto& type : names<dtype>) visit_number(type.value, agree);
}

// Beyond the bitmap's limit the indices are sorted instead. index_set is tested alone, because rows
// of that length are too large for a test.
TEST(index_set, finds_a_repeated_index_in_rows_of_any_length) {
  for (const std::int64_t n : {std::int64_t{10}, std::int64_t{1} << 20, std::int64_t{1} << 33}) {
    verification::index_set set(n, 4);
    using chosen = std::array<std::int64_t, 4>;
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(set.repeated(std::span<const std::int64_t>(chosen{n - 1, 0, 3, 7})), -1);
      EXPECT_EQ(set.repeated(std::span<const std::int64_t>(chosen{n - 1, 0, n - 1, 7})), 2);
      EXPECT_EQ(set.repeated(std::span<const std::int64_t>(chosen{5, 0, 3, 0})), 3);
    }
  }
}

}  // namespace
}  // namespace kselect::harness
