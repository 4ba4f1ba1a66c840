// The levels of a hierarchical partition: each key is the least of its group, also of a partial
// one.

#include "algorithms/queues/hierarchical_partition.cuh"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/simt/host.hpp"

namespace kselect::queues {
namespace {

template <int log_g>
void build(const matrix_view<float>& m, const levels_view<float>& levels) {
  simt::host simt;
  using kernel = build_kernel<float, log_g>;
  for (int base = 0; base + 1 < levels.count; base += levels_at_once<log_g>) {
    const typename kernel::args a{m, levels, base};
    // One extra thread, because launches are rounded up to whole blocks.
    for (std::int64_t t = 0; t <= kernel::threads(a); ++t) kernel::run_thread(simt, a, t);
  }
}

template <int log_g>
void expect_least_of_groups(std::int64_t n, std::int64_t q, std::int64_t k) {
  problem p;
  p.n = n;
  p.q = q;
  p.k = k;
  p.layout = layout::column_major;
  std::mt19937 random(7);
  std::vector<float> rows(static_cast<std::size_t>(n * q));
  for (float& value : rows) value = static_cast<float>(random() % 1000) - 500;
  io buffers;
  buffers.input = rows.data();
  const auto m = matrix_of<float>(p, buffers);
  levels_view<float> levels{};
  std::vector<std::uint32_t> keys(static_cast<std::size_t>(shape_levels(levels, p, log_g)), 1);
  levels.keys = {keys.data(), static_cast<std::int64_t>(keys.size())};
  build<log_g>(m, levels);

  simt::host simt;
  EXPECT_LE(levels.at[levels.count - 1].size, k);
  for (int l = 1; l < levels.count; ++l) {
    EXPECT_GT(levels.at[l - 1].size, k) << "a level too many";
    const position below = levels.at[l - 1].size;
    ASSERT_EQ(levels.at[l].size, (below - 1) / (1U << log_g) + 1);
    for (std::int64_t r = 0; r < q; ++r) {
      for (position i = 0; i < levels.at[l].size; ++i) {
        std::uint32_t least = ~0U;
        for (position c = i << log_g; c < std::min(below, (i + 1) << log_g); ++c) {
          least = std::min(least, key_at(simt, m, levels, l - 1, r, c));
        }
        ASSERT_EQ(key_at(simt, m, levels, l, r, i), least)
            << "n " << n << ", G " << (1 << log_g) << ", level " << l << ", row " << r;
      }
    }
  }
}

TEST(HierarchicalPartition, EveryKeyIsTheLeastOfItsGroup) {
  for (const std::int64_t n : {1, 2, 3, 63, 64, 65, 128, 191, 256, 500, 1000, 4096, 4097}) {
    for (const std::int64_t k : {1, 5, 64}) {
      if (k > n) continue;
      expect_least_of_groups<1>(n, 3, k);
      expect_least_of_groups<2>(n, 3, k);
      expect_least_of_groups<3>(n, 3, k);
    }
  }
}

// The paper has n / (G - 1) keys a row; each level may add one by rounding.
TEST(HierarchicalPartition, TakesAsManyKeysAsThePaperSays) {
  problem p;
  p.n = 1 << 15;
  p.q = 1;
  p.k = 1;
  levels_view<float> levels{};
  EXPECT_EQ(shape_levels(levels, p, 1), (1 << 15) - 1);
  EXPECT_EQ(shape_levels(levels, p, 3), 4096 + 512 + 64 + 8 + 1);
}

}  // namespace
}  // namespace kselect::queues
