// The error bound of products holds for every pair, is small, and is zero but for the last
// roundings where products of integers are exact.

#include "search/knn/host/prepared_corpus.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "../brute_force.hpp"
#include "search/knn/host/block_search.hpp"

namespace kselect::search {
namespace {

using namespace brute_force;

vector_set vectors(std::int64_t count, std::int64_t dimension, float centre, float spread,
                   unsigned seed, bool integers = false) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(centre, spread);
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  for (float& x : data) x = integers ? std::round(normal(bits)) : normal(bits);
  return make_set(dimension, std::move(data));
}

// How often a float32 product was wrong by more than `share` of its bound, of all pairs.
std::int64_t beyond(const vector_set& base, const vector_set& query, metric m, double share) {
  const prepared_corpus corpus(base.view(), "base", m, 1);
  const moved_vectors queries = corpus.move(query.view(), "query", 1);
  const double scale = scale_for(corpus.base(), queries);
  const product_error error(corpus, queries, 24, scale);
  const packed_queries<float> packed(queries, corpus.centre(), scale, 0, query.count);
  std::int64_t wrong = 0, panel = 0, columns = 0;
  each_panel(
      corpus, scale, packed, 0, base.count, [](std::int64_t, std::int64_t) { return true; },
      [&](std::int64_t first, std::int64_t count) { panel = first, columns = count; },
      [&](std::int64_t g, const float* products) {
        for (std::int64_t r = 0; r < std::min(group_rows, query.count - g * group_rows); ++r) {
          const auto q = static_cast<std::size_t>(g * group_rows + r);
          for (std::int64_t j = 0; j < columns; ++j) {
            const auto b = static_cast<std::size_t>(panel + j);
            const double exact = ranked_distance(m, queries.vector(g * group_rows + r),
                                                 queries.images[q], corpus.base().vector(panel + j),
                                                 corpus.base().images[b], base.dimension);
            const double from_product =
                corpus.weight_of_squares() * (queries.squares[q] + corpus.base().squares[b]) -
                2 * static_cast<double>(products[r * panel_columns<float> + j]) / scale / scale;
            const double bound =
                error.of(std::sqrt(queries.squares[q]), std::sqrt(corpus.base().squares[b]));
            EXPECT_TRUE(std::isfinite(bound));
            wrong += std::abs(from_product - exact) <= share * bound ? 0 : 1;
          }
        }
      });
  return wrong;
}

TEST(ProductError, BoundsEveryProduct) {
  for (const metric m :
       {metric::sqeuclidean, metric::cosine, metric::pearson, metric::inner_product}) {
    for (const std::int64_t dimension : {1, 2, 31, 300}) {
      for (const float spread : {1e-44F, 1e-30F, 1.0F, 1e37F}) {
        for (const float centre : {0.0F, 1000 * spread}) {
          if (centre > 1e38F) continue;
          const vector_set base = vectors(70, dimension, centre, spread, 1);
          const vector_set query = vectors(15, dimension, centre, spread, 2);
          EXPECT_EQ(beyond(base, query, m, 1), 0) << dimension << " " << spread << " " << centre;
        }
      }
    }
  }
  // A bound that nothing comes near would be of no use: where there are two terms, rounding shows.
  EXPECT_GT(beyond(vectors(500, 2, 0, 1, 1), vectors(100, 2, 0, 1, 2), metric::sqeuclidean, 0.1),
            0);
}

TEST(ProductError, MovingByTheMeanMakesItSmall) {
  const vector_set base = vectors(100, 64, 1000, 1, 1), query = vectors(5, 64, 1000, 1, 2);
  const prepared_corpus corpus(base.view(), "base", metric::sqeuclidean, 2);
  const moved_vectors queries = corpus.move(query.view(), "query", 2);
  EXPECT_LT(corpus.base().largest_square, 64 * 3);
  const product_error error(corpus, queries, 24, scale_for(corpus.base(), queries));
  EXPECT_LT(error.of(8, 8), 1e-3);
}

TEST(ProductError, OfBytesIsOnlyThatOfTheLastRoundings) {
  const vector_set base = vectors(100, 64, 128, 40, 1, true),
                   query = vectors(5, 64, 128, 40, 2, true);
  const prepared_corpus corpus(base.view(), "base", metric::sqeuclidean, 2);
  const moved_vectors queries = corpus.move(query.view(), "query", 2);
  EXPECT_TRUE(corpus.base().integers && queries.integers);
  EXPECT_EQ(scale_for(corpus.base(), queries), 1);
  for (const double c : corpus.centre()) EXPECT_EQ(c, std::round(c));
  const product_error error(corpus, queries, 24, 1);
  const double norm = std::sqrt(corpus.base().largest_square);
  EXPECT_LT(error.of(norm, norm), 1e-6);
  EXPECT_GT(error.of(5000, 5000), 1) << "sums beyond 2^24 are rounded";
  EXPECT_EQ(beyond(base, query, metric::sqeuclidean, 1), 0);
}

// The tiles of queries that went on with float64 products, and the differences in float64 of each
// query.
struct effort {
  std::int64_t doubled;
  std::int64_t compared;
};
effort effort_of(const vector_set& base, const vector_set& query, std::int64_t k) {
  const prepared_corpus corpus(base.view(), "base", metric::sqeuclidean, 1);
  const moved_vectors queries = corpus.move(query.view(), "query", 1);
  block_search search(corpus, queries, k, -1, knn_filter{}, 1);
  const std::int64_t seeds = seed_length(base.count, k);
  std::vector<float> rows(static_cast<std::size_t>(query.count * seeds)), selected;
  search.rows(rows.data());
  for (std::int64_t q = 0; q < query.count; ++q) {
    std::vector<float> row(rows.begin() + q * seeds, rows.begin() + (q + 1) * seeds);
    std::ranges::sort(row);
    selected.insert(selected.end(), row.begin(), row.begin() + k);
  }
  search.begin(rows.data(), selected.data());
  search.sweep();
  std::vector<double> ranked(static_cast<std::size_t>(query.count * k));
  std::vector<std::int64_t> indices(ranked.size());
  search.finish(ranked.data(), indices.data());
  return {search.doubled(), search.compared() / query.count};
}

TEST(BlockSearch, ComparesLittleMoreThanKInFloat64) {
  const effort spent = effort_of(vectors(20'000, 32, 5, 1, 1), vectors(24, 32, 5, 1, 2), 10);
  EXPECT_EQ(spent.doubled, 0);
  EXPECT_GE(spent.compared, 10);
  EXPECT_LE(spent.compared, 15);
}

TEST(BlockSearch, GoesOnInFloat64WhereFloat32LeavesOutTooLittle) {
  vector_set base = vectors(20'000, 32, 0, 1e-3F, 1), query = vectors(24, 32, 0, 1e-3F, 2);
  // Two clusters, so that moving by the mean is of no use.
  for (std::int64_t i = 0; i < base.count; i += 2) {
    for (std::int64_t c = 0; c < 32; ++c) base.data[static_cast<std::size_t>(i * 32 + c)] += 1e3F;
  }
  const effort spent = effort_of(base, query, 10);
  EXPECT_EQ(spent.doubled, 1);
  EXPECT_LT(spent.compared, 6000) << "of 10,000 in the cluster";
}

}  // namespace
}  // namespace kselect::search
