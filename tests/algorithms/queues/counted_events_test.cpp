// The events that queues count on fibers, on rows whose counts are known by hand.

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/run/trial.hpp"
#include "kselect/registry.hpp"
#include "kselect/simt/fiber.hpp"
#include "runtime/backend/host_backend.hpp"

namespace kselect {
namespace {
using namespace runtime;
using namespace harness;

using simt::counter;

struct events {
  simt::counters counts;
  simt::places places;
  bool operator==(const events&) const = default;
};

constexpr std::int64_t rows = 40;  // a full warp and a part of one

// Rows 0, 1, 2 ... or the reverse.
std::vector<float> ramp(std::int64_t n, bool ascending) {
  std::vector<float> all;
  for (std::int64_t c = 0; c < n; ++c) {
    all.insert(all.end(), rows, static_cast<float>(ascending ? c : n - 1 - c));
  }
  return all;
}

// `values`: q rows, column-major.
events count(const std::string& name, const std::vector<float>& values, std::int64_t q,
             std::int64_t k, simt::fiber_options options = {}, int threads = 1) {
  problem p;
  p.n = static_cast<std::int64_t>(values.size()) / q;
  p.q = q;
  p.k = k;
  p.layout = layout::column_major;
  events counted;
  options.counters = &counted.counts;
  options.places = &counted.places;
  const auto place = open_host_backend(executor_kind::fiber, threads, options);
  const input_rows input(*place, std::as_bytes(std::span(values)));
  trial attempt(*find_algorithm(name)->algorithm, p, input, *place);
  attempt.prepare();
  EXPECT_TRUE(attempt.run().ok());
  EXPECT_EQ(attempt.disprove(), "");
  return counted;
}

events count(const std::string& name, std::int64_t n, std::int64_t k, bool ascending,
             simt::fiber_options options = {}, int threads = 1) {
  return count(name, ramp(n, ascending), rows, k, options, threads);
}

std::vector<float> noise(std::size_t size) {
  std::mt19937 random(20150525);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random() % 1000000);
  return values;
}

std::vector<std::int64_t> updates(const events& e) { return e.places[counter::queue_updates]; }

// The i-th of the first k elements stops below the k - i empty slots; no later one enters.
TEST(QueueEvents, InsertionIntoAnAscendingRowMovesEmptySlots) {
  const events e = count("tang/insertion", 50, 7, true);
  EXPECT_EQ(e.counts[counter::queue_inserts], rows * 7);
  EXPECT_EQ(updates(e), (std::vector<std::int64_t>{280, 240, 200, 160, 120, 80, 40}));
  EXPECT_EQ(e.counts[counter::queue_updates], rows * 28);
}

// Every element enters at the tail.
TEST(QueueEvents, InsertionIntoADescendingRowMovesEverySlot) {
  const events e = count("tang/insertion", 50, 7, false);
  EXPECT_EQ(e.counts[counter::queue_inserts], rows * 50);
  EXPECT_EQ(updates(e), std::vector<std::int64_t>(7, rows * 50));
}

// A descending row makes every element of a heap of 7 sink to a leaf: three updates each.
TEST(QueueEvents, HeapSinksToALeaf) {
  const events e = count("tang/heap", 50, 7, false);
  EXPECT_EQ(e.counts[counter::queue_inserts], rows * 50);
  EXPECT_EQ(e.counts[counter::queue_updates], rows * 150);
  EXPECT_EQ(updates(e)[0], rows * 50);
  EXPECT_EQ(updates(e)[1] + updates(e)[2], rows * 50);
}

// With m = k = 8 there is one level: an insertion queue, which never merges.
TEST(QueueEvents, MergeQueueOfOneLevelNeverMerges) {
  const events merge = count("tang/merge", 50, 8, false);
  EXPECT_EQ(merge.counts[counter::queue_merges], 0);
  EXPECT_EQ(updates(merge), updates(count("tang/insertion", 50, 8, false)));
}

// Equal rows merge at the same time, so aligned merges change nothing.
TEST(QueueEvents, AlignedMergesOfEqualRowsAreTheSame) {
  const events apart = count("tang/merge", 200, 40, false);
  const events aligned = count("tang/merge_aligned", 200, 40, false);
  EXPECT_GT(apart.counts[counter::queue_merges], 0);
  EXPECT_EQ(aligned.counts[counter::queue_merges], apart.counts[counter::queue_merges]);
  EXPECT_EQ(updates(aligned), updates(apart));
}

// 160 descending elements flush a buffer of 16 ten times. If the buffer is sorted, only its least
// element enters a queue with k = 1.
TEST(QueueEvents, LocalSortSavesInsertions) {
  const events plain = count("tang/heap+full_buffer", 160, 1, false);
  EXPECT_EQ(plain.counts[counter::buffer_flushes], rows * 10);
  EXPECT_EQ(plain.counts[counter::queue_inserts], rows * 160);
  const events sorted = count("tang/heap+sorted_buffer", 160, 1, false);
  EXPECT_EQ(sorted.counts[counter::buffer_flushes], rows * 10);
  EXPECT_EQ(sorted.counts[counter::queue_inserts], rows * 10);
}

// The k best of an ascending row lie in k / G groups, whose leaders fill the queue first.
TEST(QueueEvents, PartitionOffersLittle) {
  const events all = count("tang/heap", 4096, 16, false);
  const events few = count("tang/heap+partition4", 4096, 16, false);
  EXPECT_EQ(all.counts[counter::queue_inserts], rows * 4096);
  // Each of four steps down inserts at most three quarters of the 16 groups' 64 elements.
  EXPECT_LE(few.counts[counter::queue_inserts], rows * (16 + 4 * 48));
}

// In its second 32 columns row r falls at column r modulo 32 from 5 to 1. With k = 1 that element
// enters, and the row's first.
TEST(QueueEvents, LanesInLockstepWaitForEachOthersElements) {
  std::vector<float> values(64 * rows, 5);
  for (std::int64_t r = 0; r < rows; ++r) {
    values[static_cast<std::size_t>((32 + r % 32) * rows + r)] = 1;
  }
  // A step for the first column and one for each fall, in a warp of 32 rows and one of 8.
  const events lockstep = count("tang/insertion+lockstep", values, rows, 1);
  EXPECT_EQ(lockstep.counts[counter::queue_inserts], 2 * rows);
  EXPECT_EQ(lockstep.counts[counter::insert_steps], (1 + 32) + (1 + 8));
  // Each of the three warps with rows (of 16, 16 and 8) takes two steps.
  const events skipping = count("tang/insertion", values, rows, 1);
  EXPECT_EQ(skipping.counts[counter::queue_inserts], 2 * rows);
  EXPECT_EQ(skipping.counts[counter::insert_steps], 3 * 2);
}

// Enough rows for each warp to have 32 of them in any case.
TEST(QueueEvents, LockstepChangesStepsAndNotTheWorkOfARow) {
  constexpr std::int64_t q = 128;
  const std::vector<float> values = noise(2000 * q);
  for (const std::string queue : {"tang/insertion", "tang/heap", "tang/merge"}) {
    const events lockstep = count(queue + "+lockstep", values, q, 20);
    const events skipping = count(queue, values, q, 20);
    EXPECT_EQ(lockstep.places, skipping.places) << queue;
    EXPECT_EQ(lockstep.counts[counter::queue_inserts], skipping.counts[counter::queue_inserts]);
    EXPECT_GT(lockstep.counts[counter::insert_steps], 2 * skipping.counts[counter::insert_steps]);
    const events buffered = count(queue + "+lockstep+full_buffer", values, q, 20);
    EXPECT_GT(lockstep.counts[counter::insert_steps], 3 * buffered.counts[counter::insert_steps]);
  }
}

TEST(QueueEvents, LockstepDescendsIntoTheSameGroups) {
  const std::vector<float> values = noise(3000 * rows);
  const events lockstep = count("tang/heap+lockstep+partition4", values, rows, 20);
  const events skipping = count("tang/heap+partition4", values, rows, 20);
  EXPECT_EQ(lockstep.places, skipping.places);
  EXPECT_EQ(lockstep.counts[counter::queue_inserts], skipping.counts[counter::queue_inserts]);
}

// The paper's flag says what a vote says, and takes barriers for it.
TEST(QueueEvents, FlagAndVoteTellTheSame) {
  const std::vector<float> values = noise(1000 * rows);
  for (const std::string name :
       {"tang/insertion+lockstep+full_buffer", "tang/merge_aligned+lockstep+full_buffer",
        "tang/merge_aligned+lockstep"}) {
    const events vote = count(name, values, rows, 40);
    events flag = count(name + "+flag", values, rows, 40);
    EXPECT_EQ(vote.counts[counter::warp_syncs], 0) << name;
    EXPECT_GT(flag.counts[counter::warp_syncs], 0) << name;
    EXPECT_LT(flag.counts[counter::collectives], vote.counts[counter::collectives]) << name;
    for (const counter c : {counter::collectives, counter::warp_syncs}) {
      flag.counts.add(c, vote.counts[c] - flag.counts[c]);
    }
    EXPECT_EQ(flag, vote) << name;
  }
}

TEST(QueueEvents, AreTheSameForEveryScheduleAndThreadCount) {
  for (const char* name : {"tang/merge_aligned+sorted_buffer+partition4", "tang/heap+buffer",
                           "tang/merge_aligned+lockstep+full_buffer+flag",
                           "tang/insertion+lockstep+full_buffer+partition4"}) {
    const events first = count(name, 700, 33, false);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      simt::fiber_options options;
      options.order = simt::schedule::random;
      options.seed = seed;
      EXPECT_EQ(count(name, 700, 33, false, options, seed % 2 == 0 ? 1 : 2), first) << name;
    }
  }
}

}  // namespace
}  // namespace kselect
