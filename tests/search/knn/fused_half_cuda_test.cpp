// The k-NN graph by half of the products on a GPU: by both bodies of the filter, the graph of the
// whole product, bit for bit.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/search/knn/half_pairs.hpp"

namespace kselect::search::fused {
namespace {

struct graph_answer {
  std::vector<std::int64_t> indices;
  std::vector<double> exact;
  search_report report;
  bool half;
  std::vector<std::int32_t> certain;  // of a share of the pairs
};

struct graph_question {
  std::int64_t n, dimension, k;
  metric measure = metric::sqeuclidean;
  simt::product factors = simt::product::float16;
  int clusters = 0;  // vectors in so many places; 0: all differ
};

std::vector<float> vectors_of(const graph_question& q) {
  std::mt19937 bits(7);
  std::normal_distribution<float> normal(1, 2);
  std::vector<float> made(static_cast<std::size_t>(q.n * q.dimension));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto vector = static_cast<std::int64_t>(i) / q.dimension;
    made[i] = q.factors == simt::product::int8 ? static_cast<float>(bits() % 256) : normal(bits);
    if (q.clusters != 0 && vector % 2 == 0) made[i] = static_cast<float>(vector % q.clusters);
  }
  return made;
}

class fused_half_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    place_ = runtime::open_backend(executor_kind::cuda);
  }

  bool has_wgmma(std::int64_t dimension) const {
    return wgmma_is_built() && why_not_wgmma(place_->description(), slabs_of(dimension)).empty();
  }

  graph_answer graph(const graph_question& q, bool half, product_body body,
                     const graph_share& share = {}) {
    const std::vector<float> data = vectors_of(q);
    const device_buffer base = make<float>(*place_, q.n * q.dimension);
    place_->to_device(base.data(), std::as_bytes(std::span(data)));
    const device_buffer indices = make<std::int64_t>(*place_, q.n * q.k);
    const device_buffer exact = make<double>(*place_, q.n * q.k);
    const stage_clock clock = [](stage, const std::function<void()>& work) { work(); };
    prepared_corpus corpus(*place_, view<float>(base).data, q.n, q.dimension, q.measure, q.factors);
    corpus.prepare(clock);
    fused_search search(*place_, corpus, q.n, q.k, true,
                        {.body = body, .half_product = half, .share = share});
    graph_answer found;
    found.half = search.plan().half.taken();
    const answers to{.indices = view<std::int64_t>(indices),
                     .distances = {},
                     .exact = view<double>(exact),
                     .k = q.k,
                     .root = false};
    found.report = search.run(view<float>(base).data, q.n, 0, to, clock);
    if (share.of > 1) {
      const device_buffer certain = make<std::int32_t>(*place_, q.n);
      search.count_certain(to, view<std::int32_t>(certain));
      found.certain = fetched<std::int32_t>(*place_, view<const std::int32_t>(certain));
    }
    found.indices = fetched<std::int64_t>(*place_, view<const std::int64_t>(indices));
    found.exact = fetched<double>(*place_, view<const double>(exact));
    return found;
  }

  // By each body that this GPU has for it. Returns the report of the last.
  search_report expect_whole(const graph_question& q) {
    SCOPED_TRACE(testing::Message() << "n " << q.n << ", d " << q.dimension << ", k " << q.k);
    const graph_answer whole = graph(q, false, product_body::fastest);
    std::vector<product_body> bodies = {product_body::mma_sync};
    if (q.factors == simt::product::float16 && has_wgmma(q.dimension)) {
      bodies.push_back(product_body::wgmma);
    }
    search_report last;
    for (const product_body body : bodies) {
      SCOPED_TRACE(body == product_body::wgmma ? "wgmma" : "mma_sync");
      const graph_answer half = graph(q, true, body);
      EXPECT_TRUE(half.half);
      EXPECT_TRUE(half.indices == whole.indices);
      EXPECT_TRUE(half.exact == whole.exact);
      last = half.report;
    }
    return last;
  }

  std::unique_ptr<backend> place_;
};

TEST_F(fused_half_cuda, lists_what_is_near_and_leaves_out_what_is_far) {
  expect_hits_of_all(*place_, product_body::mma_sync, 400);
  if (has_wgmma(128)) expect_hits_of_all(*place_, product_body::wgmma, 128);
}

// Odd and even numbers of tiles, one and two slabs of components, and more.
TEST_F(fused_half_cuda, is_the_graph_of_the_whole_product) {
  for (const std::int64_t dimension : {5, 64, 128, 130}) {
    for (const std::int64_t n : {4100, 4500}) {
      expect_whole({n, dimension, 10});
    }
  }
}
TEST_F(fused_half_cuda, has_metrics_that_are_symmetric) {
  for (const metric m : {metric::cosine, metric::pearson, metric::euclidean}) {
    expect_whole({4300, 40, 7, m});
  }
}
TEST_F(fused_half_cuda, multiplies_bytes_in_integers) {
  graph_question q{4300, 200, 10};
  q.factors = simt::product::int8;
  EXPECT_EQ(expect_whole(q).by_float64, 0);
}
// Thresholds come from maxima, batch by batch, and blocks have parts of many tiles.
TEST_F(fused_half_cuda, takes_corpora_of_several_batches) {
  EXPECT_EQ(expect_whole({60'001, 128, 10}).by_float64, 0);
  expect_whole({60'001, 16, 5});
}
// Blocks find more hits than their shared memory holds, and lists run over.
TEST_F(fused_half_cuda, ends_right_where_lists_run_over) {
  graph_question q{20'000, 32, 10};
  q.clusters = 24;
  EXPECT_GT(expect_whole(q).again, 0);
}

// The k nearest of a vector in the answers of all shares.
std::vector<std::int64_t> merged(const std::vector<graph_answer>& shares, std::int64_t vector,
                                 std::int64_t k) {
  std::set<std::pair<double, std::int64_t>> all;
  for (const graph_answer& share : shares) {
    for (std::int64_t j = vector * k; j < (vector + 1) * k; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (share.indices[at] >= 0) all.emplace(share.exact[at], share.indices[at]);
    }
  }
  std::vector<std::int64_t> nearest;
  for (const auto& [distance, index] : all) nearest.push_back(index);
  nearest.resize(static_cast<std::size_t>(k));
  return nearest;
}

TEST_F(fused_half_cuda, shares_of_the_pairs_have_the_graph_together) {
  const graph_question q{.n = 20'000, .dimension = 100, .k = 8};
  const graph_answer whole = graph(q, false, product_body::fastest);
  for (const product_body body : {product_body::mma_sync, product_body::wgmma}) {
    if (body == product_body::wgmma && !has_wgmma(q.dimension)) continue;
    std::vector<graph_answer> shares;
    for (int number = 0; number < 3; ++number) {
      shares.push_back(graph(q, true, body, {number, 3}));
      ASSERT_TRUE(shares.back().half);
    }
    std::int64_t complete = 0;
    for (std::int64_t v = 0; v < q.n; ++v) {
      std::int64_t certain = 0;
      for (const graph_answer& s : shares) certain += s.certain[static_cast<std::size_t>(v)];
      if (certain < q.k) continue;
      ++complete;
      const auto right = std::span(whole.indices).subspan(static_cast<std::size_t>(v * q.k));
      ASSERT_TRUE(
          std::ranges::equal(merged(shares, v, q.k), right.first(static_cast<std::size_t>(q.k))))
          << v;
    }
    EXPECT_GT(complete, q.n / 10 * 9);
  }
}

}  // namespace
}  // namespace kselect::search::fused
