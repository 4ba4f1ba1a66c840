// Answers on their way from a device's memory to the host's, and memory that is kept.

#include "search/metric/answers.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "search/metric/sets.hpp"

namespace kselect::search::metric_space {
namespace {

// Hits of one batch: a query has up to `most`, and objects tie.
std::vector<std::vector<entry>> made(std::int64_t queries, std::uint32_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<entry>> by_query(static_cast<std::size_t>(queries));
  for (std::vector<entry>& own : by_query) {
    for (auto i = random() % (most + 1); i > 0; --i) {
      own.push_back(make_entry(static_cast<float>(random() % 8),
                               static_cast<std::int64_t>(random() % 0x7fffffff)));
    }
    std::ranges::sort(own);
  }
  return by_query;
}

// As a device has them: lists of more than `sorted` hits are in any order.
struct batch_on_device {
  std::vector<std::int64_t> starts;
  found_on_device found;

  batch_on_device(kept_memory& place, std::vector<std::vector<entry>> by_query,
                  std::size_t sorted) {
    std::vector<std::uint32_t> counts;
    std::vector<std::int64_t> objects;
    std::vector<float> distances;
    for (std::vector<entry>& own : by_query) {
      if (own.size() > sorted) std::ranges::reverse(own);
      counts.push_back(static_cast<std::uint32_t>(own.size()));
      for (const entry e : own) {
        objects.push_back(object_of(e));
        distances.push_back(distance_of(e));
      }
    }
    starts = starts_of(counts);
    found = {{place, std::span<const std::int64_t>(objects)},
             {place, std::span<const float>(distances)}};
  }
};

TEST(Hits, OfEveryBatchFollowTheFormerOnes) {
  for (const int threads : {1, 3}) {
    const auto place = runtime::open_backend(executor_kind::cpu, threads);
    kept_memory kept(*place);
    range_answer answer{.starts = {0}, .objects = {}, .distances = {}};
    std::vector<std::vector<entry>> all;
    // Few and many, none, and queries without hits.
    for (const auto& [queries, most] :
         {std::pair{7, 3U}, {90, 2000U}, {5, 0U}, {1, 1U}, {3000, 60U}}) {
      constexpr std::size_t sorted = 50;
      const auto by_query = made(queries, most, static_cast<unsigned>(queries));
      const batch_on_device batch(kept, by_query, sorted);
      append_hits(batch.found, batch.starts, sorted, threads, answer);
      all.insert(all.end(), by_query.begin(), by_query.end());
    }
    EXPECT_EQ(answer, collected(all)) << threads << " threads";
  }
}

TEST(KeptMemory, OfTheHostGrows) {
  const auto place = runtime::open_backend(executor_kind::cpu, 1);
  kept_memory kept(*place);
  const std::byte* const first = kept.staged(1000).data();
  EXPECT_EQ(kept.staged(10).data(), first);
  EXPECT_EQ(kept.staged(10).size(), 10U);
  EXPECT_EQ(kept.staged(1 << 20).size(), std::size_t{1} << 20);
}

TEST(KeptMemory, IsTakenAgainIfItFits) {
  const auto place = runtime::open_backend(executor_kind::cpu);
  kept_memory kept(*place);
  const std::byte* large = nullptr;
  const std::byte* small = nullptr;
  {
    const device_array<double> a(kept, 1 << 20), b(kept, 1 << 15);
    large = reinterpret_cast<const std::byte*>(a.view().data);
    small = reinterpret_cast<const std::byte*>(b.view().data);
  }
  const device_array<std::byte> again(kept, (1 << 23) - 5), other(kept, 1 << 18);
  EXPECT_EQ(again.view().data, large);
  EXPECT_EQ(other.view().data, small);
  // Neither is left, so this is new.
  const device_array<std::byte> third(kept, 1 << 18);
  EXPECT_NE(third.view().data, large);
  EXPECT_NE(third.view().data, small);
}

TEST(KeptMemory, IsNotSpentOnWhatIsMuchSmaller) {
  const auto place = runtime::open_backend(executor_kind::cpu);
  kept_memory kept(*place);
  const std::byte* large = nullptr;
  {
    const device_array<std::byte> a(kept, 1 << 24);
    large = a.view().data;
  }
  const device_array<std::byte> less(kept, 1 << 22);
  EXPECT_NE(less.view().data, large);
  const device_array<std::byte> same(kept, 1 << 24);
  EXPECT_EQ(same.view().data, large);
}

}  // namespace
}  // namespace kselect::search::metric_space
