// Both bodies of the filter on a GPU of compute capability 9.0: the same prepared corpus, the same
// survivors. Vectors of small integers have exact scores, so there the survivors are known.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/simt/products.hpp"
#include "runtime/error.hpp"
#include "tests/search/knn/exact_filter.hpp"

namespace kselect::search::fused {
namespace {

using filter_wgmma_cuda = on_both_bodies;

component small_integers() {
  return [](std::uint64_t i) { return static_cast<float>(mixed(i) % 17) - 8; };
}

void expect_exact(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t part) {
  const tiles corpus(n, d, 1, small_integers()), queries(q, d, 2, small_integers());
  expect_exact(corpus, queries, part, {both[0], both[1]});
}

TEST_F(filter_wgmma_cuda, keeps_exactly_what_is_beyond_the_threshold) {
  expect_exact(128, 1, 16, 1);
}
TEST_F(filter_wgmma_cuda, takes_every_dimension_up_to_128) {
  for (const std::int64_t d : {1, 8, 63, 64, 65, 100, 127, 128}) expect_exact(3001, 300, d, 24);
}
TEST_F(filter_wgmma_cuda, takes_any_number_of_queries_and_vectors) {
  for (const std::int64_t q : {1, 128, 129, 256, 257}) {
    for (const std::int64_t n : {1, 129, 1000}) expect_exact(n, q, 100, 3);
  }
}
TEST_F(filter_wgmma_cuda, takes_parts_of_any_length) {
  for (const std::int64_t part : {1, 5, 7, 11, 40}) {
    expect_exact(40 * 128 - 3, 140, 128, part);
    expect_exact(40 * 128 - 3, 140, 40, part);
  }
}

// A block goes on with several pieces of the work, also beside a tile of queries that is not there.
TEST_F(filter_wgmma_cuda, takes_more_pieces_than_there_are_multiprocessors) {
  constexpr std::int64_t n = 150 * 128 - 5;
  for (const std::int64_t d : {40, 100}) {
    const tiles corpus(n, d, 1, small_integers()), queries(300, d, 2, small_integers());
    for (const std::int64_t part : {1, 2}) expect_exact(corpus, queries, part, {both[0], both[1]});
    expect_maxima(corpus, queries, {both[0], both[1]});
  }
  expect_exact(300 * 128 - 5, 128, 40, 1);  // one tile of queries
}

TEST_F(filter_wgmma_cuda, counts_what_a_full_list_lacks) {
  const tiles corpus(2000, 96, 1, small_integers()), queries(200, 96, 2, small_integers());
  const exact_scores right(corpus, queries, 300);
  setting s(corpus, 2000, queries);
  s.set(right.thresholds);
  const survivors all = s.pass(product_body::mma_sync, whole(2000, 4, 512));
  const survivors some = s.pass(product_body::wgmma, whole(2000, 4, 16));
  EXPECT_EQ(some.counts, all.counts);
  for (std::int64_t row = 0; row < 200; ++row) {
    const std::vector<survivors::one> listed = some.of(row);
    const auto beyond = right.beyond(static_cast<std::size_t>(row));
    EXPECT_TRUE(std::ranges::includes(beyond, listed, {}, &survivors::one::position,
                                      &survivors::one::position))
        << "row " << row;
    EXPECT_EQ(std::ranges::adjacent_find(listed, {}, &survivors::one::position), listed.end())
        << "row " << row;
  }
}

TEST_F(filter_wgmma_cuda, finds_the_maxima_of_groups) {
  for (const std::int64_t d : {40, 128}) {
    const tiles corpus(3001, d, 1, small_integers()), queries(300, d, 2, small_integers());
    expect_maxima(corpus, queries, {both[0], both[1]});
  }
}

// A vector of which rounding took away an unknown part starts at infinity (start_kernel).
TEST_F(filter_wgmma_cuda, keeps_what_starts_at_infinity) {
  const tiles corpus(500, 128, 1, small_integers()), queries(130, 128, 2, small_integers());
  setting s(corpus, 500, queries);
  s.set(std::vector<float>(130, std::numeric_limits<float>::max()));
  s.set_start(3, infinity);
  s.set_start(499, infinity);
  for (const product_body body : both) {
    const survivors found = s.pass(body, whole(500, 4, 512));
    for (std::int64_t row = 0; row < 130; ++row) {
      ASSERT_TRUE((found.of(row) == std::vector<survivors::one>{{3, infinity}, {499, infinity}}))
          << name_of(body) << ", row " << row;
    }
  }
}

// By how much a score may differ from the exact one (docs/decisions/knn.md).
double bound_of(const std::vector<double>& x, const std::vector<double>& y, double start) {
  double terms = std::abs(start);
  for (std::size_t c = 0; c < x.size(); ++c) terms += std::abs(x[c] * y[c]);
  const auto slabs = static_cast<double>(slabs_of(static_cast<std::int64_t>(x.size())));
  const double each = slabs * slab_width / 16 * simt::product_error;
  return each / (1 - each) * terms;
}

// Components of 32 binades: sums cancel, and small terms vanish beside large ones. Maxima are
// scores, and differ from the exact ones by no more than the most that a score may.
TEST_F(filter_wgmma_cuda, scores_stay_within_the_bound) {
  const component wide = [](std::uint64_t i) {
    return (unit(i) - 0.5F) * std::exp2(static_cast<float>(mixed(~i) % 25) - 14);
  };
  constexpr std::size_t columns = 5 * maxima_of_tile;
  for (const std::int64_t d : {16, 64, 128, 200, 784}) {
    SCOPED_TRACE(d);
    const tiles corpus(640, d, 3, wide), queries(200, d, 4, wide);
    setting s(corpus, 640, queries);
    const std::vector<float> starts = starts_of(corpus, 640);
    for (const product_body body : bodies_for(corpus)) {
      const std::vector<float> found = s.maxima(body, 1, 5);
      double largest = 0;
      for (std::int64_t row = 0; row < 200; ++row) {
        const std::vector<double> x = queries[row];
        std::vector<double> best(columns, -infinity), most(columns);
        for (std::size_t i = 0; i < 640; ++i) {
          const std::vector<double> y = corpus[static_cast<std::int64_t>(i)];
          const auto column = static_cast<std::size_t>(column_of(body, i, 1));
          best[column] = std::max(best[column], product(x, y) + starts[i]);
          most[column] = std::max(most[column], bound_of(x, y, starts[i]));
        }
        for (std::size_t c = 0; c < columns; ++c) {
          const double error =
              std::abs(found[static_cast<std::size_t>(row) * columns + c] - best[c]);
          largest = std::max(largest, error / most[c]);
        }
      }
      EXPECT_LE(largest, 1) << name_of(body);
      EXPECT_GT(largest, 0) << name_of(body);
      std::printf("largest error by %s, d %d: %.4f of the bound\n", name_of(body),
                  static_cast<int>(d), largest);
    }
  }
}

TEST_F(filter_wgmma_cuda, leaves_longer_vectors_to_its_body_of_slabs) {
  const tiles corpus(1000, 200, 1, small_integers()), queries(130, 200, 2, small_integers());
  const exact_scores right(corpus, queries, 300);
  setting s(corpus, 1000, queries);
  s.set(right.thresholds);
  EXPECT_THROW(s.pass(product_body::wgmma, whole(1000, 4, 512)), runtime::error);
  const survivors found = s.pass(product_body::mma_sync, whole(1000, 4, 512));
  for (std::int64_t row = 0; row < 130; ++row) {
    expect_survivors(found.of(row), right.beyond(static_cast<std::size_t>(row)));
  }
  EXPECT_EQ(
      plan_search(
          {.n = 100'000, .q = 1000, .dimension = 200, .k = 10, .wgmma_is_built = wgmma_is_built()},
          s.place().description())
          .body,
      product_body::wgmma_slabs);
}

}  // namespace
}  // namespace kselect::search::fused
