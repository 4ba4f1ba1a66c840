// `--product auto` on a GPU of compute capability 9.0 where each query has a filter of its own.
//
// wgmma has no int8 with such filters, so float16 is faster where wgmma has it: for up to 128
// components. Fibers cannot run wgmma. They stand for such a GPU with longer vectors, which
// mma.sync multiplies, faster as bytes.

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/knn_by_products.hpp"
#include "tests/on_fibers.hpp"
#include "tests/search/knn/knn_on_cuda.hpp"

namespace kselect::search::on_a_gpu {
namespace {

class hopper_of_fibers final : public on_fibers {
 public:
  hopper_of_fibers() : on_fibers(1), seen_(on_fibers::description()) {
    seen_.kind = executor_kind::cuda;
    seen_.compute_capability = 90;
  }
  const device& description() const override { return seen_; }

 private:
  device seen_;
};

struct filtered_question {
  vector_set base, query;
  std::vector<std::uint32_t> words;  // [queries][pitch]
  std::int64_t k;

  // Query q leaves out every vector whose number has the remainder q by 5.
  filtered_question(std::int64_t n, std::int64_t q, std::int64_t dimension, std::int64_t neighbours)
      : base(integers(n, dimension, 1)),
        query(integers(q, dimension, 2)),
        words(static_cast<std::size_t>(q * pitch())),
        k(neighbours) {
    for (std::int64_t row = 0; row < q; ++row) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (!admits(row, i)) continue;
        words[static_cast<std::size_t>(row * pitch() + i / 32)] |= 1U << (i % 32);
      }
    }
  }
  std::int64_t pitch() const { return knn_filter::words_for(base.count); }
  static bool admits(std::int64_t query, std::int64_t vector) { return vector % 5 != query % 5; }

  knn_request request(cuda_knn_report& report) const {
    return {.base = base,
            .query = &query,
            .metric = runtime::metric::sqeuclidean,
            .k = k,
            .entry = *find_algorithm("auto")->algorithm,
            .filter = {words.data(), pitch()},
            .report = &report};
  }
  // Exact, since all components are small integers.
  std::vector<std::pair<float, std::int64_t>> nearest(std::int64_t row) const {
    std::vector<std::pair<float, std::int64_t>> all;
    const float* const x = query.data.data() + row * query.dimension;
    for (std::int64_t i = 0; i < base.count; ++i) {
      if (!admits(row, i)) continue;
      const float* const y = base.data.data() + i * base.dimension;
      float sum = 0;
      for (std::int64_t c = 0; c < base.dimension; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
      all.emplace_back(sum, i);
    }
    std::ranges::partial_sort(all, all.begin() + k);
    all.resize(static_cast<std::size_t>(k));
    return all;
  }
};

void expect_nearest(const filtered_question& q, const knn_block& found) {
  ASSERT_EQ(found.count, q.query.count);
  for (std::int64_t row = 0; row < found.count; ++row) {
    const auto right = q.nearest(row);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t at = static_cast<std::size_t>(row * q.k) + j;
      ASSERT_EQ(found.distances[at], right[j].first) << "query " << row << ", place " << j;
      ASSERT_EQ(found.indices[at], right[j].second) << "query " << row << ", place " << j;
    }
  }
}

knn_product taken(const filtered_question& q, backend& place) {
  cuda_knn_report report;
  bool answered = false;
  const std::string because =
      knn_by_products(q.request(report), place, [&](const knn_block& block) {
        answered = true;
        expect_nearest(q, block);
      });
  EXPECT_EQ(because, "");
  EXPECT_TRUE(answered);
  return report.product;
}

TEST(AutoProduct, TakesBytesOfLongVectorsWithFiltersOfEachQuery) {
  const filtered_question q(4400, 7, 136, 5);
  hopper_of_fibers place;
  cuda_knn_report unused;
  ASSERT_TRUE(asks_for_products(q.request(unused), place.description()));
  EXPECT_EQ(taken(q, place), knn_product::int8);
}

TEST(AutoProduct, TakesFloat16OfNumbersThatAreNoBytes) {
  filtered_question q(4400, 7, 136, 5);
  q.base.data[0] = 300;
  hopper_of_fibers place;
  EXPECT_EQ(taken(q, place), knn_product::float16);
}

using AutoProductOnCuda = KnnOnCuda;

TEST_F(AutoProductOnCuda, TakesFloat16OfShortBytesWithFiltersOfEachQuery) {
  if (cuda_->description().compute_capability != 90 || !fused::wgmma_is_built()) {
    GTEST_SKIP() << "needs a GPU of compute capability 9.0 and code for it";
  }
  EXPECT_EQ(taken(filtered_question(20'000, 300, 128, 10), *cuda_), knn_product::float16);
}

}  // namespace
}  // namespace kselect::search::on_a_gpu
