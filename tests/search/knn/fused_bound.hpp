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
  return {{"normal", 128, 0, 1, 0},
          {"short", 3, 0, 1, 0},
          {"long", 400, 0, 1, 0},
          {"far from the origin", 64, 1000, 1, 0},
          {"outliers", 64, 0, 1, 300},
          {"extreme outliers", 64, 0, 1, 1e9F},
          {"denormals", 64, 0, 1e-41F, 0},
          {"large", 64, 0, 1e36F, 0},
          {"in bfloat16", 128, 0, 1, 0, simt::product::bfloat16},
          {"far, in bfloat16", 64, 1000, 1, 0, simt::product::bfloat16},
          {"few large ones, in bfloat16", 64, 0, 1, 1e6F, simt::product::bfloat16},
          {"denormals, in bfloat16", 3, 0, 1e-41F, 0, simt::product::bfloat16},
          {"in integers", 200, 100, 20, 0, simt::product::int8}};
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

// Vectors and queries of a case, rounded, with all their scores. Kernels are launched by the
// including file's compiler.
template <bool queries_stay, simt::product factors>
class scored_case {
 public:
  static constexpr std::int64_t n = 300, q = tile_rows;

  scored_case(backend& place, const bound_case& c)
      : place_(place),
        dimension_(c.dimension),
        base_(bound_vectors(c, n, 1)),
        query_(bound_vectors(c, q, 2)),
        of_base_(make<float>(place, n * c.dimension)),
        of_query_(make<float>(place, q * c.dimension)),
        corpus_(place, view<float>(of_base_).data, n, c.dimension, metric::sqeuclidean, factors),
        slabs_(make<chunk>(place, slabs() * slab_vectors)),
        of_squares_(make<double>(place, q)),
        of_errors_(make<double>(place, q)),
        matrix_(make<float>(place, q * columns)) {
    place.to_device(of_base_.data(), std::as_bytes(std::span(base_)));
    place.to_device(of_query_.data(), std::as_bytes(std::span(query_)));
    corpus_.prepare([](stage, const std::function<void()>& work) { work(); });
    round_queries();
    filter_args args = products();
    args.matrix = view<float>(matrix_);
    args.matrix_pitch = columns;
    run<output::matrix>(args, 1);
    scores_ = fetched<float>(place, {view<float>(matrix_).data, q * columns});
    facts_ = fetched<corpus_facts>(place, corpus_.facts()).front();
    squares_ = fetched<double>(place, {view<double>(of_squares_).data, q});
    errors_ = fetched<double>(place, {view<double>(of_errors_).data, q});
  }

  const corpus_facts& facts() const { return facts_; }
  query_facts query(std::int64_t i) const { return {squares_[at(i)], errors_[at(i)]}; }
  float score(std::int64_t i, std::int64_t position) const {
    return scores_[at(i * columns + position)];
  }
  // Between query i and the vector at a position, scaled.
  double distance(std::int64_t i, std::int64_t position) const {
    const std::int64_t j = position * corpus_.order().stride % n;
    long double sum = 0;
    for (std::int64_t d = 0; d < dimension_; ++d) {
      const long double difference =
          static_cast<long double>(query_[at(i * dimension_ + d)]) - base_[at(j * dimension_ + d)];
      sum += difference * difference;
    }
    return static_cast<double>(std::sqrt(sum)) * facts_.scale;
  }

  // Maxima of groups of tiles are those of the matrix of all scores. A warp's columns are a group.
  void expect_maxima() {
    constexpr std::int64_t group_width = tile_rows / maxima_of_tile;
    filter_args args = products();
    args.group = args.part = 2;
    args.matrix_pitch = (args.last_tile + 1) / args.group * maxima_of_tile;
    const device_buffer maxima = make<float>(place_, q * args.matrix_pitch);
    args.matrix = view<float>(maxima);
    run<output::maxima>(args, (args.last_tile + 1) / args.part);
    const auto found = fetched<float>(place_, {view<float>(maxima).data, q * args.matrix_pitch});
    std::vector<float> right(found.size(), -std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < q * columns; ++i) {
      const std::int64_t tile = i % columns / tile_rows, in_tile = i % tile_rows / group_width;
      float& best =
          right[at(i / columns * args.matrix_pitch + tile / args.group * maxima_of_tile + in_tile)];
      best = std::max(best, scores_[at(i)]);
    }
    EXPECT_EQ(found, right);
  }

 private:
  static constexpr std::int64_t columns = (n + tile_rows - 1) / tile_rows * tile_rows;
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t slabs() const { return slabs_of(dimension_, factors); }
  rounded queries() const {
    return {view<chunk>(slabs_), view<double>(of_squares_), view<double>(of_errors_)};
  }
  void round_queries() {
    image_source source;
    source.raw = {view<float>(of_query_).data, q * dimension_};
    source.dimension = dimension_;
    start<rounding_kernel_of<factors>>(place_, 1,
                                       {source,
                                        {.ids = {}, .count = q, .stride = 1, .first = 0},
                                        q,
                                        corpus_.centre(),
                                        corpus_.facts(),
                                        queries(),
                                        {},
                                        {}});
  }
  filter_args products() const {
    filter_args args;
    args.queries = queries();
    args.corpus = corpus_.vectors();
    args.starts = corpus_.starts();
    args.rows = q;
    args.slabs = static_cast<int>(slabs());
    args.query_tiles = 1;
    args.last_tile = args.part = static_cast<int>(tiles_of(n));
    return args;
  }
  template <output wanted>
  void run(const filter_args& args, std::int64_t blocks) {
    using kernel = filter_kernel<wanted, queries_stay, false, factors>;
    start<kernel>(place_, blocks, args, kernel::max_threads, kernel::dynamic_bytes(args.slabs));
  }

  backend& place_;
  std::int64_t dimension_;
  std::vector<float> base_, query_;
  device_buffer of_base_, of_query_;
  prepared_corpus corpus_;
  device_buffer slabs_, of_squares_, of_errors_, matrix_;
  std::vector<float> scores_;
  corpus_facts facts_;
  std::vector<double> squares_, errors_;
};

// How many pairs were checked: those whose bound is positive.
template <bool queries_stay, simt::product factors>
std::int64_t expect_bound(backend& place, const bound_case& c) {
  scored_case<queries_stay, factors> scored(place, c);
  scored.expect_maxima();
  std::int64_t checked = 0;
  for (std::int64_t i = 0; i < scored.q; ++i) {
    for (std::int64_t p = 0; p < scored.n; ++p) {
      const float score = scored.score(i, p);
      const double distance = scored.distance(i, p);
      const double bound = nearest_left_out(scored.facts(), scored.query(i), score);
      EXPECT_LE(bound, distance) << c.name << ", query " << i << ", position " << p;
      checked += bound > 0 ? 1 : 0;
      // And the threshold for a distance admits the vectors that near.
      const float threshold = threshold_for(scored.facts(), scored.query(i), distance);
      if (threshold < std::numeric_limits<float>::infinity()) {
        EXPECT_GT(score, threshold) << c.name << ", query " << i << ", position " << p;
      }
      if (testing::Test::HasFailure()) return checked;
    }
  }
  return checked;
}

template <simt::product factors>
void expect_bounds(backend& place) {
  for (const bound_case& c : bound_cases()) {
    if (c.factors != factors) continue;
    SCOPED_TRACE(c.name);
    std::int64_t checked = expect_bound<false, factors>(place, c);
    if (slabs_of(c.dimension, factors) <= 2) checked += expect_bound<true, factors>(place, c);
    if (c.outlier == 0) {
      EXPECT_GT(checked, 128 * 300 / 2);
    }
  }
}

inline void expect_bounds(backend& place) {
  expect_bounds<simt::product::float16>(place);
  expect_bounds<simt::product::bfloat16>(place);
  expect_bounds<simt::product::int8>(place);
}

}  // namespace kselect::search::fused
