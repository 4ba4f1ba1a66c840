// A query's survivors in the order of their distances, then indices: on fibers, by keys that tests
// make.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/survivor_distances.cuh"
#include "tests/simt/fiber_run.hpp"

namespace kselect::search::fused {
namespace {

constexpr kernels::position most = 512;

struct ordering_kernel {
  static constexpr int max_threads = 256;
  using storage = gathered;
  using list = kernels::shared_list<std::uint64_t, true>;
  struct args {
    global<std::uint64_t> keys;
    global<std::uint32_t> positions;
    std::uint32_t count;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const list own = list::at(simt.dynamic_shared(), most);
    for (auto i = static_cast<std::uint32_t>(simt.thread()); i < a.count;
         i += static_cast<std::uint32_t>(simt.threads())) {
      own.keys[i] = simt.load(a.keys, i);
      own.positions[i] = simt.load(a.positions, i);
    }
    simt.sync_block();
    order_survivors(simt, own, a.count, shared);
    for (auto i = static_cast<std::uint32_t>(simt.thread()); i < a.count;
         i += static_cast<std::uint32_t>(simt.threads())) {
      simt.store(a.keys, i, own.keys[i]);
      simt.store(a.positions, i, own.positions[i]);
    }
  }
};

using survivor = std::tuple<std::uint64_t, std::uint32_t>;  // key, position

void expect_ordered(std::vector<survivor> of, int threads) {
  std::ranges::shuffle(of, std::mt19937(11));
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> positions;
  for (const auto& [key, position] : of) {
    keys.push_back(key);
    positions.push_back(position);
  }
  const auto count = static_cast<std::uint32_t>(of.size());
  const simt::grid shape{1, threads, most * ordering_kernel::list::item_bytes};
  ASSERT_EQ(simt::run_on_fibers<ordering_kernel>(
                shape, {simt::over(keys), simt::over(positions), count}, {})
                .message,
            "");
  std::ranges::sort(of);
  for (std::size_t i = 0; i < of.size(); ++i) {
    ASSERT_EQ(survivor(keys[i], positions[i]), of[i])
        << "place " << i << " of " << count << ", " << threads << " threads";
  }
}

// Upper halves of keys are compared first. They differ here; or are equal while the lower halves
// differ; or whole keys are equal, and positions decide.
TEST(order_survivors, goes_by_whole_keys_then_positions) {
  constexpr std::uint64_t half = std::uint64_t{1} << 32;
  for (const int threads : {64, 128, 256}) {
    for (const std::uint32_t count : {1U, 2U, 3U, 61U, 64U, 127U, 253U, 300U}) {
      for (const std::uint64_t step : {half, half / 7, std::uint64_t{1}, std::uint64_t{0}}) {
        std::vector<survivor> all;
        for (std::uint32_t i = 0; i < count; ++i) all.emplace_back(5 * half + i * step, 900 - i);
        expect_ordered(all, threads);
      }
    }
  }
}

TEST(order_survivors, puts_nan_last) {
  const auto nan = std::bit_cast<std::uint64_t>(last_of_all());
  expect_ordered({{nan, 4}, {nan, 2}, {0, 9}, {~std::uint64_t{0} >> 1, 1}, {nan - 1, 7}}, 64);
}

}  // namespace
}  // namespace kselect::search::fused
