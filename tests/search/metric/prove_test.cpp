// Answers with one error each: the proof must find every error.

#include "search/metric/prove.hpp"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "runtime/backend/host_backend.hpp"
#include "search/metric/sets.hpp"
#include "tests/search/metric/objects.hpp"

namespace kselect::search::metric_space {
namespace {

class Prove : public testing::Test {
 protected:
  Prove() {
    const auto place = open_host_backend(executor_kind::cpu, 1);
    search_report report;
    const auto search = in_.open(objects_, {}, *place, {});
    nearest_ = search->knn(queries_, 6, {}, report);
    hits_ = search->range(queries_, 1.5F, report);
  }

  const space& in_ = find_space("euclidean");
  set_holder<euclidean> objects_{test_objects<euclidean>(80, 1)};
  set_holder<euclidean> queries_{test_objects<euclidean>(4, 2)};
  knn_answer nearest_;
  range_answer hits_;
};

TEST_F(Prove, AcceptsTheTruth) {
  EXPECT_EQ(disprove(in_, objects_, queries_, nearest_, 2), "");
  EXPECT_EQ(disprove(in_, objects_, queries_, 1.5F, hits_, 2), "");
}

TEST_F(Prove, FindsEveryWrongNeighbour) {
  const std::function<void(knn_answer&)> spoils[] = {
      [](knn_answer& a) { std::swap(a.objects[6], a.objects[7]); },
      [](knn_answer& a) { a.distances[9] *= 1.0000002F; },
      [](knn_answer& a) { a.objects[11] = a.objects[10]; },
      [](knn_answer& a) { a.objects[0] = 80; },
      [](knn_answer& a) { a.objects.pop_back(); },
      // The seventh nearest replaces the sixth.
      [this](knn_answer& a) {
        std::vector<float> row(80);
        in_.distances(objects_, queries_, 0, row);
        std::vector<std::pair<float, std::int64_t>> order;
        for (std::size_t i = 0; i < 80; ++i) order.emplace_back(row[i], i);
        std::ranges::sort(order);
        a.distances[5] = order[6].first;
        a.objects[5] = order[6].second;
      },
  };
  int number = 0;
  for (const auto& spoil : spoils) {
    knn_answer wrong = nearest_;
    spoil(wrong);
    EXPECT_NE(disprove(in_, objects_, queries_, wrong, 2), "") << number;
    ++number;
  }
}

TEST_F(Prove, FindsEveryWrongHit) {
  ASSERT_GE(hits_.starts[1], 3);
  const std::function<void(range_answer&)> spoils[] = {
      [](range_answer& a) { std::swap(a.objects[0], a.objects[1]); },
      [](range_answer& a) { a.distances[1] *= 1.0000002F; },
      [](range_answer& a) { a.starts[1] -= 1; },
      [](range_answer& a) {
        a.objects.pop_back();
        a.distances.pop_back();
        a.starts.back() -= 1;
      },
  };
  int number = 0;
  for (const auto& spoil : spoils) {
    range_answer wrong = hits_;
    spoil(wrong);
    EXPECT_NE(disprove(in_, objects_, queries_, 1.5F, wrong, 2), "") << number;
    ++number;
  }
}

}  // namespace
}  // namespace kselect::search::metric_space
