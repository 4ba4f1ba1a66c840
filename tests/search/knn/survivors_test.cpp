// Which survivors of a query are measured first: on fibers, by scores that tests make.

#include "search/knn/fused/survivors.cuh"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/arrays.hpp"

namespace kselect::search::fused {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Collects lists and says of each survivor whether it is measured first.
struct choosing_kernel {
  static constexpr int max_threads = 128;
  using storage = gathered;
  struct args {
    survivor_lists lists;
    float threshold, highest;
    std::uint32_t wanted, room;
    global<std::uint32_t> positions, first;  // [room]
    global<std::uint32_t> counts;            // survivors, whether lists ran over
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const positions = static_cast<std::uint32_t*>(simt.dynamic_shared());
    const scored_list list{positions, reinterpret_cast<float*>(positions + a.room), a.room};
    shared.clear(simt);
    simt.sync_block();
    collect(simt, shared, a.lists, 0, a.threshold, list);
    simt.sync_block();
    const std::uint32_t count = shared.count < a.room ? shared.count : a.room;
    const best_scores best = best_of(simt, shared, list, count, a.wanted, a.threshold, a.highest);
    for (auto i = static_cast<std::uint32_t>(simt.thread()); i < count; i += max_threads) {
      simt.store(a.positions, i, list.positions[i]);
      simt.store(a.first, i, best.has(list.scores[i]) ? 1 : 0);
    }
    if (simt.thread() == 0) simt.store(a.counts, 0, shared.count);
    if (simt.thread() == 0) simt.store(a.counts, 1, shared.lost);
  }
};

struct choice {
  std::uint32_t count = 0, lost = 0;
  std::vector<std::uint32_t> positions, first;
};

// Position i has score i; segments of a list take them in turn.
choice chosen(const std::vector<float>& scores, int splits, int room, std::uint32_t wanted,
              float threshold, float highest = infinity, std::uint32_t all = 1024) {
  const auto place = runtime::open_backend(executor_kind::fiber, 2);
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(splits));
  std::vector<std::uint32_t> positions(static_cast<std::size_t>(splits * room));
  std::vector<float> listed(positions.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::size_t split = i % counts.size();
    const std::uint32_t at = counts[split]++;
    if (at >= static_cast<std::uint32_t>(room)) continue;
    positions[split * static_cast<std::size_t>(room) + at] = static_cast<std::uint32_t>(i);
    listed[split * static_cast<std::size_t>(room) + at] = scores[i];
  }
  choice made{.positions = std::vector<std::uint32_t>(all),
              .first = std::vector<std::uint32_t>(all)};
  std::vector<std::uint32_t> found(2);
  const auto of = [](auto& data) {
    return global<std::remove_reference_t<decltype(data[0])>>{data.data(), std::ssize(data)};
  };
  start<choosing_kernel>(*place, 1,
                         {{of(counts), of(positions), of(listed), splits, room},
                          threshold,
                          highest,
                          wanted,
                          all,
                          of(made.positions),
                          of(made.first),
                          of(found)},
                         choosing_kernel::max_threads, all * 8);
  made.count = found[0];
  made.lost = found[1];
  made.positions.resize(std::min(all, made.count));
  made.first.resize(made.positions.size());
  return made;
}

// Those measured first are at least as many as wanted, are the best, and are not many more.
void expect_best(const std::vector<float>& scores, const choice& made, std::uint32_t wanted,
                 std::uint32_t most) {
  std::uint32_t first = 0;
  float worst = infinity, best_of_others = -infinity;
  for (std::size_t i = 0; i < made.positions.size(); ++i) {
    const float score = scores[made.positions[i]];
    first += made.first[i];
    if (made.first[i] != 0) {
      worst = std::min(worst, score);
    } else {
      best_of_others = std::max(best_of_others, score);
    }
  }
  EXPECT_GE(first, wanted);
  EXPECT_LE(first, most);
  EXPECT_GE(worst, best_of_others);
}

std::vector<float> random_scores(std::size_t count, float from, float to, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> value(from, to);
  std::vector<float> scores(count);
  std::ranges::generate(scores, [&] { return value(bits); });
  return scores;
}

TEST(survivors, the_best_are_measured_first) {
  for (const int splits : {1, 13, 33, 70}) {
    const std::vector<float> scores = random_scores(300, -2, 5, 1);
    const choice made = chosen(scores, splits, 512, 100, -2);
    EXPECT_EQ(made.count, 300U);
    EXPECT_EQ(made.lost, 0U);
    expect_best(scores, made, 100, 110);
  }
}

// The query itself, an outlier and a vector of an unknown error leave enough bins for the others.
TEST(survivors, scores_that_are_raised_do_not_hide_the_others) {
  std::vector<float> scores = random_scores(300, 10, 11, 2);
  scores[7] = 1e20F;
  scores[9] = infinity;
  expect_best(scores, chosen(scores, 13, 64, 20, 10, 20), 20, 60);
}

TEST(survivors, all_are_measured_where_scores_cannot_tell) {
  const auto expect_all = [](const std::vector<float>& scores, float threshold) {
    const choice made = chosen(scores, 3, 512, 10, threshold);
    EXPECT_EQ(made.count, scores.size());
    expect_best(scores, made, made.count, made.count);
  };
  expect_all(random_scores(300, 0, 1, 3), -infinity);
  expect_all(std::vector<float>(300, infinity), 0);
  expect_all(std::vector<float>(300, 1), 1 - 0x1p-24F);
  expect_all(random_scores(12, 0, 1, 4), -1);
}

TEST(survivors, only_what_is_beyond_the_threshold_counts) {
  const std::vector<float> scores = random_scores(400, 0, 1, 5);
  const choice made = chosen(scores, 13, 64, 10, 0.5F);
  const auto beyond = std::ranges::count_if(scores, [](float s) { return s > 0.5F; });
  EXPECT_EQ(made.count, static_cast<std::uint32_t>(beyond));
  for (const std::uint32_t position : made.positions) EXPECT_GT(scores[position], 0.5F);
}

TEST(survivors, lists_that_run_over_are_told) {
  const std::vector<float> scores = random_scores(400, 0, 1, 6);
  EXPECT_EQ(chosen(scores, 4, 99, 10, -1).lost, 1U);
  EXPECT_EQ(chosen(scores, 4, 100, 10, -1).lost, 0U);
  const choice short_of_room = chosen(scores, 4, 100, 10, -1, infinity, 256);
  EXPECT_EQ(short_of_room.lost, 1U);
  EXPECT_EQ(short_of_room.count, 400U);
}

}  // namespace
}  // namespace kselect::search::fused
