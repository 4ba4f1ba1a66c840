// The fused search on a GPU: the same answers as on fibers, bit for bit, since float64 decides on
// both.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/fused_search.hpp"

namespace kselect::search::fused {
namespace {

struct question {
  std::vector<float> base, query;  // no query: of a graph
  std::int64_t n, q, dimension, k;
  runtime::metric metric = runtime::metric::sqeuclidean;
  simt::product factors = simt::product::float16;
};

question asked(std::int64_t n, std::int64_t q, std::int64_t dimension, std::int64_t k,
               runtime::metric m, bool integers) {
  std::mt19937 bits(static_cast<unsigned>(n + dimension));
  std::normal_distribution<float> normal(1, 2);
  std::uniform_int_distribution<int> bytes(0, 255);
  const auto next = [&] { return integers ? static_cast<float>(bytes(bits)) : normal(bits); };
  question made{std::vector<float>(static_cast<std::size_t>(n * dimension)),
                std::vector<float>(static_cast<std::size_t>(q * dimension)),
                n,
                q,
                dimension,
                k,
                m};
  std::ranges::generate(made.base, next);
  std::ranges::generate(made.query, next);
  return made;
}

struct answer {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::vector<double> exact;
  search_report report;
};

template <class T>
void download(backend& place, const device_buffer& from, std::int64_t count, std::vector<T>& to) {
  to.resize(static_cast<std::size_t>(count));
  place.to_host(std::as_writable_bytes(std::span(to)), from.data());
}

answer search_on(executor_kind kind, const question& q, product_body body = product_body::fastest,
                 int calls = 1) {
  const auto place = runtime::open_backend(kind, 2);
  const device_buffer base = make<float>(*place, q.n * q.dimension);
  const device_buffer query = make<float>(*place, q.q * q.dimension);
  place->to_device(base.data(), std::as_bytes(std::span(q.base)));
  if (!q.query.empty()) place->to_device(query.data(), std::as_bytes(std::span(q.query)));
  const device_buffer indices = make<std::int64_t>(*place, q.q * q.k);
  const device_buffer distances = make<float>(*place, q.q * q.k);
  const device_buffer exact = make<double>(*place, q.q * q.k);
  const stage_clock clock = [](stage, const std::function<void()>& work) { work(); };
  prepared_corpus corpus(*place, view<float>(base).data, q.n, q.dimension, q.metric, q.factors);
  corpus.prepare(clock);
  fused_search search(*place, corpus, q.q, q.k, false, {.body = body});
  answer found;
  for (int call = 0; call < calls; ++call) {
    found.report = search.run(view<float>(q.query.empty() ? base : query).data, q.q, 0,
                              {.indices = view<std::int64_t>(indices),
                               .distances = view<float>(distances),
                               .exact = view<double>(exact),
                               .k = q.k,
                               .root = false},
                              clock);
  }
  download(*place, indices, q.q * q.k, found.indices);
  download(*place, distances, q.q * q.k, found.distances);
  download(*place, exact, q.q * q.k, found.exact);
  return found;
}

class fused_search_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  // The fastest body for the GPU, the one that every GPU has, and the one by slabs.
  static std::vector<product_body> all_bodies() {
    std::vector<product_body> bodies = {product_body::mma_sync, product_body::fastest};
    const auto place = runtime::open_backend(executor_kind::cuda);
    if (wgmma_is_built() && why_not_by_slabs(place->description()).empty()) {
      bodies.push_back(product_body::wgmma_slabs);
    }
    return bodies;
  }
  static answer expect_same(const question& q) {
    const answer here = search_on(executor_kind::fiber, q);
    answer there;
    for (const product_body body : all_bodies()) {
      SCOPED_TRACE(static_cast<int>(body));
      there = search_on(executor_kind::cuda, q, body);
      EXPECT_EQ(here.indices, there.indices);
      EXPECT_EQ(here.exact, there.exact);
      EXPECT_EQ(here.distances, there.distances);
    }
    return there;
  }
};

TEST_F(fused_search_cuda, answers_as_fibers_do) {
  for (const std::int64_t dimension : {5, 64, 128, 129, 200, 784, 960}) {
    SCOPED_TRACE(dimension);
    const answer found =
        expect_same(asked(4500, 40, dimension, 10, runtime::metric::sqeuclidean, false));
    EXPECT_EQ(found.report.by_float64, 0);
  }
}
TEST_F(fused_search_cuda, has_all_metrics) {
  using runtime::metric;
  for (const metric m : {metric::cosine, metric::pearson, metric::sqeuclidean}) {
    expect_same(asked(4300, 20, 40, 7, m, false));
  }
}
TEST_F(fused_search_cuda, sharpens_its_threshold) {
  expect_same(asked(36'000, 20, 16, 20, runtime::metric::sqeuclidean, false));
}
TEST_F(fused_search_cuda, keeps_bytes_exact) {
  expect_same(asked(4500, 140, 96, 10, runtime::metric::sqeuclidean, true));
}
TEST_F(fused_search_cuda, multiplies_bytes_in_integers) {
  for (const std::int64_t dimension : {20, 128, 200, 300, 784, 960}) {
    SCOPED_TRACE(dimension);
    question q = asked(4500, 140, dimension, 10, runtime::metric::sqeuclidean, true);
    q.factors = simt::product::int8;
    EXPECT_EQ(expect_same(q).report.by_float64, 0);
  }
  question q = asked(36'000, 20, 16, 10, runtime::metric::sqeuclidean, true);  // maxima
  q.factors = simt::product::int8;
  expect_same(q);
}
TEST_F(fused_search_cuda, finds_thresholds_from_maxima) {
  for (const std::int64_t dimension : {16, 128, 130, 500}) {
    expect_same(asked(36'000, 20, dimension, 10, runtime::metric::sqeuclidean, false));
  }
}
TEST_F(fused_search_cuda, multiplies_bfloat16) {
  for (const std::int64_t dimension : {100, 300}) {
    question q = asked(4500, 140, dimension, 10, runtime::metric::sqeuclidean, false);
    q.factors = simt::product::bfloat16;
    expect_same(q);
  }
}
// The kernel of its first threshold zeroes the counters, by scores (4500 vectors) and by maxima.
TEST_F(fused_search_cuda, counts_the_survivors_of_a_graph_anew) {
  for (const auto& [n, dimension] : {std::pair{4500, 64}, {9000, 64}, {9000, 200}}) {
    for (const product_body body : all_bodies()) {
      SCOPED_TRACE(testing::Message() << n << " " << dimension << " " << static_cast<int>(body));
      question q = asked(n, n, dimension, 10, runtime::metric::sqeuclidean, false);
      q.query.clear();
      const answer once = search_on(executor_kind::cuda, q, body);
      const answer twice = search_on(executor_kind::cuda, q, body, 2);
      EXPECT_EQ(twice.report.survivors, once.report.survivors);
      EXPECT_EQ(twice.report.again, once.report.again);
      EXPECT_EQ(twice.indices, once.indices);
    }
  }
}
TEST_F(fused_search_cuda, ends_right_without_products) {
  question q = asked(4500, 20, 16, 10, runtime::metric::sqeuclidean, false);
  std::ranges::fill(q.base, 1.5F);
  EXPECT_EQ(expect_same(q).report.by_float64, 20);
  expect_same(asked(700, 20, 16, 10, runtime::metric::sqeuclidean, false));
}

}  // namespace
}  // namespace kselect::search::fused
