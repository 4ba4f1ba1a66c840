// The body of the filter that multiplies slab by slab by wgmma: the same survivors as by mma_sync,
// and those that are right, of vectors of any length in float16, bfloat16 and bytes.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/search/knn/exact_filter.hpp"

namespace kselect::search::fused {
namespace {

using filter_slabs_cuda = on_both_bodies;
using simt::product;

// Even, so that halves of squared norms are integers, which starts of bytes have to be.
component even_integers(int most) {
  return [most](std::uint64_t i) {
    return static_cast<float>(
        2 * (static_cast<int>(mixed(i) % static_cast<unsigned>(most + 1)) - (most + 1) / 2));
  };
}

tiles of_even(std::int64_t count, std::int64_t d, std::uint64_t seed, product factors) {
  return {count, d, seed, even_integers(8), factors};
}

void expect_all_exact(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t part,
                      product factors) {
  const tiles corpus = of_even(n, d, 1, factors), queries = of_even(q, d, 2, factors);
  expect_exact(corpus, queries, part, bodies_for(corpus));
}

class filter_slabs_cuda_of : public on_both_bodies, public testing::WithParamInterface<product> {};
INSTANTIATE_TEST_SUITE_P(all, filter_slabs_cuda_of,
                         testing::Values(product::float16, product::bfloat16, product::int8),
                         [](const testing::TestParamInfo<product>& of) -> std::string {
                           return of.param == product::float16    ? "float16"
                                  : of.param == product::bfloat16 ? "bfloat16"
                                                                  : "int8";
                         });

TEST_P(filter_slabs_cuda_of, keeps_exactly_what_is_beyond_the_threshold) {
  expect_all_exact(256, 1, 16, 2, GetParam());
  expect_all_exact(256, 128, 128, 2, GetParam());
}
// One slab and many, whole ones and others.
TEST_P(filter_slabs_cuda_of, takes_every_dimension) {
  for (const std::int64_t d : {1, 64, 127, 128, 129, 200, 256, 448, 449, 784, 896, 897, 960}) {
    expect_all_exact(905, 70, d, 5, GetParam());
  }
}
TEST_P(filter_slabs_cuda_of, takes_any_number_of_queries_and_vectors) {
  for (const std::int64_t q : {1, 8, 63, 100, 129, 257}) {
    for (const std::int64_t n : {1, 128, 129, 257, 700}) {
      expect_all_exact(n, q, 200, 3, GetParam());
    }
  }
}
TEST_P(filter_slabs_cuda_of, takes_parts_of_any_length) {
  for (const std::int64_t part : {1, 2, 5, 7, 12, 40}) {
    expect_all_exact(40 * 128 - 3, 20, 129, part, GetParam());
  }
}
// A block goes on with several pieces of the work, of an even or odd number of steps.
TEST_P(filter_slabs_cuda_of, takes_more_pieces_than_there_are_multiprocessors) {
  for (const std::int64_t d : {40, 200}) {
    const tiles corpus = of_even(150 * 128 - 5, d, 1, GetParam()),
                queries = of_even(500, d, 2, GetParam());
    for (const std::int64_t part : {1, 3}) {
      expect_exact(corpus, queries, part, bodies_for(corpus));
    }
    expect_maxima(corpus, queries, bodies_for(corpus));
  }
  expect_all_exact(240 * 128 - 5, 500, 40, 5, GetParam());
}
TEST_P(filter_slabs_cuda_of, finds_the_maxima_of_groups) {
  for (const std::int64_t d : {40, 300, 960}) {
    const tiles corpus = of_even(1025, d, 1, GetParam()), queries = of_even(110, d, 2, GetParam());
    expect_maxima(corpus, queries, bodies_for(corpus));
  }
}
// A vector of which rounding took away an unknown part starts at infinity (start_kernel).
TEST_P(filter_slabs_cuda_of, keeps_what_starts_at_infinity) {
  const tiles corpus = of_even(500, 400, 1, GetParam()), queries = of_even(130, 400, 2, GetParam());
  setting s(corpus, 500, queries);
  s.set(std::vector<float>(130, std::numeric_limits<float>::max()));
  s.set_start(3, infinity);
  s.set_start(499, infinity);
  for (const product_body body : bodies_for(corpus)) {
    const survivors found = s.pass(body, whole(500, 4, 512));
    for (std::int64_t row = 0; row < 130; ++row) {
      ASSERT_TRUE((found.of(row) == std::vector<survivors::one>{{3, infinity}, {499, infinity}}))
          << name_of(body) << ", row " << row;
    }
  }
}
TEST_P(filter_slabs_cuda_of, counts_what_a_full_list_lacks) {
  const tiles corpus = of_even(2000, 200, 1, GetParam()),
              queries = of_even(200, 200, 2, GetParam());
  const exact_scores right(corpus, queries, 300);
  setting s(corpus, 2000, queries);
  s.set(right.thresholds);
  const survivors all = s.pass(product_body::mma_sync, whole(2000, 4, 512));
  const survivors some = s.pass(product_body::wgmma_slabs, whole(2000, 4, 16));
  EXPECT_EQ(some.counts, all.counts);
  for (std::int64_t row = 0; row < 200; ++row) {
    EXPECT_TRUE(std::ranges::includes(right.beyond(static_cast<std::size_t>(row)), some.of(row), {},
                                      &survivors::one::position, &survivors::one::position))
        << "row " << row;
  }
}

// All values that bytes have: products of a whole slab reach 2^21.
TEST_F(filter_slabs_cuda, multiplies_all_bytes) {
  for (const std::int64_t d : {128, 784}) {
    const tiles corpus(1000, d, 1, even_integers(127), product::int8);
    const tiles queries(150, d, 2, even_integers(127), product::int8);
    expect_exact(corpus, queries, 4, bodies_for(corpus));
  }
}
// More steps than a ring has stages, many times over, and no survivor but a few.
TEST_F(filter_slabs_cuda, takes_long_parts) {
  expect_all_exact(9000, 30, 200, 71, product::float16);
  expect_all_exact(9000, 30, 60, 71, product::float16);
}

}  // namespace
}  // namespace kselect::search::fused
