// What a search leaves to copy is copied by the thread that brings queries: an executor has memory
// for one thread that copies beside its work.

#include "search/knn/tiled/query_tiles.hpp"

#include <array>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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
  void bring(const vector_set&) override { copying.insert(std::this_thread::get_id()); }
  std::function<void()> nearest(const vector_set& queries, std::int64_t first, neighbour_lists&,
                                bound_sharing&) override {
    searched.emplace_back(first, queries.count);
    return [this] {
      copying.insert(std::this_thread::get_id());
      ++copied;
    };
  }

  std::vector<std::pair<std::int64_t, std::int64_t>> searched;  // first query, queries
  std::set<std::thread::id> copying;
  int copied = 0;
};

class lists_as_they_are final : public list_exchange {
 public:
  neighbour_lists merged(neighbour_lists mine) override { return mine; }
};

// The parameter: other ranks have several tiles and wait for this one's bounds.
class QueryTiles : public testing::TestWithParam<bool> {};

TEST_P(QueryTiles, AreCopiedByOneThread) {
  const runtime::input_files::folder at;
  const std::vector<float> vectors(2 * 5, 1.0F);
  write_npy(at / "q.npy", element_type::float32, std::array{std::int64_t{5}, std::int64_t{2}},
            std::as_bytes(std::span(vectors)));
  const vector_files queries = vector_files::open({at / "q.npy"});
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto one = alone();
  noting_shard shard;
  lists_as_they_are exchange;
  tiled_times times;
  query_tiles({.place = *place,
               .ranks = *one,
               .queries = queries,
               .shard = shard,
               .exchange = exchange,
               .store = nullptr,
               .shares = GetParam(),
               .stopping = [] { return false; },
               .finished = [](std::int64_t) {}},
              {.first = 0, .end = 5, .tile = 2, .k = 3}, times)
      .run();
  const std::vector<std::pair<std::int64_t, std::int64_t>> all = {{0, 2}, {2, 2}, {4, 1}};
  EXPECT_EQ(shard.searched, all);
  EXPECT_EQ(shard.copied, 3);
  EXPECT_EQ(shard.copying.size(), 1U);
  EXPECT_FALSE(shard.copying.contains(std::this_thread::get_id())) << "it searches";
}

INSTANTIATE_TEST_SUITE_P(SharesBounds, QueryTiles, testing::Bool());

}  // namespace
}  // namespace kselect::search::tiles_of_queries
