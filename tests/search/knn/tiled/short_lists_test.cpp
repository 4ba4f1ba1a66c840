// Ranks whose lists are shorter than k: queries that lack neighbours are searched again, and the
// rows are those of whole lists, in order.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/io/npy.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/query_tiles.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search::short_lists {
namespace {

constexpr std::int64_t k = 8, list_length = 6, tile = 8, all_tiles = 6;
constexpr int ranks = 2;
constexpr float crowd = 10'000;  // near it are vectors of the first rank alone

// Vectors of one component. Elsewhere each rank has every other vector.
std::vector<float> part_of(int rank) {
  std::vector<float> made;
  for (int i = 0; i < 200; ++i) made.push_back(static_cast<float>(2 * i + rank));
  for (int i = 0; i < 20; ++i) made.push_back(rank == 0 ? crowd + static_cast<float>(i) : -crowd);
  return made;
}

void write_nearest(const std::vector<float>& vectors, std::int64_t offset, const vector_set& of,
                   neighbour_lists& best) {
  best.clear();
  for (std::int64_t q = 0; q < of.count; ++q) {
    std::vector<neighbour> all;
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      all.push_back(
          {std::fabs(vectors[i] - of.data[index(q)]), offset + static_cast<std::int64_t>(i)});
    }
    std::ranges::sort(all, std::less<>{});
    for (std::int64_t j = 0; j < best.k(); ++j) {
      best.distances()[index(q * best.k() + j)] = all[index(j)].distance;
      best.ranked()[index(q * best.k() + j)] = all[index(j)].distance;
      best.indices()[index(q * best.k() + j)] = all[index(j)].index;
    }
  }
}

class part_in_memory final : public shard_search {
 public:
  explicit part_in_memory(int rank)
      : vectors_(part_of(rank)), offset_(rank * std::ssize(vectors_)) {}

  std::int64_t tiles() const override { return 1; }
  std::int64_t tile() const override { return std::ssize(vectors_); }
  shard_report report() const override { return {}; }
  bool quick() const override { return true; }
  bool shortens_lists() const override { return true; }
  std::function<void()> nearest(const vector_set& queries, std::int64_t, neighbour_lists& best,
                                bound_sharing&) override {
    lengths.push_back(best.k());
    const int mine = ++begun_;
    return [this, mine, queries, &best] {
      if (awaits && mine == all_tiles - 1) await_last_search();
      write_nearest(vectors_, offset_, queries, best);
    };
  }
  void nearest_again(const vector_set& queries, std::int64_t first,
                     neighbour_lists& best) override {
    again.emplace_back(first, queries.count);
    EXPECT_EQ(best.k(), k);
    write_nearest(vectors_, offset_, queries, best);
  }

  bool awaits = false;  // the lists of the last tile but one are late
  bool beside = false;  // the last tile was searched while the lists of the one before it went
  std::vector<std::int64_t> lengths;                              // of the lists, tile by tile
  std::vector<std::pair<std::int64_t, std::int64_t>> again = {};  // first query, queries

 private:
  void await_last_search() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (begun_ < all_tiles && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    beside = begun_ == all_tiles;
  }

  std::vector<float> vectors_;
  std::int64_t offset_;
  std::atomic<int> begun_ = 0;  // searches
};

struct outcome {
  std::vector<std::int64_t> lengths;
  std::vector<std::pair<std::int64_t, std::int64_t>> again;
  std::vector<std::int64_t> indices;
  bool beside = false;
};

std::vector<float> queries_of(const std::set<std::int64_t>& crowded) {
  std::vector<float> made;
  for (std::int64_t q = 0; q < tile * all_tiles; ++q) {
    made.push_back(crowded.contains(q) ? crowd + 5.25F : static_cast<float>(7 * q) + 20.25F);
  }
  return made;
}

outcome search_of_rank(communicator& all, const vector_files& queries, bool awaits,
                       result_store* store) {
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto exchange = open_list_exchange(false, all, *place);
  part_in_memory shard(all.rank());
  shard.awaits = awaits;
  tiled_times times;
  query_tiles(
      {.place = *place,
       .ranks = all,
       .queries = queries,
       .shard = shard,
       .exchange = *exchange,
       .store = store,
       .shares = false,
       .stopping = [] { return false; },
       .finished = [](std::int64_t) {}},
      {.first = 0, .end = queries.count(), .tile = tile, .k = k, .list_length = list_length}, times)
      .run();
  return {shard.lengths, shard.again, {}, shard.beside};
}

// Each of both ranks searches all queries. Those in `crowded` are near the crowd.
outcome search(const std::set<std::int64_t>& crowded, bool awaits = false) {
  const input_files::folder at;
  const std::vector<float> vectors = queries_of(crowded);
  write_npy(at / "q.npy", element_type::float32, std::array{std::ssize(vectors), std::ptrdiff_t{1}},
            std::as_bytes(std::span(vectors)));
  const vector_files queries = vector_files::open({at / "q.npy"});
  std::array<outcome, ranks> found;
  run_ranks(ranks, 60, [&](communicator& all) {
    std::optional<result_store> store;
    if (all.rank() == 0) {
      store.emplace(result_request{.indices = at / "i.npy",
                                   .distances = at / "d.npy",
                                   .queries = queries.count(),
                                   .k = k,
                                   .job = "{}"});
    }
    found[index(all.rank())] = search_of_rank(all, queries, awaits, store ? &*store : nullptr);
    if (store) store->commit();
  });
  EXPECT_EQ(found[0].again, found[1].again);
  EXPECT_EQ(found[0].lengths, found[1].lengths);
  const npy_file rows = npy_file::open(at / "i.npy");
  const auto* const first = reinterpret_cast<const std::int64_t*>(rows.data());
  found[0].indices.assign(first, first + std::ssize(vectors) * k);
  return found[0];
}

std::vector<std::int64_t> right_indices(const std::set<std::int64_t>& crowded) {
  std::vector<float> all = part_of(0);
  std::ranges::copy(part_of(1), std::back_inserter(all));
  vector_set queries;
  queries.count = tile * all_tiles;
  queries.data = queries_of(crowded);
  neighbour_lists best(queries.count, k);
  write_nearest(all, 0, queries, best);
  return {best.indices().begin(), best.indices().end()};
}

using ranges_of_queries = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(ShortLists, SufficeWhereEachRankHasItsShare) {
  const outcome found = search({});
  EXPECT_EQ(found.indices, right_indices({}));
  EXPECT_EQ(found.again, ranges_of_queries{});
  EXPECT_EQ(found.lengths, std::vector<std::int64_t>(all_tiles, list_length));
}

TEST(ShortLists, AFewQueriesAreSearchedAgain) {
  const std::set<std::int64_t> crowded = {0, 10, 12, 47};
  const outcome found = search(crowded, true);
  EXPECT_EQ(found.indices, right_indices(crowded));
  EXPECT_EQ(found.again, (ranges_of_queries{{0, 1}, {10, 1}, {12, 1}, {47, 1}}));
  EXPECT_TRUE(found.beside) << "tiles that lack nothing do not wait any more";
  EXPECT_EQ(found.lengths, std::vector<std::int64_t>(all_tiles, list_length));
}

// The third tile lacks more than a few. It is known before the fifth is searched.
TEST(ShortLists, WhereManyLackNeighboursLaterListsAreWhole) {
  const std::set<std::int64_t> crowded = {16, 17, 18, 19, 20, 21, 22, 23, 30, 44};
  const outcome found = search(crowded);
  EXPECT_EQ(found.indices, right_indices(crowded));
  EXPECT_EQ(found.again, (ranges_of_queries{{16, 8}, {30, 1}}));
  EXPECT_EQ(found.lengths, (std::vector<std::int64_t>{6, 6, 6, 6, 8, 8}));
}

TEST(ShortLists, HaveAMarginAndPayOnlyForManyNeighbours) {
  EXPECT_EQ(neighbours_of_list(100, 10'000'000, 1), 100);
  EXPECT_EQ(neighbours_of_list(100, 10'000'000, 2), 80);
  EXPECT_EQ(neighbours_of_list(100, 10'000'000, 4), 48);
  EXPECT_EQ(neighbours_of_list(10, 10'000'000, 2), 10);
  EXPECT_EQ(neighbours_of_list(400, 1536, 2), 400) << "parts are short";
}

}  // namespace
}  // namespace kselect::search::short_lists
