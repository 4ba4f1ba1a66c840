// The k-NN graph by half of the products on fibers: every pair is multiplied once, and every
// vector's neighbours are those of a search that tries all in long double.

#include <cstdint>
#include <map>
#include <utility>

#include "search/knn/fused/half_pairs.cuh"
#include "tests/search/knn/fused_questions.hpp"
#include "tests/search/knn/half_pairs.hpp"

namespace kselect::search::fused {
namespace {

TEST(fused_half, blocks_meet_every_pair_of_tiles_once) {
  for (const std::int64_t together : {1, 2}) {
    for (std::int64_t tiles = 1; tiles <= 23; ++tiles) {
      for (std::int64_t part = together; part <= 26; part += together) {
        SCOPED_TRACE(testing::Message()
                     << tiles << " tiles, parts of " << part << ", " << together);
        const pair_blocks all{tiles, part, together};
        std::map<std::pair<std::int64_t, std::int64_t>, int> met;
        for (std::int64_t block = 0; block < all.count(); ++block) {
          const pair_share own = pair_share::of(all, block);
          ASSERT_LT(own.first, own.last) << block;
          ASSERT_LE(own.last - own.first, part);
          for (std::int64_t row = own.row; row < std::min(own.row + together, tiles); ++row) {
            for (std::int64_t c = own.first; c < own.last; ++c) {
              if (c >= row) ++met[{row, c}];  // a second tile of rows begins one column later
            }
          }
        }
        ASSERT_EQ(static_cast<std::int64_t>(met.size()), tiles * (tiles + 1) / 2);
        for (const auto& [pair, times] : met) ASSERT_EQ(times, 1);
      }
    }
  }
}

TEST(fused_half, finds_blocks_of_large_graphs) {
  const pair_blocks all{1 << 21, 2, 2};
  for (std::int64_t s = 1; s < all.parts(); s += 9973) {
    EXPECT_EQ(pair_share::of(all, all.before(s)).first, 2 * s);
    EXPECT_EQ(pair_share::of(all, all.before(s)).row, 0);
    EXPECT_EQ(pair_share::of(all, all.before(s) - 1).row, 2 * s - 2);
  }
}

search_shape graph(std::int64_t n, std::int64_t k) {
  search_shape s{.n = n, .q = n, .dimension = 128, .k = k};
  s.half_product = true;
  return s;
}

TEST(fused_half, is_planned_where_scores_are_symmetric) {
  device gpu;
  gpu.kind = executor_kind::cuda;
  gpu.multiprocessors = 132;
  gpu.memory_bytes = std::size_t{80} << 30;
  const search_plan plan = plan_search(graph(1'000'000, 11), gpu);
  EXPECT_TRUE(plan.half.taken());
  EXPECT_EQ(plan.half.impossible_because, "");
  EXPECT_EQ(plan.half.blocks, (pair_blocks{7813, plan.half.part, 1}.count()));
  EXPECT_GE(plan.half.room, 3 * 11);
  search_shape s = graph(1'000'000, 11);
  s.half_product = false;
  EXPECT_FALSE(plan_search(s, gpu).half.taken());
  const auto refused = [&](const search_shape& shape, const char* why) {
    const half_plan half = plan_search(shape, gpu).half;
    EXPECT_FALSE(half.taken());
    EXPECT_NE(half.impossible_because.find(why), std::string::npos) << half.impossible_because;
  };
  s = graph(1'000'000, 11);
  s.q = 1000;
  refused(s, "query");
  s = graph(1'000'000, 11);
  s.leaves_out = true;
  refused(s, "filter");
  s.leaves_out = false;
  s.of_inner_products = true;
  refused(s, "inner products");
  refused(graph(100'000, 1000), "k is large");
  gpu.memory_bytes = std::size_t{8} << 30;
  refused(graph(1'000'000, 11), "memory");
}

TEST(fused_half, pays_where_hits_are_rare) {
  device gpu;
  gpu.kind = executor_kind::cuda;
  gpu.multiprocessors = 132;
  gpu.memory_bytes = std::size_t{80} << 30;
  EXPECT_TRUE(half_is_faster(graph(1'000'000, 11), gpu));
  EXPECT_TRUE(half_is_faster(graph(200'000, 11), gpu));
  EXPECT_TRUE(half_is_faster(graph(100'000, 11), gpu));
  EXPECT_FALSE(half_is_faster(graph(50'000, 11), gpu));
  search_shape s = graph(50'000, 11);
  s.dimension = 784;
  EXPECT_TRUE(half_is_faster(s, gpu)) << "products take longer";
  s.n = s.q = 5000;
  EXPECT_FALSE(half_is_faster(s, gpu));
  s = graph(1'000'000, 11);
  s.q = 10;
  EXPECT_FALSE(half_is_faster(s, gpu)) << "no graph";
}

TEST(fused_half, lists_what_is_near_and_leaves_out_what_is_far) {
  expect_hits_of_all(*runtime::open_backend(executor_kind::fiber, 2), product_body::mma_sync, 400);
}

question graph_of(vectors base, std::int64_t k, bool leaves_self_out = true) {
  question q{std::move(base), {}, k};
  q.query = q.base;
  q.leaves_self_out = leaves_self_out;
  q.half_product = true;
  return q;
}
answer expect_graph(const question& q) {
  answer found = expect_exhaustive(q);
  EXPECT_TRUE(found.half_product);
  return found;
}

TEST(fused_half, finds_the_graph) {
  const question q = graph_of(normal(4200, 24, 1), 10);
  const answer found = search(q, 2);  // lists are emptied for the second call
  expect_nearest(q, found);
  EXPECT_TRUE(found.half_product);
  EXPECT_EQ(found.report.by_float64, 0);
  EXPECT_LT(found.report.again, 420);
  EXPECT_LT(found.report.survivors, 4200 * 300);
}
TEST(fused_half, finds_the_graph_of_long_vectors_and_with_itself) {
  question q = graph_of(normal(4100, 130, 2), 4, false);
  q.step = 41;
  expect_graph(q);
}
TEST(fused_half, finds_the_graph_of_directions) {
  question q = graph_of(normal(4100, 9, 3, 1), 5);
  q.metric = runtime::metric::cosine;
  for (std::int64_t c = 0; c < 9; ++c) q.base.at(17, c) = q.query.at(17, c) = 0;
  expect_graph(q);
}
TEST(fused_half, finds_the_graph_of_bytes_in_integers) {
  question q = graph_of(bytes(4100, 20, 4), 5);
  q.factors = simt::product::int8;
  EXPECT_EQ(expect_graph(q).report.by_float64, 0);
}

// What each of some searches found of a graph whose pairs they divide.
struct shares {
  std::vector<answer> answers;
  std::vector<std::vector<std::int32_t>> certain;  // of each search, of each vector
};
shares search_in_shares(const question& q, int count) {
  shares all;
  const stage_clock clock = [](stage, const std::function<void()>& work) { work(); };
  const std::int64_t rows = q.base.count * q.k;
  for (int number = 0; number < count; ++number) {
    // Threads and blocks come in another order each time, as on another GPU.
    simt::fiber_options turns;
    turns.order = number == 0 ? simt::schedule::in_order : simt::schedule::random;
    turns.seed = static_cast<std::uint64_t>(number);
    const auto place = runtime::open_host_backend(executor_kind::fiber, 2, turns);
    prepared_corpus corpus(*place, q.base.data.data(), q.base.count, q.base.dimension, q.metric,
                           q.factors);
    corpus.prepare(clock);
    answer found;
    found.indices.resize(static_cast<std::size_t>(rows));
    found.exact.resize(static_cast<std::size_t>(rows));
    fused_search search(*place, corpus, q.base.count, q.k, q.leaves_self_out,
                        {.half_product = true, .share = {number, count}});
    EXPECT_TRUE(search.plan().half.taken());
    const answers to{.indices = {found.indices.data(), rows},
                     .distances = {},
                     .exact = {found.exact.data(), rows},
                     .k = q.k};
    found.report = search.run(q.base.data.data(), q.base.count, 0, to, clock);
    std::vector<std::int32_t> certain(static_cast<std::size_t>(q.base.count));
    search.count_certain(to, {certain.data(), q.base.count});
    all.answers.push_back(std::move(found));
    all.certain.push_back(std::move(certain));
  }
  return all;
}

// Of every vector of which the shares have k certain answers together, their merge has the nearest.
std::int64_t expect_merged(const question& q, const shares& all, const answer& whole) {
  std::int64_t complete = 0;
  for (std::int64_t i = 0; i < q.base.count; ++i) {
    std::map<std::pair<double, std::int64_t>, bool> merged;
    std::int64_t certain = 0;
    for (std::size_t s = 0; s < all.answers.size(); ++s) {
      certain += all.certain[s][static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < q.k; ++j) {
        const auto at = static_cast<std::size_t>(i * q.k + j);
        const std::int64_t index = all.answers[s].indices[at];
        if (index >= 0) merged[{all.answers[s].exact[at], index}] = true;
      }
    }
    if (certain < q.k) continue;
    ++complete;
    auto next = merged.begin();
    for (std::int64_t j = 0; j < q.k; ++j, ++next) {
      EXPECT_EQ(next->first.second, whole.indices[static_cast<std::size_t>(i * q.k + j)])
          << i << ' ' << j;
    }
  }
  return complete;
}

TEST(fused_half, shares_of_the_pairs_have_the_graph_together) {
  // A vector far away leaves all others in few buckets of limits.
  question q = graph_of(normal(4100, 9, 11, 1), 6);
  for (std::int64_t c = 0; c < 9; ++c) q.base.at(0, c) = q.query.at(0, c) = 1e4F;
  const answer whole = search(q);
  const shares all = search_in_shares(q, 3);
  EXPECT_GT(expect_merged(q, all, whole), 3900);
  std::int64_t survivors = 0;
  for (const answer& a : all.answers) survivors += a.report.survivors;
  EXPECT_EQ(survivors, whole.report.survivors);
}
// Lists run over, and a vector's error is large: those are done again.
TEST(fused_half, ends_right_where_products_cannot_prove) {
  question q = graph_of(normal(4100, 6, 5), 5);
  for (std::int64_t i = 0; i < 4100; ++i) {
    if (i % 3 != 0) continue;  // in a few places
    for (std::int64_t c = 0; c < 6; ++c) q.base.at(i, c) = static_cast<float>(i % 12);
  }
  for (std::int64_t c = 0; c < 6; ++c) q.base.at(100, c) = 1e3F;
  q.query = q.base;
  EXPECT_GT(expect_graph(q).report.again, 0);
}

// Where it cannot be taken, the whole product gives the same.
TEST(fused_half, is_the_whole_product_for_small_corpora) {
  const answer found = expect_exhaustive(graph_of(normal(150, 6, 7), 5));
  EXPECT_FALSE(found.half_product);
}

}  // namespace
}  // namespace kselect::search::fused
