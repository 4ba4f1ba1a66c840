// select(): right answers, and an error status for every wrong call.

#include "kselect/select.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <gmock/gmock.h>
#include <numeric>
#include <sched.h>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect {
namespace {
using namespace runtime;

using testing::HasSubstr;

// Rows of distinct numbers in a known order: element c of row r is (c * 7919 + r) mod n.
std::vector<float> shuffled_rows(std::int64_t q, std::int64_t n, std::int64_t pitch) {
  std::vector<float> rows(static_cast<std::size_t>(q * pitch), -1.0F);
  for (std::int64_t r = 0; r < q; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      rows[static_cast<std::size_t>(r * pitch + c)] = static_cast<float>((c * 7919 + r) % n);
    }
  }
  return rows;
}

struct scratch {
  explicit scratch(std::size_t bytes) : memory(bytes + 256) {
    void* first = memory.data();
    std::size_t room = memory.size();
    start = {static_cast<std::byte*>(std::align(256, bytes, first, room)), bytes};
  }
  std::vector<std::byte> memory;
  std::span<std::byte> start;
};

TEST(select, finds_the_smallest_and_the_largest_on_the_cpu) {
  constexpr std::int64_t q = 3, n = 1000, pitch = 1010, k = 4;
  const auto data = shuffled_rows(q, n, pitch);
  const row_matrix<float> rows{.data = data.data(), .q = q, .n = n, .pitch = pitch};
  for (const direction wanted : {direction::smallest, direction::largest}) {
    for (const int threads : {1, 2}) {
      const auto here = place::cpu(threads);
      const select_options options{.direction = wanted};
      std::vector<float> values(q * k);
      std::vector<std::int64_t> indices(q * k);
      const scratch memory(select_workspace<float, std::int64_t>(rows, k, here, options));
      const status done =
          select<float, std::int64_t>(rows, k, values, indices, memory.start, here, options);
      ASSERT_TRUE(done.ok()) << done.message;
      for (std::int64_t r = 0; r < q; ++r) {
        std::vector<float> found(values.begin() + r * k, values.begin() + (r + 1) * k);
        for (std::int64_t j = 0; j < k; ++j) {
          const auto at = static_cast<std::size_t>(r * pitch + indices[r * k + j]);
          EXPECT_EQ(data[at], values[static_cast<std::size_t>(r * k + j)]);
        }
        std::ranges::sort(found);
        const float first = wanted == direction::smallest ? 0 : n - k;
        EXPECT_THAT(found, testing::ElementsAre(first, first + 1, first + 2, first + 3));
      }
    }
  }
}

// Another type of the same layout, like CUDA's __half.
struct half_of_another_library {
  std::uint16_t storage;
};

}  // namespace

template <>
inline constexpr std::optional<dtype> dtype_of<half_of_another_library> = dtype::float16;

namespace {

template <class T>
void expect_smallest_of_16_bits() {
  constexpr std::int64_t q = 3, n = 200, k = 4;  // both types represent integers below 200 exactly
  std::vector<T> data;
  for (const float x : shuffled_rows(q, n, n)) {
    const bool is_bfloat16 = dtype_of<T> == dtype::bfloat16;
    data.push_back(
        std::bit_cast<T>(is_bfloat16 ? from_float<bfloat16>(x).bits : from_float<float16>(x).bits));
  }
  const row_matrix<T> rows{.data = data.data(), .q = q, .n = n};
  const auto here = place::cpu(1);
  std::vector<T> values(q * k);
  std::vector<std::int32_t> indices(q * k);
  const scratch memory(select_workspace<T, std::int32_t>(rows, k, here));
  const status done = select<T, std::int32_t>(rows, k, values, indices, memory.start, here);
  ASSERT_TRUE(done.ok()) << done.message;
  for (std::int64_t r = 0; r < q; ++r) {
    std::vector<std::int64_t> found;
    for (std::int64_t j = r * k; j < (r + 1) * k; ++j) {
      const auto at = static_cast<std::size_t>(j);
      found.push_back((std::int64_t{indices[at]} * 7919 + r) % n);
      EXPECT_EQ(std::bit_cast<std::uint16_t>(values[at]),
                std::bit_cast<std::uint16_t>(data[static_cast<std::size_t>(r * n + indices[at])]));
    }
    EXPECT_THAT(found, testing::UnorderedElementsAre(0, 1, 2, 3));
  }
}

TEST(select, finds_the_smallest_of_16_bit_numbers) {
  expect_smallest_of_16_bits<float16>();
  expect_smallest_of_16_bits<bfloat16>();
  expect_smallest_of_16_bits<half_of_another_library>();
}

TEST(select, gives_values_alone_without_indices) {
  const auto data = shuffled_rows(1, 100, 100);
  const row_matrix<float> rows{.data = data.data(), .q = 1, .n = 100};
  const auto here = place::cpu(1);
  std::vector<float> values(3);
  const scratch memory(select_workspace<float, std::int32_t>(rows, 3, here));
  const status done = select<float, std::int32_t>(rows, 3, values, {}, memory.start, here);
  ASSERT_TRUE(done.ok()) << done.message;
  EXPECT_THAT(values, testing::UnorderedElementsAre(0, 1, 2));
}

// Rows full of ties; a sort finds the only right answer.
TEST(select, gives_the_one_answer_that_is_required) {
  constexpr std::int64_t q = 4, n = 500, k = 90;
  auto data = shuffled_rows(q, n, n);
  for (float& x : data) x = static_cast<float>(static_cast<int>(x) % 12);
  const row_matrix<float> rows{.data = data.data(), .q = q, .n = n};
  const std::array<requirements, 3> all_wanted = {
      requirements{.ordering = output_ordering::stable_sorted},
      requirements{.tie_break = tie_break::prefer_smaller_index},
      requirements{.determinism = determinism::gpu_to_gpu}};
  for (const requirements& wanted : all_wanted) {
    const auto here = place::cpu(2);
    const select_options options{.require = wanted};
    std::vector<float> values(q * k);
    std::vector<std::int32_t> indices(q * k);
    const scratch memory(select_workspace<float, std::int32_t>(rows, k, here, options));
    const status done =
        select<float, std::int32_t>(rows, k, values, indices, memory.start, here, options);
    ASSERT_TRUE(done.ok()) << done.message;
    for (std::int64_t r = 0; r < q; ++r) {
      std::vector<std::int32_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      const float* const row = data.data() + r * n;
      std::ranges::stable_sort(order, {}, [&](std::int32_t c) { return row[c]; });
      for (std::int64_t j = 0; j < k; ++j) {
        EXPECT_EQ(indices[static_cast<std::size_t>(r * k + j)], order[static_cast<std::size_t>(j)]);
        EXPECT_EQ(values[static_cast<std::size_t>(r * k + j)],
                  row[order[static_cast<std::size_t>(j)]]);
      }
    }
  }
}

TEST(select, refuses_a_named_algorithm_that_does_not_promise_what_is_required) {
  const auto data = shuffled_rows(1, 64, 64);
  const row_matrix<float> rows{.data = data.data(), .q = 1, .n = 64};
  select_options options{.require = {.ordering = output_ordering::sorted},
                         .algorithm = find_algorithm("cpu/nth_element")->algorithm};
  std::vector<float> values(4);
  std::vector<std::int32_t> indices(4);
  const scratch memory(std::size_t{1} << 16);
  const auto run = [&] {
    return select<float, std::int32_t>(rows, 4, values, indices, memory.start, place::cpu(1),
                                       options);
  };
  const status refused = run();
  EXPECT_EQ(refused.code, status_code::unsupported);
  EXPECT_THAT(refused.message, HasSubstr("no more than unsorted"));
  EXPECT_EQ((select_workspace<float, std::int32_t>(rows, 4, place::cpu(1), options)), 0U);
  options.algorithm = find_algorithm("cpu/partial_sort")->algorithm;
  EXPECT_TRUE(run().ok());
  EXPECT_THAT(values, testing::ElementsAre(0, 1, 2, 3));
}

// Calls with one error each, and the words that the message must contain.
TEST(select, says_what_is_wrong_with_a_call) {
  const auto data = shuffled_rows(2, 50, 50);
  const row_matrix<float> rows{.data = data.data(), .q = 2, .n = 50};
  const auto here = place::cpu(1);
  std::vector<float> values(20);
  std::vector<std::int32_t> indices(20);
  const scratch memory(std::size_t{1} << 20);
  const auto message = [&](const row_matrix<float>& m, std::int64_t k, std::size_t v, std::size_t i,
                           std::span<std::byte> workspace) {
    const status done = select<float, std::int32_t>(m, k, std::span(values).first(v),
                                                    std::span(indices).first(i), workspace, here);
    EXPECT_EQ(done.code, status_code::invalid);
    return done.message;
  };
  EXPECT_THAT(message(rows, -1, 20, 20, memory.start), HasSubstr("k = -1"));
  EXPECT_THAT(message(rows, 51, 20, 20, memory.start), HasSubstr("0 to n = 50"));
  EXPECT_THAT(message(rows, 10, 19, 20, memory.start), HasSubstr("values has 19"));
  EXPECT_THAT(message(rows, 10, 20, 19, memory.start), HasSubstr("indices has 19"));
  auto wrong = rows;
  wrong.data = nullptr;
  EXPECT_THAT(message(wrong, 10, 20, 20, memory.start), HasSubstr("null"));
  wrong = rows;
  wrong.pitch = 49;
  EXPECT_THAT(message(wrong, 10, 20, 20, memory.start), HasSubstr("pitch = 49"));
  wrong = rows;
  wrong.q = 0;
  EXPECT_THAT(message(wrong, 10, 20, 20, memory.start), HasSubstr("empty"));
  const std::size_t needed = select_workspace<float, std::int32_t>(rows, 10, here);
  if (needed == 0) GTEST_SKIP() << "auto needs no workspace here";
  // `needed` has room to align the start, which is aligned here.
  EXPECT_THAT(message(rows, 10, 20, 20, memory.start.first(needed - 256)),
              HasSubstr("select_workspace"));
}

// The 3 smallest of 0..n-1 in a known order, written by `call`, which returns its status.
template <class Index, class Call>
void expect_three_smallest(const std::vector<float>& data, const Call& call) {
  std::vector<float> values(3);
  std::vector<Index> indices(3);
  const status done = call(values, indices);
  ASSERT_TRUE(done.ok()) << done.message;
  EXPECT_THAT(values, testing::UnorderedElementsAre(0, 1, 2));
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(data[static_cast<std::size_t>(indices[j])], values[j]);
  }
}

TEST(select, aligns_the_workspace_itself) {
  const auto data = shuffled_rows(1, 5000, 5000);
  const row_matrix<float> rows{.data = data.data(), .q = 1, .n = 5000};
  const auto here = place::cpu(1);
  const std::size_t bytes = select_workspace<float, std::int32_t>(rows, 3, here);
  ASSERT_GT(bytes, 0U);
  const scratch memory(bytes + 256);
  for (const std::size_t shift : {0, 1, 8, 255}) {
    std::fill_n(memory.start.data(), memory.start.size(), std::byte{0x5a});
    const auto given = std::span(memory.start.data() + shift, bytes);
    expect_three_smallest<std::int32_t>(data, [&](auto& values, auto& indices) {
      return select(rows, 3, values, indices, given, here);
    });
    // What lies beside the workspace stays as it was.
    for (std::size_t i = 0; i < memory.start.size(); ++i) {
      const bool beside = i < shift || i >= shift + bytes;
      ASSERT_TRUE(!beside || memory.start[i] == std::byte{0x5a}) << i;
    }
  }
}

TEST(select, takes_vectors_arrays_and_spans_and_allocates_on_the_cpu) {
  const auto data = shuffled_rows(1, 5000, 5000);
  const row_matrix<float> rows{.data = data.data(), .q = 1, .n = 5000};
  expect_three_smallest<std::int32_t>(
      data, [&](auto& values, auto& indices) { return select(rows, 3, values, indices); });
  expect_three_smallest<std::int64_t>(data, [&](auto& values, auto& indices) {
    return select(rows, 3, values, indices, place::cpu(2));
  });
  expect_three_smallest<std::int64_t>(data, [&](auto& values, auto& indices) {
    return select(rows, 3, std::span(values), std::span(indices), place::cpu(1), {});
  });
  std::array<float, 2> values{};
  std::array<std::int64_t, 2> indices{};
  ASSERT_TRUE(select(rows, 2, values, indices, place::cpu(),
                     {.require = {.ordering = output_ordering::sorted}})
                  .ok());
  EXPECT_THAT(values, testing::ElementsAre(0, 1));
  EXPECT_EQ(data[static_cast<std::size_t>(indices[0])], 0);
  // Empty indices: values alone.
  ASSERT_TRUE(select(rows, 2, values, std::span<std::int32_t>{}, place::cpu()).ok());
  EXPECT_THAT(values, testing::UnorderedElementsAre(0, 1));
}

status never_started(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {status_code::failed, "called without memory"};
}

TEST(select, says_what_is_wrong_with_a_call_that_allocates) {
  const auto data = shuffled_rows(1, 50, 50);
  const row_matrix<float> rows{.data = data.data(), .q = 1, .n = 50};
  std::vector<float> values(3);
  std::vector<std::int32_t> indices(2);
  EXPECT_THAT(select(rows, 3, values, indices).message, HasSubstr("indices has 2"));
  EXPECT_EQ(select(rows, 51, values, indices).code, status_code::invalid);
  const status on_gpu = select(rows, 2, values, indices, place::cuda());
  EXPECT_EQ(on_gpu.code, status_code::invalid);
  EXPECT_THAT(on_gpu.message, HasSubstr("pass a workspace"));
  // More bytes than there are addresses.
  algorithm greedy = *find_algorithm("cpu/nth_element")->algorithm;
  greedy.plan = [](const problem& p, const device&) {
    return call_plan::of<&never_started>(p, std::size_t{1} << 62);
  };
  EXPECT_EQ(select(rows, 2, values, indices, place::cpu(), {.algorithm = &greedy}).code,
            status_code::out_of_memory);
}

TEST(select, reports_what_an_algorithm_does_not_take) {
  const auto data = shuffled_rows(1, 64, 64);
  const row_matrix<float> rows{.data = data.data(), .q = 1, .n = 64};
  const select_options options{.algorithm = find_algorithm("qms-block")->algorithm};
  std::vector<float> values(4);
  std::vector<std::int32_t> indices(4);
  const status done =
      select<float, std::int32_t>(rows, 4, values, indices, {}, place::cpu(1), options);
  EXPECT_EQ(done.code, status_code::unsupported);
  EXPECT_THAT(done.message, HasSubstr("qms-block: executor cpu is not supported"));
}

TEST(select, finds_the_smallest_on_the_gpu_or_says_why_not) {
  const auto gpu = place::cuda();
  constexpr std::int64_t q = 5, n = 20'000, k = 16;
  const auto data = shuffled_rows(q, n, n);
  std::vector<float> values(q * k);
  std::vector<std::int32_t> indices(q * k);
  if (!gpu.obstacle().empty()) {
    const row_matrix<float> rows{.data = data.data(), .q = q, .n = n};
    const status done = select<float, std::int32_t>(rows, k, values, indices, {}, gpu);
    EXPECT_EQ(done.code, status_code::unsupported);
    EXPECT_EQ(done.message, gpu.obstacle());
    GTEST_SKIP() << gpu.obstacle();
  }
  const auto there = open_backend(executor_kind::cuda);
  const device_buffer input(*there, data.size() * sizeof(float));
  const device_buffer values_there(*there, values.size() * sizeof(float));
  const device_buffer indices_there(*there, indices.size() * sizeof(std::int32_t));
  there->to_device(input.data(), std::as_bytes(std::span(data)));
  const row_matrix<float> rows{
      .data = reinterpret_cast<const float*>(input.data()), .q = q, .n = n};
  const device_buffer memory(*there, select_workspace<float, std::int32_t>(rows, k, gpu) + 1);
  const status done = select<float, std::int32_t>(
      rows, k, {reinterpret_cast<float*>(values_there.data()), values.size()},
      {reinterpret_cast<std::int32_t*>(indices_there.data()), indices.size()},
      {memory.data(), memory.size() - 1}, place::cuda(there->executor().stream));
  ASSERT_TRUE(done.ok()) << done.message;
  there->to_host(std::as_writable_bytes(std::span(values)), values_there.data());
  there->to_host(std::as_writable_bytes(std::span(indices)), indices_there.data());
  for (std::int64_t r = 0; r < q; ++r) {
    std::vector<float> found(values.begin() + r * k, values.begin() + (r + 1) * k);
    std::ranges::sort(found);
    for (std::int64_t j = 0; j < k; ++j) {
      EXPECT_EQ(found[static_cast<std::size_t>(j)], static_cast<float>(j));
      const auto at = static_cast<std::size_t>(r * n + indices[r * k + j]);
      EXPECT_EQ(data[at], values[static_cast<std::size_t>(r * k + j)]);
    }
  }
}

// Asking the system each time took longer than a small selection.
TEST(Place, CountsTheProcessorsOnce) {
  const device* const first = &place::cpu().device();
  cpu_set_t allowed{};
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one processor";
  cpu_set_t one{};
  for (int i = 0; CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const device* const second = &place::cpu(0).device();
  ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->threads, CPU_COUNT(&allowed));
  EXPECT_EQ(&place::cpu(first->threads).device(), first);
  EXPECT_EQ(place::cpu(first->threads + 1).device().threads, first->threads + 1);
}

}  // namespace
}  // namespace kselect
