// The device's certificate on fibers. It passes the tests of the host's certificate (exhaustive
// small worlds, every kind of error), and agrees with it on rows long enough for many warps.

#include "harness/verify/device/certificate_on_device.hpp"

#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "../mutations.hpp"
#include "../solved.hpp"
#include "../worlds.hpp"
#include "harness/verify/device/certificate_kernels.cuh"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

using namespace testing_answers;
using namespace testing_worlds;

std::unique_ptr<backend> fibers(const simt::fiber_options& options = {}) {
  return open_host_backend(executor_kind::fiber, 2, options);
}

class device_certificate_world : public testing::TestWithParam<world> {
 protected:
  std::unique_ptr<backend> place_ = fibers();
  exhaustion all_{GetParam(), by_kernels(*place_)};
};

TEST_P(device_certificate_world, accepts_exactly_the_right_indices) {
  all_.expect_exactly_the_right_indices();
}

TEST_P(device_certificate_world, rejects_every_value_that_is_not_at_its_index) {
  all_.expect_no_value_but_that_at_its_index();
}

INSTANTIATE_TEST_SUITE_P(
    small, device_certificate_world,
    testing::Values(world{"unsorted_smallest", 3, one_of_each_kind},
                    world{"merged_zeros_largest_by_columns", 3, zeros_and_nan,
                          output_ordering::unsorted, tie_break::unspecified, zero_policy::merged,
                          direction::largest, layout::column_major},
                    world{"sorted_largest", 2, one_of_each_kind, output_ordering::sorted,
                          tie_break::unspecified, zero_policy::distinct, direction::largest},
                    world{"stable_merged_zeros", 3, zeros_and_one, output_ordering::stable_sorted,
                          tie_break::unspecified, zero_policy::merged},
                    world{"strictest_merged_zeros_largest", 3, zeros_and_one,
                          output_ordering::stable_sorted, tie_break::prefer_smaller_index,
                          zero_policy::merged, direction::largest},
                    world{"float16_sorted_largest", 2, one_of_each_kind, output_ordering::sorted,
                          tie_break::unspecified, zero_policy::distinct, direction::largest,
                          layout::row_major, dtype::float16},
                    world{"bfloat16_first_ties_merged_zeros_by_columns", 3, zeros_and_one,
                          output_ordering::stable_sorted, tie_break::prefer_smaller_index,
                          zero_policy::merged, direction::smallest, layout::column_major,
                          dtype::bfloat16},
                    world{"float8_e5m2_sorted_largest", 2, one_of_each_kind,
                          output_ordering::sorted, tie_break::unspecified, zero_policy::distinct,
                          direction::largest, layout::row_major, dtype::float8_e5m2},
                    world{"first_ties", 3, zeros_and_nan, output_ordering::unsorted,
                          tie_break::prefer_smaller_index},
                    world{"four_long_first_ties",
                          4,
                          {minus_zero, 5},
                          output_ordering::unsorted,
                          tie_break::prefer_smaller_index}),
    [](const auto& it) { return it.param.name; });

template <class Types>
class device_certificate_mutations : public testing::Test {
 public:
  using T = typename Types::first_type;
  using Index = typename Types::second_type;
};
TYPED_TEST_SUITE(device_certificate_mutations, type_pairs);

TYPED_TEST(device_certificate_mutations, are_caught_by_the_check_meant_for_them) {
  const auto place = fibers();
  expect_mutations_caught<typename TestFixture::T, typename TestFixture::Index>(by_kernels(*place));
}

// Several warps a row, minimal scratch memory, an address that is aligned only to an element.
TYPED_TEST(device_certificate_mutations, are_caught_however_the_work_is_cut) {
  const auto place = fibers({.order = simt::schedule::random, .seed = 5});
  expect_mutations_caught<typename TestFixture::T, typename TestFixture::Index>(
      by_kernels(*place, {.scratch_bytes = 7 * 256, .stretch = 7}, 3));
}

TEST(device_certificate, every_order_of_lanes) {
  for (const auto order : {simt::schedule::in_order, simt::schedule::reversed}) {
    const auto place = fibers({.order = order});
    auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
    EXPECT_EQ(answer.judged(by_kernels(*place)).rows_wrong, 0);
    answer.choose(target, 5, column_of(target, 0));
    EXPECT_EQ(answer.judged(by_kernels(*place)).failed, check::index_distinct);
  }
}

// Two errors in a row, in the output ranges of different warps.
TEST(device_certificate, names_the_first_check_wherever_the_faults_are) {
  const auto place = fibers();
  for (const std::int64_t first : {0, 7}) {
    auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
    answer.index(target, first) = -1;
    answer.value(target, 7 - first) = 12345;
    EXPECT_EQ(answer.judged(by_kernels(*place, {.stretch = 7})).failed, check::index_range);
  }
}

TEST(device_certificate, names_the_lowest_of_several_wrong_rows) {
  const auto place = fibers();
  auto answer = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
  answer.index(4, 0) = -1;
  answer.choose(1, 2, column_of(1, row_length - 1));
  const judgement found = answer.judged(by_kernels(*place));
  EXPECT_EQ(found.rows_wrong, 2);
  EXPECT_EQ(found.first_row, 1);
  EXPECT_EQ(found.failed, check::count);
}

// Scratch memory is so small that all but the smallest problems need several bands of rows.
class device_certificate_shape : public testing::TestWithParam<shape> {
 protected:
  void expect_agreement(sample& it, const std::string& how) {
    const auto on_host = it.judged(by_the_host);
    const auto here = it.judged(by_kernels(*place_, {.scratch_bytes = 1 << 12, .stretch = 300}, 1));
    EXPECT_EQ(here.rows_checked, on_host.rows_checked) << how;
    EXPECT_EQ(here.rows_wrong, on_host.rows_wrong) << how << ": " << on_host.detail;
    EXPECT_EQ(here.first_row, on_host.first_row) << how;
    EXPECT_EQ(here.failed, on_host.failed) << how << ": " << on_host.detail;
  }

  std::unique_ptr<backend> place_ = fibers();
};

TEST_P(device_certificate_shape, agrees_with_the_host) {
  sample it = solved(GetParam(), payload::values_and_indices);
  const std::int64_t n = it.what.n, q = it.what.q, k = it.what.k;
  expect_agreement(it, "right");
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  for (int i = 0; i < 12; ++i) {
    sample spoilt = it;
    const std::int64_t row = below(q), j = below(k);
    const auto at = static_cast<std::size_t>(row * k + j);
    switch (i % 6) {
      case 0:
        spoilt.choose(row, j, below(n));
        break;
      case 1:
        spoilt.choose(row, j, spoilt.indices[static_cast<std::size_t>(row * k)]);
        break;
      case 2:
        spoilt.indices[at] = i % 4 == 0 ? n : -1;
        break;
      case 3:
        spoilt.values[at] = -spoilt.values[at];
        break;
      case 4:
        spoilt.element(row, below(n)) = -1.0F;  // better than every key
        break;
      default:
        std::swap(spoilt.values[at], spoilt.values[static_cast<std::size_t>(row * k)]);
        std::swap(spoilt.indices[at], spoilt.indices[static_cast<std::size_t>(row * k)]);
    }
    expect_agreement(spoilt, "spoilt, " + std::to_string(i));
  }
}

// A better element in any column of the row must be found.
TEST_P(device_certificate_shape, skips_no_column) {
  sample it = solved(GetParam(), payload::values_and_indices);
  const std::int64_t row = it.what.q - 1;
  const auto ranking = it.ranking(row);
  for (const std::int64_t column : {std::int64_t{0}, it.what.n / 2, it.what.n - 1, it.what.n / 3}) {
    if (std::find(ranking.begin(), ranking.begin() + it.what.k, column) !=
        ranking.begin() + it.what.k) {
      continue;
    }
    const float before = std::exchange(it.element(row, column), -1.0F);
    expect_agreement(it, "better at column " + std::to_string(column));
    it.element(row, column) = before;
  }
}

INSTANTIATE_TEST_SUITE_P(
    both_layouts, device_certificate_shape,
    testing::Values(shape{"one_long_row", 20'003, 1, 100, layout::row_major, 0},
                    shape{"three_long_rows", 7'001, 3, 633, layout::row_major, 7'011},
                    shape{"many_short_rows", 129, 70, 5, layout::row_major, 0},
                    shape{"tiny_rows", 7, 200, 3, layout::row_major, 8},
                    shape{"all_chosen", 1000, 3, 1000, layout::row_major, 0},
                    shape{"one_long_column", 5'001, 1, 100, layout::column_major, 0},
                    shape{"few_long_columns", 4'000, 5, 64, layout::column_major, 9},
                    shape{"many_short_columns", 131, 70, 5, layout::column_major, 71}),
    [](const auto& it) { return it.param.name; });

// A repeated index is found for every pair of outputs; the indices fill whole words of the bitmap.
TEST(device_certificate, no_repeated_index_goes_unseen) {
  constexpr std::int64_t n = 67;
  const auto place = fibers();
  problem what;
  what.n = what.k = n;
  what.q = n * (n - 1) / 2;
  const std::vector<float> input(static_cast<std::size_t>(what.q * n), 1.0F);
  std::vector<float> values = input;
  std::vector<std::int32_t> indices;
  for (std::int32_t from = 0; from < n; ++from) {
    for (std::int32_t to = from + 1; to < n; ++to) {
      const std::size_t row = indices.size();
      for (std::int32_t j = 0; j < n; ++j) indices.push_back(j);
      indices[row + static_cast<std::size_t>(to)] = from;
    }
  }
  const judgement found =
      by_kernels(*place)(what, {}, {input.data(), values.data(), indices.data()});
  EXPECT_EQ(found.rows_wrong, what.q);
  EXPECT_EQ(found.failed, check::index_distinct);
}

// Rows that no kernel looked at count as not proven.
TEST(device_certificate, proves_nothing_that_was_not_looked_at) {
  using kernel = device_proof::verdict_kernel<float, std::int32_t>;
  const auto place = fibers();
  constexpr std::int64_t rows_there = 3;
  std::vector<std::uint32_t> worst(rows_there);
  std::vector<std::int64_t> zeros(rows_there), looked_at = {25, 24, 25};
  std::vector<std::int32_t> failed(rows_there);
  std::int64_t proven = 0, lowest = std::numeric_limits<std::int64_t>::max();
  kernel::args a;
  a.n = 5;
  a.k = 10;
  a.rows = rows_there;
  a.records = {.worst = {worst.data(), rows_there},
               .balance = {zeros.data(), rows_there},
               .ties = {zeros.data(), rows_there},
               .tie_columns = {zeros.data(), rows_there},
               .looked_at = {looked_at.data(), rows_there},
               .failed = {failed.data(), rows_there},
               .chosen = {}};
  a.proven = {&proven, 1};
  a.lowest_wrong = {&lowest, 1};
  ASSERT_TRUE(simt::launch<kernel>(place->executor(), {.blocks = 1, .threads = 32}, a).ok());
  EXPECT_EQ(proven, 2);
  EXPECT_EQ(lowest, device_proof::code_of(1, device_proof::incomplete));
}

TEST(device_certificate, leaves_to_the_host_what_it_cannot_do) {
  const auto place = fibers();
  const auto asked = [&](const problem& what, device_proof_shape shape = {}) {
    const std::byte never_read{};
    const io anything{&never_read, const_cast<std::byte*>(&never_read),
                      const_cast<std::byte*>(&never_read)};
    return verify_on_device(what, {}, anything, *place, shape);
  };
  problem what;
  what.q = 1;
  what.k = 2;
  what.n = (std::int64_t{1} << 32) + 5;
  EXPECT_FALSE(asked(what)) << "no room for a bit an element";
  what.n = 1000;
  EXPECT_FALSE(asked(what, {.scratch_bytes = 6 * 256}));
  what.payload = payload::values;
  EXPECT_FALSE(asked(what));
  what.payload = payload::kth_value;
  EXPECT_FALSE(asked(what));
  what.q = 0;
  EXPECT_TRUE(asked(what).value()) << "nothing to check";
}

TEST(device_certificate, refuses_missing_buffers) {
  const auto place = fibers();
  auto it = right_answer<float, std::int32_t>(direction::smallest, layout::row_major, 0);
  const io all{it.input.data(), it.values.data(), it.indices.data()};
  EXPECT_TRUE(verify_on_device(it.what, {}, all, *place).value());
  EXPECT_THROW(verify_on_device(it.what, {}, {nullptr, all.values, all.indices}, *place), error);
  EXPECT_THROW(verify_on_device(it.what, {}, {all.input, nullptr, all.indices}, *place), error);
  EXPECT_THROW(verify_on_device(it.what, {}, {all.input, all.values, nullptr}, *place), error);
}

}  // namespace
}  // namespace kselect::harness
