// Every kind of mismatched collective is planted here. Each must be reported with lanes, warp, file
// and line, under every schedule.

#include "tests/simt/fiber_run.hpp"

namespace kselect::simt {
namespace {

struct nothing {};

template <class Kernel>
void expect_found(const std::vector<std::string>& parts, int threads = 32) {
  for (const fiber_options& options : all_schedules()) {
    expect_failure(run_on_fibers<Kernel>({2, threads}, {}, options), parts);
  }
}

struct half_returns {
  using storage = nothing;
  using args = nothing;
  static constexpr int line = __LINE__ + 4;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.lane() >= 16 || simt.warp() == 0) return;
    simt.ballot(full_mask, true);
  }
};

TEST(fiber_rendezvous, lanes_of_the_mask_that_returned_are_found) {
  expect_found<half_returns>(
      {"half_returns, block", "ballot(mask 0xffffffff)", site(__FILE__, half_returns::line),
       "has lanes 0-15 of warp 1", "waits in vain for lanes 16-31", "a lane that has returned",
       "lanes 0-31 of warp 0, lanes 16-31 of warp 1 returned"},
      64);
}

struct two_sites {
  using storage = nothing;
  using args = nothing;
  static constexpr int line = __LINE__ + 3;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.lane() < 5) simt.sync_warp(full_mask);
    if (simt.lane() >= 5) simt.sync_warp(full_mask);
  }
};

TEST(fiber_rendezvous, a_second_call_site_is_found) {
  expect_found<two_sites>({"lanes 0-4 of warp 0 at sync_warp(mask 0xffffffff)",
                           "lanes 5-31 of warp 0 at sync_warp(mask 0xffffffff)",
                           "two places in the source", site(__FILE__, two_sites::line),
                           site(__FILE__, two_sites::line + 1)});
}

struct two_operations {
  using storage = nothing;
  using args = nothing;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.lane() == 7) {
      simt.any(full_mask, true);
    } else {
      simt.all(full_mask, true);
    }
  }
};

TEST(fiber_rendezvous, another_operation_is_found) {
  expect_found<two_operations>({"lane 7 of warp 0 at any(mask 0xffffffff)",
                                "lanes 0-6,8-31 of warp 0 at all(mask 0xffffffff)",
                                "these are two operations"});
}

struct two_masks {
  using storage = nothing;
  using args = nothing;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    simt.ballot(simt.lane() < 8 ? 0x0000ffffU : full_mask, true);
  }
};

TEST(fiber_rendezvous, another_mask_is_found) {
  expect_found<two_masks>({"lanes 0-7 of warp 0 at ballot(mask 0x0000ffff)",
                           "lanes 8-31 of warp 0 at ballot(mask 0xffffffff)",
                           "must name the same mask"});
}

struct not_in_own_mask {
  using storage = nothing;
  using args = nothing;
  static constexpr int line = __LINE__ + 3;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.lane() == 20) simt.ballot(0x0000ffffU, true);
  }
};

TEST(fiber_rendezvous, a_lane_outside_its_own_mask_is_found) {
  expect_found<not_in_own_mask>({"warp 0, lane 20", "ballot(mask 0x0000ffff)",
                                 "not in its own mask", site(__FILE__, not_in_own_mask::line)});
}

struct divergent_barrier {
  using storage = nothing;
  using args = nothing;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.thread() == 40) simt.sync_block();
    simt.sync_warp(full_mask);
  }
};

TEST(fiber_rendezvous, a_block_barrier_inside_a_divergent_branch_is_found) {
  expect_found<divergent_barrier>(
      {"sync_warp(mask 0xffffffff)", "waits in vain for lane 8", "the block's",
       "lane 8 of warp 1 at sync_block()", "lanes 0-31 of warp 0", "returned"},
      64);
}

struct two_barriers {
  using storage = nothing;
  using args = nothing;
  static constexpr int line = __LINE__ + 4;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    simt.sync_block();
    if (simt.warp() == 0) simt.sync_block();
    if (simt.warp() != 0) simt.sync_block();
  }
};

TEST(fiber_rendezvous, block_barriers_at_two_places_are_found) {
  expect_found<two_barriers>(
      {"sync_block()", site(__FILE__, two_barriers::line), site(__FILE__, two_barriers::line + 1),
       "after 1 completed", "lanes 0-31 of warp 0 at sync_block()",
       "lanes 0-31 of warps 1-3 at sync_block()"},
      128);
}

TEST(fiber_rendezvous, block_barriers_at_two_places_may_meet_if_asked) {
  fiber_options options{.mixed_block_syncs = true};
  EXPECT_EQ(run_on_fibers<two_barriers>({1, 128}, {}, options).message, "");
}

struct circular_wait {
  using storage = nothing;
  using args = nothing;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.lane() == 0) simt.sync_warp(0b011);
    if (simt.lane() == 1) simt.sync_warp(0b110);
    if (simt.lane() == 2) simt.sync_warp(0b101);
  }
};

TEST(fiber_rendezvous, a_deadlock_lists_where_each_lane_waits) {
  expect_found<circular_wait>({"a deadlock", "lane 0 of warp 0 at sync_warp(mask 0x00000003)",
                               "lane 1 of warp 0 at sync_warp(mask 0x00000006)",
                               "lane 2 of warp 0 at sync_warp(mask 0x00000005)",
                               "lanes 3-31 of warp 0 returned"});
}

struct parts_then_all {
  using storage = nothing;
  struct args {
    global<std::uint32_t> votes;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::uint32_t part = 0xffU << (simt.lane() / 8 * 8);
    std::uint32_t votes = 0;
    for (int round = 0; round <= simt.lane() / 8; ++round) votes += simt.ballot(part, true);
    votes += simt.ballot(full_mask, simt.lane() == 3);
    simt.store(a.votes, simt.thread(), votes);
  }
};

TEST(fiber_rendezvous, disjoint_parts_of_a_warp_meet_apart_and_then_together) {
  for (const fiber_options& options : all_schedules()) {
    std::vector<std::uint32_t> votes(32);
    ASSERT_EQ(run_on_fibers<parts_then_all>({1, 32}, {over(votes)}, options).message, "");
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t part = lane / 8;
      EXPECT_EQ(votes[lane], (part + 1) * (0xffU << (part * 8)) + 8U);
    }
  }
}

struct early_leavers {
  struct storage {
    int seen;
  };
  struct args {
    global<int> seen;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.thread() == 33) shared.seen = 0;
    simt.sync_block();
    if (simt.thread() % 3 == 1) return;
    simt.atomic_add(shared.seen, 1);
    simt.sync_block();
    if (simt.thread() == 0) simt.store(a.seen, 0, shared.seen);
  }
};

TEST(fiber_rendezvous, threads_that_returned_count_as_arrived_at_the_block_barrier) {
  for (fiber_options options : all_schedules()) {
    counters counts;
    options.counters = &counts;
    std::vector<int> seen(1);
    ASSERT_EQ(run_on_fibers<early_leavers>({1, 96}, {over(seen)}, options).message, "");
    EXPECT_EQ(seen[0], 64);
    EXPECT_EQ(counts[counter::block_syncs], 2);
  }
}

struct inactive_source {
  using storage = nothing;
  struct args {
    global<std::uint64_t> values;
  };
  static constexpr int line = __LINE__ + 4;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.lane() >= 16) return;
    const auto value = simt.shfl_down(0xffffU, std::uint64_t(simt.lane()), 8);
    simt.store(a.values, simt.lane(), value);
  }
};

TEST(fiber_rendezvous, a_shuffle_from_a_lane_outside_the_mask_is_found) {
  std::vector<std::uint64_t> values(16);
  expect_failure(
      run_on_fibers<inactive_source>({1, 32}, {over(values)}),
      {"lane 8", "shfl_down(mask 0x0000ffff): reads from lane 16, which is not in the mask",
       site(__FILE__, inactive_source::line)});
}

TEST(fiber_rendezvous, a_shuffle_from_a_lane_outside_the_mask_reads_poison_if_asked) {
  counters counts;
  std::vector<std::uint64_t> values(16);
  const fiber_options options{.counters = &counts, .poison_inactive_reads = true};
  ASSERT_EQ(run_on_fibers<inactive_source>({1, 32}, {over(values)}, options).message, "");
  for (std::uint64_t lane = 0; lane < 16; ++lane) {
    EXPECT_EQ(values[lane], lane < 8 ? lane + 8 : 0xdbdbdbdbdbdbdbdbULL);
  }
  EXPECT_EQ(counts[counter::inactive_reads], 8);
}

struct odd_width {
  using storage = nothing;
  using args = nothing;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    simt.shfl(full_mask, simt.lane(), 0, 12);
  }
};

TEST(fiber_rendezvous, a_width_that_is_no_power_of_two_is_found) {
  expect_found<odd_width>({"shfl(mask 0xffffffff)", "width 12"});
}

}  // namespace
}  // namespace kselect::simt
