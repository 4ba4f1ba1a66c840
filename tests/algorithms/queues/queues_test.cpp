// The queues as objects, on a warp of one lane: after every push they hold the k smallest elements,
// in the order of Fig. 1 of Tang et al. 2015.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/queues/heap_queue.cuh"
#include "algorithms/queues/insertion_queue.cuh"
#include "algorithms/queues/merge_queue.cuh"
#include "algorithms/queues/search.cuh"
#include "algorithms/queues/slots.cuh"
#include "kselect/simt/host.hpp"

namespace kselect::queues {
namespace {

using entry = std::uint32_t;
using slots = queue_slots<simt::host, plain_slots<entry, 1>>;

bool descending(const std::vector<entry>& all, std::size_t first, std::size_t last) {
  last = std::min(last, all.size());
  return first >= last ||
         std::is_sorted(all.rbegin() + static_cast<std::ptrdiff_t>(all.size() - last),
                        all.rend() - static_cast<std::ptrdiff_t>(first));
}

// The invariant of each queue's slots; only the merge queue uses m.
struct sorted_slots {
  static bool holds(const std::vector<entry>& all, std::size_t) {
    return descending(all, 0, all.size());
  }
};
struct heap_slots {
  static bool holds(const std::vector<entry>& all, std::size_t) {
    return std::is_heap(all.begin(), all.end());
  }
};
struct level_slots {
  static bool holds(const std::vector<entry>& all, std::size_t m) {
    std::vector<entry> heads = {all[0]};
    if (!descending(all, 0, m)) return false;
    for (std::size_t first = m; first < all.size(); first *= 2) {
      heads.push_back(all[first]);
      if (!descending(all, first, 2 * first)) return false;
    }
    return descending(heads, 0, heads.size());
  }
};

template <class Queue, class Invariant>
struct subject {
  using queue = Queue;
  using invariant = Invariant;
};

template <class Subject>
class Queues : public testing::Test {};
using subjects = testing::Types<subject<insertion_queue<slots>, sorted_slots>,
                                subject<heap_queue<slots>, heap_slots>,
                                subject<merge_queue<slots, false>, level_slots>,
                                subject<merge_queue<slots, true>, level_slots>>;
TYPED_TEST_SUITE(Queues, subjects);

// Pushes those elements of `pushed` that enter, and checks the queue after each.
template <class Subject>
void expect_smallest(int k, int m, const std::vector<entry>& pushed) {
  simt::host simt;
  std::vector<entry> memory(static_cast<std::size_t>(k), ~entry{0});
  slots own(simt, plain_slots<entry, 1>(memory.data()), k);
  typename Subject::queue queue(own, m);
  std::vector<entry> expected = memory;  // ascending
  for (std::size_t i = 0; i < pushed.size(); ++i) {
    if (pushed[i] < queue.head()) {
      queue.push(pushed[i]);
      if constexpr (Subject::queue::collective) queue.repair(lanes<simt::host>{simt, 1});
    }
    expected.insert(std::ranges::upper_bound(expected, pushed[i]), pushed[i]);
    expected.pop_back();
    ASSERT_EQ(queue.head(), expected.back()) << "k " << k << ", m " << m << ", push " << i;
    ASSERT_TRUE(Subject::invariant::holds(memory, static_cast<std::size_t>(m)))
        << "k " << k << ", m " << m << ", push " << i;
    std::vector<entry> held = memory;
    std::ranges::sort(held);
    ASSERT_EQ(held, expected) << "k " << k << ", m " << m << ", push " << i;
  }
}

TYPED_TEST(Queues, HoldTheSmallestInTheirOrderAfterEveryPush) {
  std::mt19937 random(20150525);
  for (const int k : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 127, 128, 200}) {
    for (const int m : {1, 2, 8, 32}) {
      std::vector<entry> rows(static_cast<std::size_t>(4 * k + 40));
      // Few distinct values, so that there are ties, and the least and the greatest entry.
      for (entry& e : rows) e = static_cast<entry>(random() % static_cast<unsigned>(k + 5));
      rows[rows.size() / 2] = ~entry{0};
      expect_smallest<TypeParam>(k, m, rows);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Queues, TakeAscendingAndDescendingPushes) {
  for (const int k : {1, 13, 48}) {
    std::vector<entry> rows(150);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<entry>(i);
    expect_smallest<TypeParam>(k, 8, rows);
    std::ranges::reverse(rows);
    expect_smallest<TypeParam>(k, 8, rows);
    if (this->HasFatalFailure()) return;
  }
}

// The paper's example (Fig. 1b, m = 2, k = 7): 3 replaces 7 without a merge, because 6 is still
// above the second level's 5. Then 4 replaces 6, and the two levels become (5, 4) and (4, 3).
TEST(MergeQueue, MergesOnlyWhenALevelsHeadFallsBelowTheNext) {
  simt::host simt;
  std::vector<entry> memory = {7, 6, 5, 4, 2, 1, 0};
  slots own(simt, plain_slots<entry, 1>(memory.data()), 7);
  merge_queue<slots, false> queue(own, 2);
  queue.push(3);
  EXPECT_EQ(memory, (std::vector<entry>{6, 3, 5, 4, 2, 1, 0}));
  queue.push(4);
  EXPECT_EQ(memory, (std::vector<entry>{5, 4, 4, 3, 2, 1, 0}));
  EXPECT_EQ(queue.head(), 5U);
}

}  // namespace
}  // namespace kselect::queues
