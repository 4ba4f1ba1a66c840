// What a search leaves to copy is copied by the thread that brings queries: an executor has memory
// for one thread that copies beside its work.

#include "search/knn/tiled/query_tiles.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search::tiles_of_queries {
namespace {

// A part of the corpus whose searches find nothing, at once, and note who copies.
class noting_shard final : public shard_search {
 public:
  std::int64_t tiles() const override { return 1; }
  std::int64_t tile() const override { return 1; }
  shard_report report() const override { return {}; }
  bool quick() const override { return is_quick; }
  void bring(const vector_set&) override { copying.insert(std::this_thread::get_id()); }
  std::function<void()> nearest(const vector_set& queries, std::int64_t first,
                                neighbour_lists& best, bound_sharing&) override {
    searched.emplace_back(first, queries.count);
    EXPECT_EQ(best.queries(), queries.count);
    std::ranges::fill(best.indices(), first);  // sanitizers see whether there is room
    return [this] {
      copying.insert(std::this_thread::get_id());
      ++copied;
    };
  }

  bool is_quick = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> searched;  // first query, queries
  std::set<std::thread::id> copying;
  int copied = 0;
};

class lists_as_they_are final : public list_exchange {
 public:
  answer merged(neighbour_lists mine, std::int64_t) override { return {std::move(mine)}; }
};

void search(noting_shard& shard, const query_range& range, bool shares,
            const std::function<bool()>& stopping) {
  const runtime::input_files::folder at;
  const std::vector<float> vectors(2 * index(range.end), 1.0F);
  write_npy(at / "q.npy", element_type::float32, std::array{range.end, std::int64_t{2}},
            std::as_bytes(std::span(vectors)));
  const vector_files queries = vector_files::open({at / "q.npy"});
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto one = alone();
  lists_as_they_are exchange;
  tiled_times times;
  query_tiles({.place = *place,
               .ranks = *one,
               .queries = queries,
               .shard = shard,
               .exchange = exchange,
               .store = nullptr,
               .shares = shares,
               .stopping = stopping,
               .finished = [](std::int64_t) {}},
              range, times)
      .run();
}

// Searches five queries in tiles of two.
void search_five(noting_shard& shard, bool shares, const std::function<bool()>& stopping) {
  search(shard, {.first = 0, .end = 5, .tile = 2, .k = 3}, shares, stopping);
}

// The parameter: other ranks have several tiles and wait for this one's bounds.
class QueryTiles : public testing::TestWithParam<bool> {};

TEST_P(QueryTiles, AreCopiedByOneThread) {
  noting_shard shard;
  search_five(shard, GetParam(), [] { return false; });
  const std::vector<std::pair<std::int64_t, std::int64_t>> all = {{0, 2}, {2, 2}, {4, 1}};
  EXPECT_EQ(shard.searched, all);
  EXPECT_EQ(shard.copied, 3);
  EXPECT_EQ(shard.copying.size(), 1U);
  EXPECT_FALSE(shard.copying.contains(std::this_thread::get_id())) << "it searches";
}

// The word to end is asked for before each tile. A quick search does not wait for it: what it found
// is not copied. One that may post errands of its own waits all the same.
TEST_P(QueryTiles, AQuickSearchRunsWhileTheWordComes) {
  for (const bool quick : {false, true}) {
    noting_shard shard;
    shard.is_quick = quick;
    int asked = 0;
    EXPECT_THROW(search_five(shard, GetParam(), [&] { return ++asked == 2; }), error);
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(shard.searched.size(), quick && !GetParam() ? 2U : 1U);
    EXPECT_EQ(shard.copied, 1);
  }
}

TEST_P(QueryTiles, MayBeShortAtTheEnds) {
  noting_shard shard;
  search(shard, {.first = 0, .end = 8400, .tile = 2048, .k = 3, .short_ends = true}, GetParam(),
         [] { return false; });
  const std::vector<std::pair<std::int64_t, std::int64_t>> all = {
      {0, 512}, {512, 2048}, {2560, 2048}, {4608, 2000}, {6608, 1024}, {7632, 512}, {8144, 256}};
  EXPECT_EQ(shard.searched, all);
  EXPECT_EQ(shard.copied, std::ssize(all));
}

INSTANTIATE_TEST_SUITE_P(SharesBounds, QueryTiles, testing::Bool());

}  // namespace
}  // namespace kselect::search::tiles_of_queries
