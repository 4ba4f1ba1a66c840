#pragma once
// The inequality that proofs of a graph by half of the products rest on, for all pairs of small
// sets, by a body of the filter.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/bounds.cuh"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/search_memory.hpp"
#include "tests/search/knn/fused_bound.hpp"
#include "tests/search/knn/tried.hpp"

namespace kselect::search::fused {

// Vectors of one case, prepared, with what its pairs need.
class pairs_of_case {
 public:
  // A list has room for all vectors.
  pairs_of_case(backend& place, const bound_case& c, std::int64_t n)
      : place_(place),
        n_(n),
        data_(bound_vectors(c, n, 1)),
        raw_(make<float>(place, n * c.dimension)),
        corpus_(place, view<float>(raw_).data, n, c.dimension, metric::sqeuclidean, c.factors),
        half_(place, corpus_, {.impossible_because = {}, .part = 2, .blocks = 0, .room = room(n)}) {
    place.to_device(raw_.data(), std::as_bytes(std::span(data_)));
    corpus_.prepare([](stage, const std::function<void()>& work) { work(); });
    half_.begin(place, corpus_);
    facts_ = fetched<corpus_facts>(place, view<const corpus_facts>(half_.facts)).front();
    offsets_ = fetched<double>(place, view<const double>(half_.given.offsets));
    squares_ = fetched<double>(place, corpus_.vectors().squares);
    errors_ = fetched<double>(place, corpus_.vectors().errors);
  }

  std::int64_t count() const { return n_; }
  query_facts query(std::int64_t p) const {
    return {squares_[static_cast<std::size_t>(p)], errors_[static_cast<std::size_t>(p)]};
  }
  double offset(std::int64_t p) const { return offsets_[static_cast<std::size_t>(p)]; }
  const corpus_facts& facts() const { return facts_; }

  // Between the vectors at two positions, scaled.
  double distance(std::int64_t p, std::int64_t q) const {
    const long double apart = tried::distance(metric::euclidean, vector(p), vector(q));
    return static_cast<double>(apart) * facts_.scale;
  }

  // How often each position is in every list, by limits of all positions. Rows have the least limit
  // from theirs on as their bound.
  std::vector<std::vector<std::uint32_t>> hits(std::vector<float> limits, product_body body) {
    limits.resize(static_cast<std::size_t>(half_.padded), without_limit);
    place_.to_device(half_.given.limits.data(), std::as_bytes(std::span(limits)));
    std::vector<float> bounds(limits);
    for (std::size_t p = bounds.size() - 1; p > 0; --p) {
      bounds[p - 1] = std::min(bounds[p - 1], bounds[p]);
    }
    place_.to_device(half_.bounds.data(), std::as_bytes(std::span(bounds)));
    half_.begin(place_, corpus_);
    filter_args args;
    args.queries = args.corpus = corpus_.vectors();
    args.starts = view<const float>(half_.given.starts);
    args.thresholds = view<const float>(half_.given.limits);
    args.bounds = view<const float>(half_.bounds);
    args.rows = n_;
    args.factors = corpus_.factors();
    args.slabs = static_cast<int>(slabs_of(corpus_.dimension(), corpus_.factors()));
    args.last_tile = args.query_tiles = static_cast<int>(tiles_of(n_));
    args.part = 2;
    args.lists = half_.lists();
    filter_pairs(place_, args, body);
    const auto counts = fetched<std::uint32_t>(place_, view<const std::uint32_t>(half_.counts));
    const auto listed = fetched<std::uint32_t>(place_, view<const std::uint32_t>(half_.positions));
    std::vector<std::vector<std::uint32_t>> found(
        static_cast<std::size_t>(n_), std::vector<std::uint32_t>(static_cast<std::size_t>(n_)));
    for (std::size_t p = 0; p < found.size(); ++p) {
      EXPECT_LE(counts[p], static_cast<std::uint32_t>(half_.room));
      const auto list = std::span(listed).subspan(p * static_cast<std::size_t>(half_.room));
      const auto length = std::min<std::size_t>(counts[p], static_cast<std::size_t>(half_.room));
      for (const std::uint32_t position : list.first(length)) ++found[p].at(position);
    }
    return found;
  }

 private:
  std::span<const float> vector(std::int64_t position) const {
    const std::int64_t d = corpus_.dimension(), index = position * corpus_.order().stride % n_;
    return std::span(data_).subspan(static_cast<std::size_t>(index * d),
                                    static_cast<std::size_t>(d));
  }
  static int room(std::int64_t n) { return static_cast<int>(tiles_of(n)) * tile_rows; }

  backend& place_;
  std::int64_t n_;
  std::vector<float> data_;
  device_buffer raw_;
  prepared_corpus corpus_;
  half_memory half_;
  corpus_facts facts_;
  std::vector<double> offsets_, squares_, errors_;
};

// With limits from distances: whatever is that near is listed, once, and what is not listed is as
// far as the limit says. Returns how many vectors were left out by a bound that says something.
inline std::int64_t expect_hits(pairs_of_case& pairs, product_body body) {
  const std::int64_t n = pairs.count();
  std::vector<float> limits;
  std::vector<double> reach;
  for (std::int64_t p = 0; p < n; ++p) {
    reach.push_back(pairs.distance(p, (7 * p + 3) % n));
    const float threshold = threshold_for(pairs.facts(), pairs.query(p), reach.back());
    limits.push_back(threshold_of_lists(threshold, pairs.offset(p)));
  }
  const auto found = pairs.hits(limits, body);
  std::int64_t left_out = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    const auto row = static_cast<std::size_t>(p);
    const bool limited = limits[row] < std::numeric_limits<float>::infinity();
    const double far = nearest_left_out(pairs.facts(), pairs.query(p),
                                        threshold_of_bound(limits[row], pairs.offset(p)));
    for (std::int64_t other = 0; other < n; ++other) {
      const std::uint32_t times = found[row][static_cast<std::size_t>(other)];
      if (times == 1 || (times == 0 && !limited)) continue;
      const double distance = pairs.distance(p, other);
      if (times > 1 || !(distance > reach[row] && distance >= far)) {
        ADD_FAILURE() << p << " has " << other << ' ' << times << " times, " << distance << " away";
        return left_out;
      }
      left_out += far > 0 ? 1 : 0;
    }
  }
  return left_out;
}

inline void expect_hits_of_all(backend& place, product_body body, std::int64_t most_dimension) {
  for (const bound_case& c : bound_cases()) {
    const bool by_wgmma = body == product_body::wgmma;
    if (c.dimension > most_dimension || (by_wgmma && c.factors != simt::product::float16)) continue;
    SCOPED_TRACE(c.name);
    for (const std::int64_t n : {100, 401, 600}) {  // an odd and an even number of tiles
      pairs_of_case pairs(place, c, n);
      const std::int64_t left_out = expect_hits(pairs, body);
      if (c.outlier == 0) {
        EXPECT_GT(left_out, n * n / 4);
      }
    }
  }
}

}  // namespace kselect::search::fused
