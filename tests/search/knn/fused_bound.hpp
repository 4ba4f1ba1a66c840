#pragma once
// The inequality that proofs rest on, for all pairs of two small sets: a vector with score s is at
// least nearest_left_out(s) away, in scaled images. Fibers and a GPU add products differently, so
// the tests of both use this.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/filter.cuh"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/prepare.cuh"

namespace kselect::search::fused {

struct bound_case {
  std::string name;
  std::int64_t dimension;
  float centre, spread;
  float outlier;  // added to the components of a few vectors; 0: none
  simt::product factors = simt::product::float16;
};

inline std::vector<bound_case> bound_cases() {
  return {{"normal", 128, 0, 1, 0},        {"short", 3, 0, 1, 0},
          {"long", 400, 0, 1, 0},          {"far from the origin", 64, 1000, 1, 0},
          {"outliers", 64, 0, 1, 300},     {"extreme outliers", 64, 0, 1, 1e9F},
          {"denormals", 64, 0, 1e-41F, 0}, {"large", 64, 0, 1e36F, 0}};
}

inline std::vector<float> bound_vectors(const bound_case& c, std::int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> data(static_cast<std::size_t>(count * c.dimension));
  for (std::size_t i = 0; i < data.size(); ++i) {
    const bool unusual = c.outlier != 0 && i / static_cast<std::size_t>(c.dimension) % 50 == 7;
    data[i] = c.centre + normal(bits) * c.spread + (unusual ? c.outlier : 0);
  }
  return data;
}

template <class T>
std::vector<T> fetched(backend& place, global<const T> from) {
  std::vector<T> values(static_cast<std::size_t>(from.size));
  place.to_host(std::as_writable_bytes(std::span(values)),
                reinterpret_cast<const std::byte*>(from.data));
  return values;
}

// Maxima of groups of tiles are those of the matrix of all scores. A warp's columns are a group.
template <bool queries_stay>
void expect_maxima(backend& place, filter_args args, const std::vector<float>& scores) {
  constexpr std::int64_t q = tile_rows, group_width = tile_rows / maxima_of_tile;
  const std::int64_t columns = args.matrix_pitch;
  args.group = 2;
  args.matrix_pitch = (args.last_tile + 1) / args.group * maxima_of_tile;
  const device_buffer maxima = make<float>(place, q * args.matrix_pitch);
  args.matrix = view<float>(maxima);
  args.part = 2;
  using kernel = filter_kernel<output::maxima, queries_stay>;
  start<kernel>(place, (args.last_tile + 1) / args.part, args, kernel::max_threads,
                kernel::dynamic_bytes(args.slabs));
  const auto found = fetched<float>(place, {view<float>(maxima).data, q * args.matrix_pitch});
  std::vector<float> right(found.size(), -std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < q * columns; ++i) {
    const std::int64_t tile = i % columns / tile_rows, place_in_tile = i % tile_rows / group_width;
    float& best = right[static_cast<std::size_t>(
        i / columns * args.matrix_pitch + tile / args.group * maxima_of_tile + place_in_tile)];
    best = std::max(best, scores[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(found, right);
}

// How many pairs were checked: those whose bound is positive. `wanted` kernels are launched by the
// including file's compiler.
template <bool queries_stay>
inline std::int64_t expect_bound(backend& place, const bound_case& c) {
  constexpr std::int64_t n = 300, q = 128;
  const std::vector<float> base = bound_vectors(c, n, 1), query = bound_vectors(c, q, 2);
  const device_buffer of_base = make<float>(place, n * c.dimension);
  const device_buffer of_query = make<float>(place, q * c.dimension);
  place.to_device(of_base.data(), std::as_bytes(std::span(base)));
  place.to_device(of_query.data(), std::as_bytes(std::span(query)));
  prepared_corpus corpus(place, view<float>(of_base).data, n, c.dimension, metric::sqeuclidean);
  corpus.prepare([](stage, const std::function<void()>& work) { work(); });
  const std::int64_t slabs = slabs_of(c.dimension), columns = tiles_of(n) * tile_rows;
  const device_buffer rounded_queries = make<chunk>(place, slabs * slab_vectors);
  const device_buffer squares = make<double>(place, q), errors = make<double>(place, q);
  const device_buffer matrix = make<float>(place, q * columns);
  const rounded queries{view<chunk>(rounded_queries), view<double>(squares), view<double>(errors)};
  image_source source;
  source.raw = {view<float>(of_query).data, q * c.dimension};
  source.dimension = c.dimension;
  start<rounding_kernel>(place, 1,
                         {source,
                          {.ids = {}, .count = q, .stride = 1, .first = 0},
                          q,
                          corpus.centre(),
                          corpus.facts(),
                          queries,
                          {},
                          {}});
  filter_args args;
  args.queries = queries;
  args.corpus = corpus.vectors();
  args.starts = corpus.starts();
  args.rows = q;
  args.slabs = static_cast<int>(slabs);
  args.query_tiles = 1;
  args.last_tile = args.part = static_cast<int>(tiles_of(n));
  args.matrix = view<float>(matrix);
  args.matrix_pitch = columns;
  using kernel = filter_kernel<output::matrix, queries_stay>;
  start<kernel>(place, 1, args, kernel::max_threads, kernel::dynamic_bytes(args.slabs));
  const auto scores = fetched<float>(place, {view<float>(matrix).data, q * columns});
  expect_maxima<queries_stay>(place, args, scores);
  const corpus_facts facts = fetched<corpus_facts>(place, corpus.facts()).front();
  const auto square = fetched<double>(place, {view<double>(squares).data, q});
  const auto error = fetched<double>(place, {view<double>(errors).data, q});
  std::int64_t checked = 0;
  for (std::int64_t i = 0; i < q; ++i) {
    for (std::int64_t p = 0; p < n; ++p) {
      const std::int64_t j = p * corpus.order().stride % n;
      long double sum = 0;
      for (std::int64_t d = 0; d < c.dimension; ++d) {
        const long double difference =
            static_cast<long double>(query[static_cast<std::size_t>(i * c.dimension + d)]) -
            base[static_cast<std::size_t>(j * c.dimension + d)];
        sum += difference * difference;
      }
      const auto row = static_cast<std::size_t>(i);
      const double bound = nearest_left_out(facts, {square[row], error[row]},
                                            scores[static_cast<std::size_t>(i * columns + p)]);
      const auto distance = static_cast<double>(std::sqrt(sum)) * facts.scale;
      EXPECT_LE(bound, distance) << c.name << ", query " << i << ", vector " << j;
      checked += bound > 0 ? 1 : 0;
      if (testing::Test::HasFailure()) return checked;
      // And the threshold for a distance admits the vectors that near.
      const float threshold = threshold_for(facts, {square[row], error[row]}, distance);
      if (threshold < std::numeric_limits<float>::infinity()) {
        EXPECT_GT(scores[static_cast<std::size_t>(i * columns + p)], threshold)
            << c.name << ", query " << i << ", vector " << j;
      }
    }
  }
  return checked;
}

inline void expect_bounds(backend& place) {
  for (const bound_case& c : bound_cases()) {
    SCOPED_TRACE(c.name);
    std::int64_t checked = expect_bound<false>(place, c);
    if (slabs_of(c.dimension) <= 2) checked += expect_bound<true>(place, c);
    if (c.outlier == 0) {
      EXPECT_GT(checked, 128 * 300 / 2);
    }
  }
}

}  // namespace kselect::search::fused
