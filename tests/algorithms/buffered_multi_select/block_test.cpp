// Buffered multi-select, one block a row, on fibers with thread counts that plans for the test GPU
// do not have.

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/buffered_multi_select/block/kernel.cuh"
#include "algorithms/buffered_multi_select/shape.hpp"
#include "tests/simt/fiber_run.hpp"

namespace kselect::bms::block_rows {
namespace {

constexpr int loads = most_loads<float>;
using simt::over;

// Selects from one row by one block and expects the k smallest. Returns what was counted.
template <form how>
simt::counters select(const std::vector<float>& row, position k, int threads) {
  const auto n = static_cast<std::int64_t>(row.size());
  std::vector<float> values(k);
  row_args<float> args{};
  args.matrix = {{row.data(), n}, 1, n, static_cast<position>(n), k, direction::smallest};
  args.out.values = over(values);
  const reading read{threads, loads, how == form::filtered_many ? many_groups : 0};
  if (how == form::resident) {
    const auto planned = resident_plan<float, false>(n, k, read, 96 << 10);
    EXPECT_TRUE(planned.has_value());
    if (planned) args.shape = *planned;
  } else {
    const auto planned = filtering_plan<float, false>(n, k, read, 96 << 10);
    EXPECT_TRUE(planned.has_value());
    if (planned) args.shape = *planned;
  }
  simt::counters counted;
  if (args.shape.tiles == 0) return counted;
  const simt::fiber_options options{.counters = &counted};
  const simt::grid grid{
      .blocks = 1,
      .threads = threads,
      .dynamic_shared_bytes = team_memory<float, false>::bytes(args.shape, threads)};
  using kernel = block_kernel<float, false, loads, how>;
  EXPECT_EQ(simt::run_on_fibers<kernel>(grid, args, options).message, "");
  std::vector<float> sorted = row;
  std::sort(sorted.begin(), sorted.end());
  sorted.resize(k);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, sorted) << "n " << n << ", k " << k << ", " << threads << " threads";
  return counted;
}

std::vector<float> made(std::int64_t n, const std::function<float(std::int64_t)>& f) {
  std::vector<float> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = f(i);
  return row;
}

std::vector<float> uniform(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  return made(n, [&](std::int64_t) { return number(random); });
}

// Rows of one tile, of several, and of a tile and a little more.
TEST(BufferedMultiSelectBlock, RandomRowsAreReadOnce) {
  for (const int threads : {96, 128, 160}) {
    for (const std::int64_t n : {std::int64_t{3000}, threads * 32L, threads * 32L + 7, 20'003L}) {
      for (const position k : {1U, 10U, 64U}) {
        const auto counted = select<form::filtered>(uniform(n, k), k, threads);
        EXPECT_EQ(counted[simt::counter::passes], 1);
        EXPECT_LT(counted[simt::counter::candidates], n / 4);
      }
    }
  }
}

TEST(BufferedMultiSelectBlock, ManySurvivorsEnterFromRegisters) {
  for (const std::int64_t n : {4096, 16'384, 20'003}) {
    for (const position k : {256U, 500U}) select<form::filtered_many>(uniform(n, k), k, 128);
  }
}

TEST(BufferedMultiSelectBlock, SortedRowsAndTiesAreCut) {
  for (const position k : {10U, 100U}) {
    for (const int sign : {1, -1}) {
      const auto sorted =
          made(30'000, [&](std::int64_t i) { return static_cast<float>(sign * i); });
      select<form::filtered>(sorted, k, 128);
      select<form::filtered_many>(sorted, k, 128);
    }
    const auto equal = made(20'000, [](std::int64_t) { return 0.5F; });
    EXPECT_EQ(select<form::filtered>(equal, k, 128)[simt::counter::buffer_flushes], 1);
    const auto few = made(20'000, [](std::int64_t i) { return static_cast<float>(i * 7 % 5); });
    select<form::filtered_many>(few, k, 128);
  }
}

TEST(BufferedMultiSelectBlock, WholeRowsStayInRegisters) {
  for (const position k : {500U, 2000U, 3990U}) {
    select<form::resident>(uniform(3999, k), k, 128);
    select<form::resident>(made(3999, [](std::int64_t i) { return static_cast<float>(i % 3); }), k,
                           128);
  }
}

}  // namespace
}  // namespace kselect::bms::block_rows
