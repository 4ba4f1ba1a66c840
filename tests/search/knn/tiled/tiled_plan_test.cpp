// Planned tiles are within the memory bound, consist of whole units, and are not larger than the
// input.

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "search/knn/host/block_search.hpp"
#include "search/knn/tiled/plan.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t mib = 1 << 20;

tiled_sizes sizes_of(std::int64_t n, std::int64_t queries, std::int64_t dimension, std::int64_t k) {
  tiled_sizes s;
  s.n = n;
  s.queries = queries;
  s.dimension = dimension;
  s.k = k;
  s.workspace = [](std::int64_t rows, std::int64_t length) { return rows * 8 + length; };
  return s;
}

TEST(TiledPlan, StaysWithinTheBoundAndUsesIt) {
  for (const std::int64_t n : {1'000'000'000L, 100'000L, 3'000L}) {
    for (const std::int64_t queries : {10'000'000L, 5'000L, 1L}) {
      for (const std::int64_t dimension : {2L, 128L, 4096L}) {
        for (const std::int64_t k : {1L, 100L, 1000L}) {
          for (const std::int64_t bytes : {256 * mib, 1024 * mib, 65536 * mib}) {
            const tiled_sizes s = sizes_of(n, queries, dimension, k);
            const tile_plan plan = plan_tiles(s, bytes);
            SCOPED_TRACE(testing::Message()
                         << n << " " << queries << " " << dimension << " " << k << " " << bytes);
            EXPECT_LE(plan.bytes, bytes);
            EXPECT_EQ(plan.bytes, tile_bytes(s, plan.corpus_tile, plan.query_tile));
            EXPECT_TRUE(plan.corpus_tile == n || plan.corpus_tile % corpus_unit == 0);
            EXPECT_TRUE(plan.query_tile == queries || plan.query_tile % query_unit == 0);
            EXPECT_GE(plan.corpus_tile, 1);
            EXPECT_LE(plan.corpus_tile, n);
            EXPECT_LE(plan.query_tile, queries);
            const bool all = plan.corpus_tile == n && plan.query_tile == queries;
            EXPECT_TRUE(all || plan.bytes > bytes / 2) << plan.bytes;
          }
        }
      }
    }
  }
}

TEST(TiledPlan, TooLittleMemoryNamesWhatIsNeeded) {
  const tiled_sizes s = sizes_of(1'000'000, 10'000, 128, 10);
  const std::int64_t least = tile_bytes(s, corpus_unit, query_unit);
  EXPECT_EQ(plan_tiles(s, least).corpus_tile, corpus_unit);
  try {
    plan_tiles(s, least - 1);
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.category(), failure::resources);
    EXPECT_THAT(why.what(), testing::HasSubstr("raise --memory-limit by 1 MiB"));
  }
}

TEST(TiledPlan, AGivenQueryTileIsKept) {
  const tiled_sizes s = sizes_of(1'000'000, 10'000, 128, 10);
  EXPECT_EQ(plan_tiles(s, 512 * mib, 1000).query_tile, 1024);
  EXPECT_EQ(plan_tiles(s, 512 * mib, 1 << 30).query_tile, 10'000);
  EXPECT_THROW(plan_tiles(sizes_of(1'000'000, 100'000'000, 128, 10), 512 * mib, 50'000'000), error);
}

TEST(TiledPlan, QueriesOfATileCanBeBounded) {
  tiled_sizes s = sizes_of(1'000'000, 1'000'000, 128, 10);
  const tile_plan free = plan_tiles(s, 1024 * mib);
  s.most_query_tile = most_queries_on_cpu;
  const tile_plan bound = plan_tiles(s, 1024 * mib);
  EXPECT_GT(free.query_tile, most_queries_on_cpu);
  EXPECT_EQ(bound.query_tile, most_queries_on_cpu);
  EXPECT_GT(bound.corpus_tile, free.corpus_tile) << "the corpus has the rest";
}

TEST(TiledPlan, RanksNeedMoreAndABlockHasAWholeUnit) {
  tiled_sizes s = sizes_of(1'000'000, 10'000, 128, 100);
  const std::int64_t one = tile_bytes(s, 4096, 4096);
  s.ranks = 4;
  EXPECT_GT(tile_bytes(s, 4096, 4096), one);
  for (const std::int64_t tile : {1, 512, 4096, 1 << 20}) {
    EXPECT_GE(host_block_bytes(s, tile), query_unit * block_bytes_per_query(tile, 101, 1));
  }
}

TEST(TiledPlan, RanksShareTheCorpusInWholeUnits) {
  for (const std::int64_t n : {3L * 512, 10'000L, 1'000'000'007L, 4'000'000'000'000'000'000L}) {
    for (const int ranks : {1, 2, 3, 1000}) {
      if (ranks > (n + corpus_unit - 1) / corpus_unit) continue;
      EXPECT_EQ(first_of_rank(n, 0, ranks), 0);
      EXPECT_EQ(first_of_rank(n, ranks, ranks), n);
      std::int64_t least = n, most = 0;
      for (int r = 0; r < ranks; ++r) {
        const std::int64_t first = first_of_rank(n, r, ranks);
        const std::int64_t size = first_of_rank(n, r + 1, ranks) - first;
        EXPECT_EQ(first % corpus_unit, 0);
        EXPECT_GE(size, 1) << n << " " << r << "/" << ranks;
        least = std::min(least, size);
        most = std::max(most, size);
      }
      EXPECT_LE(most - least, 2 * corpus_unit);
    }
  }
}

}  // namespace
}  // namespace kselect::search
