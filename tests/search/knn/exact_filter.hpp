#pragma once
// What a pass of the filter must find, where all scores are exact: in float16, bfloat16 and
// integers alike.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/search/knn/filter_passes.hpp"

namespace kselect::search::fused {

// Exact scores of vectors of small integers, and for every query a threshold that about `wanted`
// exceed.
struct exact_scores {
  std::vector<std::vector<float>> of;
  std::vector<float> thresholds;

  exact_scores(const tiles& corpus, const tiles& queries, std::size_t wanted) {
    std::vector<std::vector<double>> base;
    for (std::int64_t i = 0; i < corpus.count; ++i) base.push_back(corpus[i]);
    for (std::int64_t q = 0; q < queries.count; ++q) {
      const std::vector<double> x = queries[q];
      std::vector<float> row;
      for (const std::vector<double>& y : base) {
        row.push_back(static_cast<float>(product(x, y) - product(y, y) / 2));
      }
      of.push_back(row);
      std::ranges::sort(row, std::greater{});
      thresholds.push_back(row[std::min(wanted, row.size() - 1)]);
    }
  }
  std::vector<survivors::one> beyond(std::size_t q) const {
    std::vector<survivors::one> all;
    for (std::size_t i = 0; i < of[q].size(); ++i) {
      if (of[q][i] > thresholds[q]) {
        all.push_back({static_cast<std::uint32_t>(i), of[q][i]});
      }
    }
    return all;
  }
};

// The right survivors. The score of each is its own or that of a better one of its tile.
inline void expect_survivors(const std::vector<survivors::one>& found,
                             const std::vector<survivors::one>& right) {
  ASSERT_TRUE(
      std::ranges::equal(found, right, {}, &survivors::one::position, &survivors::one::position));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_GE(found[i].score, right[i].score) << "position " << found[i].position;
    ASSERT_TRUE(std::ranges::any_of(right,
                                    [&](const survivors::one& other) {
                                      return other.score == found[i].score &&
                                             other.position / tile_rows ==
                                                 found[i].position / tile_rows;
                                    }))
        << "position " << found[i].position;
  }
}

// Each body finds all right survivors.
inline void expect_exact(const tiles& corpus, const tiles& queries, std::int64_t part,
                         const std::vector<product_body>& bodies) {
  const std::int64_t n = corpus.count, q = queries.count;
  SCOPED_TRACE(testing::Message() << "n " << n << ", q " << q << ", d " << corpus.dimension
                                  << ", part " << part << ", factors "
                                  << static_cast<int>(corpus.factors));
  const exact_scores right(corpus, queries, 300);
  setting s(corpus, n, queries);
  s.set(right.thresholds);
  const int room = static_cast<int>(part) * tile_rows;
  for (const product_body body : bodies) {
    const survivors found = s.pass(body, whole(n, part, room));
    for (std::int64_t row = 0; row < q; ++row) {
      ASSERT_EQ(found.of(row).size(), found.counted(row)) << name_of(body) << ", row " << row;
      SCOPED_TRACE(testing::Message() << name_of(body) << ", row " << row);
      expect_survivors(found.of(row), right.beyond(static_cast<std::size_t>(row)));
      if (testing::Test::HasFailure()) return;
    }
  }
}

// The column of a score's maximum: a warp has 32 columns by mma.sync, a lane has two of each 8 by
// wgmma.
inline int column_of(product_body body, std::size_t vector, int group) {
  const auto in_tile = static_cast<int>(vector % tile_rows);
  const int own = body == product_body::mma_sync ? in_tile / 32 : in_tile % 8 / 2;
  return static_cast<int>(vector) / tile_rows / group * maxima_of_tile + own;
}

// The maxima of groups of columns, as the body divides them.
inline std::vector<float> exact_maxima(const exact_scores& right, product_body body, int group) {
  const std::size_t n = right.of[0].size();
  const std::int64_t tiles = tiles_of(static_cast<std::int64_t>(n));
  const auto columns = static_cast<std::size_t>((tiles + group - 1) / group * maxima_of_tile);
  std::vector<float> maxima(columns * right.of.size(), -infinity);
  for (std::size_t q = 0; q < right.of.size(); ++q) {
    for (std::size_t i = 0; i < n; ++i) {
      float& best = maxima[q * columns + static_cast<std::size_t>(column_of(body, i, group))];
      best = std::max(best, right.of[q][i]);
    }
  }
  return maxima;
}

inline void expect_maxima(const tiles& corpus, const tiles& queries,
                          const std::vector<product_body>& bodies) {
  const exact_scores right(corpus, queries, 300);
  setting s(corpus, corpus.count, queries);
  for (const product_body body : bodies) {
    for (const int group : {1, 3, 24}) {
      SCOPED_TRACE(testing::Message()
                   << name_of(body) << ", group " << group << ", d " << corpus.dimension);
      const std::vector<float> maxima = exact_maxima(right, body, group);
      for (const int groups_of_part : {1, 2, 5}) {
        EXPECT_TRUE(s.maxima(body, group, groups_of_part) == maxima) << groups_of_part;
      }
    }
  }
}

}  // namespace kselect::search::fused
