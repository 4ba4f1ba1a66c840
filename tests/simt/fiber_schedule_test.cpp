// The schedules must distinguish a right kernel from one that is right in only one order.

#include <functional>
#include <set>

#include "tests/simt/fiber_run.hpp"

namespace kselect::simt {
namespace {

// Each lane hands a value to its neighbour through shared memory.
template <bool Synced, bool WholeBlock>
struct neighbours {
  struct storage {
    int values[128];
  };
  struct args {
    global<int> out;
    int distance;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    shared.values[simt.thread()] = simt.thread();
    if constexpr (Synced) {
      if constexpr (WholeBlock) {
        simt.sync_block();
      } else {
        simt.sync_warp(full_mask);
      }
    }
    const int group = WholeBlock ? simt.threads() : warp_size;
    const int other = simt.thread() / group * group + (simt.thread() + a.distance) % group;
    simt.store(a.out, simt.thread(), shared.values[other]);
  }
};

template <class Kernel>
bool hands_over(const fiber_options& options, int distance, int group) {
  std::vector<int> out(128);
  EXPECT_TRUE(run_on_fibers<Kernel>({1, 128}, {over(out), distance}, options).ok());
  for (int i = 0; i < 128; ++i) {
    if (out[static_cast<std::size_t>(i)] != i / group * group + (i + distance) % group)
      return false;
  }
  return true;
}

TEST(fiber_schedule, a_missing_sync_warp_gives_a_wrong_answer) {
  for (const fiber_options& options : all_schedules()) {
    EXPECT_TRUE((hands_over<neighbours<true, false>>(options, 1, 32)));
    EXPECT_FALSE((hands_over<neighbours<false, false>>(options, 1, 32)));
  }
}

TEST(fiber_schedule, a_missing_sync_block_gives_a_wrong_answer) {
  for (const fiber_options& options : all_schedules()) {
    EXPECT_TRUE((hands_over<neighbours<true, true>>(options, 64, 128)));
    EXPECT_FALSE((hands_over<neighbours<false, true>>(options, 64, 128)));
  }
}

// Lane 0 writes after a collective and the others read: right only if lane 0 happens to run first.
template <bool Synced>
struct leader_writes {
  struct storage {
    int value;
  };
  struct args {
    global<int> out;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const bool leader = simt.ballot(full_mask, true) == full_mask && simt.lane() == 0;
    if (leader) shared.value = 1;
    if constexpr (Synced) simt.sync_warp(full_mask);
    simt.store(a.out, simt.lane(), shared.value);
  }
};

template <class Kernel>
std::size_t schedules_that_agree() {
  std::size_t right = 0;
  for (const fiber_options& options : all_schedules()) {
    std::vector<int> out(32);
    EXPECT_TRUE(run_on_fibers<Kernel>({1, 32}, {over(out)}, options).ok());
    right += out == std::vector<int>(32, 1) ? 1 : 0;
  }
  return right;
}

TEST(fiber_schedule, luck_in_one_order_fails_in_another) {
  EXPECT_EQ(schedules_that_agree<leader_writes<true>>(), all_schedules().size());
  const std::size_t lucky = schedules_that_agree<leader_writes<false>>();
  EXPECT_GE(lucky, 1U);  // in order
  EXPECT_LE(lucky, 2U);
}

struct tickets {
  struct storage {
    int next;
  };
  struct args {
    global<int> taken;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.thread() == 0) shared.next = 0;
    simt.sync_block();
    simt.store(a.taken, simt.thread(), simt.atomic_add(shared.next, 1));
  }
};

std::vector<int> tickets_taken(const fiber_options& options) {
  std::vector<int> taken(64);
  EXPECT_TRUE(run_on_fibers<tickets>({1, 64}, {over(taken)}, options).ok());
  return taken;
}

TEST(fiber_schedule, atomics_are_reached_in_the_order_of_the_schedule) {
  const std::vector<int> ascending = tickets_taken({.order = schedule::in_order});
  const std::vector<int> descending = tickets_taken({.order = schedule::reversed});
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(ascending[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(descending[static_cast<std::size_t>(i)], 63 - i);
  }
}

TEST(fiber_schedule, a_seed_repeats_its_order_and_another_gives_another) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const fiber_options options{.order = schedule::random, .seed = seed};
    orders.insert(tickets_taken(options));
    EXPECT_TRUE(orders.contains(tickets_taken(options)));
  }
  EXPECT_EQ(orders.size(), 20U);
}

struct last_thread_releases {
  struct storage {
    int flag;
  };
  struct args {};
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args&) {
    if (simt.thread() == 5) shared.flag = 0;
    simt.sync_block();
    if (simt.thread() == 30) {
      simt.atomic_add(shared.flag, 1);
    } else {
      while (simt.atomic_add(shared.flag, 0) == 0) {
      }
    }
  }
};

TEST(fiber_schedule, a_lane_that_spins_on_an_atomic_lets_the_others_run) {
  for (const fiber_options& options : all_schedules()) {
    EXPECT_EQ(run_on_fibers<last_thread_releases>({1, 64}, {}, options).message, "");
  }
}

struct block_tickets {
  struct storage {};
  struct args {
    global<std::int64_t> next, taken;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.lane() == 0) simt.store(a.taken, simt.block(), simt.atomic_add(a.next, 0, 1));
  }
};

TEST(fiber_schedule, blocks_follow_the_schedule_and_each_runs_once) {
  for (const fiber_options& options : all_schedules()) {
    std::vector<std::int64_t> next(1);
    std::vector<std::int64_t> taken(30, -1);
    ASSERT_TRUE(run_on_fibers<block_tickets>({30, 32}, {over(next), over(taken)}, options).ok());
    if (options.order == schedule::in_order) {
      EXPECT_TRUE(std::ranges::is_sorted(taken));
    }
    if (options.order == schedule::reversed) {
      EXPECT_TRUE(std::ranges::is_sorted(taken, std::greater<>{}));
    }
    std::ranges::sort(taken);
    for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i);
  }
}

}  // namespace
}  // namespace kselect::simt
