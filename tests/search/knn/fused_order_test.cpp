// The order of a graph's vectors by their limits, on fibers: every vector has one position, with
// all that is its own, and no row has a bound above a limit that follows.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/search_memory.hpp"
#include "tests/search/knn/fused_bound.hpp"

namespace kselect::search::fused {
namespace {

constexpr std::int64_t dimension = 70;  // two slabs, the second with padding

class fused_order : public testing::Test {
 protected:
  template <class T>
  std::vector<T> held(const device_buffer& from) const {
    return fetched<T>(*place_, view<const T>(from));
  }

  // Orders random vectors by these thresholds.
  void order(const std::vector<float>& thresholds) {
    n_ = static_cast<std::int64_t>(thresholds.size());
    std::mt19937 bits(3);
    std::normal_distribution<float> normal;
    std::vector<float> data(static_cast<std::size_t>(n_ * dimension));
    std::ranges::generate(data, [&] { return normal(bits); });
    raw_ = make<float>(*place_, n_ * dimension);
    place_->to_device(raw_.data(), std::as_bytes(std::span(data)));
    corpus_.emplace(*place_, view<float>(raw_).data, n_, dimension, metric::sqeuclidean,
                    simt::product::float16);
    corpus_->prepare([](stage, const std::function<void()>& work) { work(); });
    half_.emplace(*place_, *corpus_,
                  half_plan{.impossible_because = {}, .part = 2, .blocks = 0, .room = 1});
    half_->begin(*place_, *corpus_);
    place_->to_device(half_->given.limits.data(), std::as_bytes(std::span(thresholds)));
    half_->order(*place_, *corpus_);
  }

  // The position that each had in the corpus, by its position after the order.
  std::vector<std::int64_t> expect_one_position_each() {
    const auto ids = held<std::int32_t>(half_->ids);
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), static_cast<std::size_t>(n_));
    std::vector<std::int64_t> position_of(static_cast<std::size_t>(n_));
    for (std::int64_t p = 0; p < n_; ++p) {
      position_of.at(static_cast<std::size_t>(p * corpus_->order().stride % n_)) = p;
    }
    std::vector<std::int64_t> before;
    for (const std::int32_t id : ids) {
      before.push_back(position_of.at(static_cast<std::size_t>(id)));
    }
    return before;
  }

  template <class T>
  void expect_moved(const device_buffer& from, const device_buffer& to,
                    const std::vector<std::int64_t>& before) const {
    const auto old = held<T>(from), now = held<T>(to);
    for (std::size_t p = 0; p < before.size(); ++p) {
      ASSERT_EQ(now[p], old[static_cast<std::size_t>(before[p])]) << p;
    }
    for (std::size_t p = before.size(); p < old.size(); ++p) ASSERT_EQ(now[p], old[p]) << p;
  }

  void expect_order(const std::vector<float>& thresholds) {
    order(thresholds);
    const std::vector<std::int64_t> before = expect_one_position_each();
    expect_moved<float>(half_->given.limits, half_->ordered.limits, before);
    expect_moved<float>(half_->given.starts, half_->ordered.starts, before);
    expect_moved<double>(half_->given.offsets, half_->ordered.offsets, before);
    expect_moved_vectors(before);
    const auto limits = held<float>(half_->ordered.limits), bounds = held<float>(half_->bounds);
    float least = without_limit;
    for (std::size_t p = limits.size(); p-- > 0;) {
      least = std::min(least, limits[p]);
      ASSERT_LE(bounds[p], least) << p;
      ASSERT_FALSE(std::isnan(bounds[p]));
    }
  }

  void expect_moved_vectors(const std::vector<std::int64_t>& before) const {
    const rounded given = corpus_->vectors();
    const auto old = fetched<chunk>(*place_, given.slabs);
    const auto now = fetched<chunk>(*place_, half_->vectors().slabs);
    ASSERT_EQ(old.size(), now.size());
    const std::int64_t slabs = slabs_of(dimension);
    const auto place = [&](std::int64_t p, std::int64_t slab, int chunk_of_row) {
      return static_cast<std::size_t>((p / tile_rows * slabs + slab) * slab_vectors +
                                      place_in_slab(static_cast<int>(p % tile_rows), chunk_of_row));
    };
    for (std::size_t p = 0; p < before.size(); ++p) {
      for (std::int64_t slab = 0; slab < slabs; ++slab) {
        for (int c = 0; c < slab_chunks; ++c) {
          for (int e = 0; e < 4; ++e) {
            ASSERT_EQ(now[place(static_cast<std::int64_t>(p), slab, c)][e],
                      old[place(before[p], slab, c)][e]);
          }
        }
      }
    }
  }

  std::unique_ptr<backend> place_ = runtime::open_backend(executor_kind::fiber, 2);
  std::int64_t n_ = 0;
  device_buffer raw_;
  std::optional<prepared_corpus> corpus_;
  std::optional<half_memory> half_;
};

std::vector<float> random_thresholds(std::size_t n) {
  std::mt19937 bits(11);
  std::normal_distribution<float> normal(-60, 5);
  std::vector<float> made(n);
  std::ranges::generate(made, [&] { return normal(bits); });
  return made;
}

TEST_F(fused_order, is_by_limits) {
  expect_order(random_thresholds(1000));
  // Most of them are in order, though buckets are not.
  const auto limits = held<float>(half_->ordered.limits);
  int descents = 0;
  for (std::size_t p = 1; p < 1000; ++p) descents += limits[p] < limits[p - 1] ? 1 : 0;
  EXPECT_LT(descents, 300);
  EXPECT_LT(limits[0], limits[500]);
  EXPECT_LT(limits[500], limits[999]);
}
TEST_F(fused_order, keeps_equal_limits) {
  order(std::vector<float>(300, -1e30F));  // starts vanish beside it
  const auto limits = held<float>(half_->ordered.limits);
  EXPECT_EQ(limits[0], limits[299]);
  expect_one_position_each();
}
TEST_F(fused_order, puts_vectors_without_a_limit_last) {
  std::vector<float> thresholds = random_thresholds(500);
  for (std::size_t i = 0; i < 500; i += 5) thresholds[i] = without_limit;
  thresholds[7] = std::numeric_limits<float>::quiet_NaN();
  thresholds[8] = -without_limit;
  expect_order(thresholds);
  const auto limits = held<float>(half_->ordered.limits);
  EXPECT_EQ(std::ranges::count(limits.begin(), limits.begin() + 500, without_limit), 102);
  expect_order(std::vector<float>(200, without_limit));
}
TEST_F(fused_order, has_buckets_for_limits_beside_one_that_is_far) {
  std::vector<float> thresholds = random_thresholds(1000);
  thresholds[400] = -1e12F;
  expect_order(thresholds);
  const auto bounds = held<float>(half_->bounds);
  const std::set<float> different(bounds.begin(), bounds.begin() + 1000);
  EXPECT_GT(different.size(), 20U);
}

}  // namespace
}  // namespace kselect::search::fused
