// Hits in the order of an answer, and device memory that is kept.

#include "search/metric/hits.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "search/metric/device_memory.hpp"

namespace kselect::search::metric_space {
namespace {

struct hits_of_batch {
  std::vector<std::vector<entry>> by_query;
  unordered_hits mixed;
};

// Each query has up to `most` hits; objects tie.
hits_of_batch made(std::int64_t queries, std::uint32_t most, unsigned seed) {
  std::mt19937 random(seed);
  hits_of_batch made{std::vector<std::vector<entry>>(static_cast<std::size_t>(queries)), {}};
  std::vector<std::pair<std::uint32_t, entry>> all;
  for (std::uint32_t q = 0; q < queries; ++q) {
    for (auto i = random() % (most + 1); i > 0; --i) {
      all.emplace_back(q, make_entry(static_cast<float>(random() % 8),
                                     static_cast<std::int64_t>(random() % 1000)));
      made.by_query[q].push_back(all.back().second);
    }
    std::ranges::sort(made.by_query[q]);
  }
  std::ranges::shuffle(all, random);
  for (const auto& [query, hit] : all) {
    made.mixed.queries.push_back(query);
    made.mixed.entries.push_back(hit);
  }
  return made;
}

TEST(Hits, OfEveryBatchFollowTheFormerOnes) {
  for (const int threads : {1, 3}) {
    range_answer answer{.starts = {0}, .objects = {}, .distances = {}};
    std::vector<std::vector<entry>> all;
    // One part each, several, none, and queries without hits at the ends.
    for (const auto& [queries, most] :
         {std::pair{7, 3U}, {90, 2000U}, {5, 0U}, {1, 1U}, {3000, 60U}}) {
      hits_of_batch of = made(queries, most, static_cast<unsigned>(queries));
      append_hits(answer, queries, of.mixed, threads);
      all.insert(all.end(), of.by_query.begin(), of.by_query.end());
    }
    EXPECT_EQ(answer, collected(all)) << threads << " threads";
  }
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
