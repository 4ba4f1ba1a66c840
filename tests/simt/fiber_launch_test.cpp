// Whole launches: checks, exceptions from kernel code, many blocks, host threads, counters.

#include <memory>
#include <stdexcept>

#include "tests/simt/fiber_run.hpp"

namespace kselect::simt {
namespace {

struct nothing {};

// A kernel with every counted event. The counts by hand, for a block of two warps:
//   collectives: 2 ballots + 2 shuffles = 4; warp_syncs 2; block_syncs 1; atomics: 64 + 2;
//   reads: 64 floats + 4 vectors of 4 by lanes 0-3 = 80 elements, 320 bytes;
//   writes: 64 int64 = 64 elements, 512 bytes; queue_updates: lane number summed = 2 * 496.
struct counted {
  struct storage {
    int sum;
  };
  struct args {
    global<const float> in;
    global<std::int64_t> out;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.thread() == 0) shared.sum = 0;
    simt.sync_block();
    const float value = simt.load(a.in, simt.thread());
    const std::uint32_t positive = simt.ballot(full_mask, value > 0);
    const float next = simt.shfl(full_mask, value, simt.lane() + 1);
    simt.sync_warp(full_mask);
    if (simt.thread() < 4) simt.load(as_vec<4>(a.in), simt.thread());
    simt.atomic_add(shared.sum, 1);
    if (simt.lane() == 0) simt.atomic_max(a.out, 64, simt.popc(positive));
    simt.store(a.out, simt.thread(), static_cast<std::int64_t>(next));
    simt.count(counter::queue_updates, simt.lane());
  }
};

TEST(fiber_launch, counters_are_exact_under_every_schedule_and_number_of_host_threads) {
  counters expected;
  const std::int64_t blocks = 5;
  for (const auto& [c, one_block] :
       std::initializer_list<std::pair<counter, std::int64_t>>{{counter::blocks, 1},
                                                               {counter::threads, 64},
                                                               {counter::collectives, 4},
                                                               {counter::warp_syncs, 2},
                                                               {counter::block_syncs, 1},
                                                               {counter::atomics, 66},
                                                               {counter::global_reads, 80},
                                                               {counter::bytes_read, 320},
                                                               {counter::global_writes, 64},
                                                               {counter::bytes_written, 512},
                                                               {counter::queue_updates, 992}}) {
    expected.add(c, blocks * one_block);
  }
  alignas(16) std::array<float, 64> in{};
  for (fiber_options options : all_schedules()) {
    counters counts;
    options.counters = &counts;
    std::vector<std::int64_t> out(65);
    ASSERT_EQ(run_on_fibers<counted>({blocks, 64}, {{in.data(), 64}, over(out)}, options).message,
              "");
    EXPECT_EQ(counts, expected);
  }
}

struct counted_by_place {
  struct storage {};
  struct args {};
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    simt.count_at(counter::queue_updates, simt.lane() / 16, simt.lane() % 2 + 1);
    if (simt.lane() == 0) simt.count_at(counter::passes, 3);
  }
};

TEST(fiber_launch, what_is_counted_at_places_adds_up_and_is_told_apart) {
  for (fiber_options options : all_schedules()) {
    counters counts;
    places by_place;
    options.counters = &counts;
    options.places = &by_place;
    options.host_threads = 2;
    for (int launch = 0; launch < 2; ++launch) {
      ASSERT_TRUE(run_on_fibers<counted_by_place>({3, 64}, {}, options).ok());
    }
    // Six blocks of two warps: a half warp counts 8 * 1 + 8 * 2.
    EXPECT_EQ(by_place[counter::queue_updates], (std::vector<std::int64_t>{288, 288}));
    EXPECT_EQ(by_place[counter::passes], (std::vector<std::int64_t>{0, 0, 0, 12}));
    EXPECT_TRUE(by_place[counter::atomics].empty());
    EXPECT_EQ(counts[counter::queue_updates], 576);
    EXPECT_EQ(counts[counter::passes], 12);
  }
}

// A warp's steps end at its rendezvous. Block by block of two warps: 2 + 2 + 1 + 2.
struct counted_steps {
  struct storage {};
  struct args {};
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    if (simt.lane() % 2 == 1) simt.count_step(counter::passes);
    if (simt.lane() > 20) simt.count_step(counter::passes);
    simt.sync_warp(full_mask);
    simt.count_step(counter::passes);
    simt.ballot(full_mask, true);
    if (simt.thread() == 40) simt.count_step(counter::passes);
    simt.sync_block();
    simt.count_step(counter::passes);
    simt.count_step(counter::partitions);
  }
};

TEST(fiber_launch, a_step_is_counted_once_for_all_lanes_of_a_warp) {
  for (fiber_options options : all_schedules()) {
    counters counts;
    options.counters = &counts;
    ASSERT_TRUE(run_on_fibers<counted_steps>({3, 64}, {}, options).ok());
    EXPECT_EQ(counts[counter::passes], 3 * (2 + 2 + 1 + 2));
    EXPECT_EQ(counts[counter::partitions], 3 * 2);
  }
}

TEST(fiber_launch, counters_add_up_over_launches) {
  counters counts;
  const fiber_options options{.counters = &counts};
  alignas(16) std::array<float, 64> in{};
  std::vector<std::int64_t> out(65);
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_TRUE(run_on_fibers<counted>({1, 64}, {{in.data(), 64}, over(out)}, options).ok());
  }
  EXPECT_EQ(counts[counter::block_syncs], 3);
}

struct block_sums {
  struct storage {
    std::int64_t sum;
  };
  struct args {
    global<std::int64_t> total, sums;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.thread() == 0) shared.sum = 0;
    simt.sync_block();
    simt.atomic_add(shared.sum, simt.block() + simt.thread());
    simt.sync_block();
    if (simt.thread() != 0) return;
    simt.atomic_add(a.total, 0, shared.sum);
    simt.store(a.sums, simt.block(), shared.sum);
  }
};

TEST(fiber_launch, several_host_threads_do_what_one_does) {
  std::vector<std::int64_t> totals[2] = {{0}, {0}};
  std::vector<std::int64_t> sums[2];
  counters counts[2];
  for (std::size_t i = 0; i < 2; ++i) {
    sums[i].resize(300);
    const fiber_options options{
        .order = schedule::random, .counters = &counts[i], .host_threads = i == 0 ? 1 : 7};
    ASSERT_TRUE(
        run_on_fibers<block_sums>({300, 64}, {over(totals[i]), over(sums[i])}, options).ok());
  }
  EXPECT_EQ(totals[0][0], 64 * 300 * 299 / 2 + 300 * 63 * 64 / 2);
  EXPECT_EQ(totals[0], totals[1]);
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(fiber_launch, a_grid_may_have_more_than_65535_blocks) {
  const std::int64_t blocks = 70'000;
  std::vector<std::int64_t> total(1);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(blocks));
  ASSERT_TRUE(run_on_fibers<block_sums>({blocks, 32}, {over(total), over(sums)}).ok());
  EXPECT_EQ(sums.back(), 32 * (blocks - 1) + 31 * 32 / 2);
  EXPECT_EQ(total[0], 32 * blocks * (blocks - 1) / 2 + blocks * 31 * 32 / 2);
}

struct small_kernel {
  using storage = nothing;
  using args = nothing;
  static constexpr int max_threads = 128;
  template <class Simt>
  KSELECT_HD static void run(Simt&, storage&, const args&) {}
};

TEST(fiber_launch, a_grid_no_executor_can_launch_is_refused) {
  expect_failure(run_on_fibers<small_kernel>({0, 32}, {}), {"small_kernel", "0 blocks"});
  expect_failure(run_on_fibers<small_kernel>({std::int64_t{1} << 31, 32}, {}),
                 {"2147483648 blocks", "1 to 2147483647"});
  expect_failure(run_on_fibers<small_kernel>({1, 48}, {}), {"48 threads", "multiple of 32"});
  expect_failure(run_on_fibers<small_kernel>({1, 160}, {}), {"160 threads", "up to 128"});
  EXPECT_TRUE(run_on_fibers<small_kernel>({1, 128}, {}).ok());
}

TEST(fiber_launch, an_executor_that_is_not_built_in_is_unsupported) {
  for (const executor_kind kind : {executor_kind::cpu, executor_kind::cuda}) {
    device elsewhere;
    elsewhere.kind = kind;
    const status outcome = launch<small_kernel>({.device = &elsewhere}, {1, 32}, {});
    EXPECT_EQ(outcome.code, status_code::unsupported);
    EXPECT_NE(outcome.message.find("small_kernel"), std::string::npos);
  }
}

struct throws {
  using storage = nothing;
  struct args {
    std::shared_ptr<int>* held;
    int what;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::shared_ptr<int> local = *a.held;  // must be released on every stack
    if (simt.thread() == 33 && a.what == 0) throw std::runtime_error("out of luck");
    if (simt.thread() == 33 && a.what == 1) throw 42;
    KSELECT_ASSERT(simt.thread() != 33 || a.what != 2);
    simt.sync_block();
  }
};

TEST(fiber_launch, what_kernel_code_throws_becomes_the_status_and_every_stack_is_unwound) {
  const std::vector<std::string> said = {"the kernel threw an exception: out of luck",
                                         "the kernel threw something that is no std::exception",
                                         "KSELECT_ASSERT(simt.thread() != 33 || a.what != 2)"};
  for (const fiber_options& options : all_schedules()) {
    for (int what = 0; what < 3; ++what) {
      auto held = std::make_shared<int>(1);
      expect_failure(run_on_fibers<throws>({1, 64}, {&held, what}, options),
                     {"throws, block 0, warp 1, lane 1: " + said[static_cast<std::size_t>(what)]});
      EXPECT_EQ(held.use_count(), 1);
    }
  }
}

// The behaviour of a kernel, in a launch that overlaps the previous one or in one that does not.
enum class overlap : std::uint8_t { waits, never_waits, stores_early, adds_early };

struct overlaps {
  using storage = nothing;
  struct args {
    overlap what;
    global<std::int64_t> out;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.let_next_start();
    if (a.what == overlap::stores_early) simt.store(a.out, simt.thread(), 1);
    if (a.what == overlap::adds_early) simt.atomic_add(a.out, 0, 1);
    if (a.what == overlap::never_waits) return;
    simt.wait_for_previous();
    simt.store(a.out, simt.thread(), 2);
  }
};

TEST(fiber_launch, a_launch_that_overlaps_waits_for_the_previous_one_before_it_writes) {
  std::vector<std::int64_t> out(32);
  for (const fiber_options& options : all_schedules()) {
    const auto run = [&](overlap what, bool overlapping) {
      const grid shape{.blocks = 2, .threads = 32, .overlaps_previous = overlapping};
      return run_on_fibers<overlaps>(shape, {what, over(out)}, options);
    };
    EXPECT_TRUE(run(overlap::waits, true).ok());
    EXPECT_TRUE(run(overlap::never_waits, false).ok());
    expect_failure(run(overlap::never_waits, true),
                   {"overlaps, block", "no thread of the block called wait_for_previous"});
    expect_failure(run(overlap::stores_early, true), {"written before wait_for_previous"});
    expect_failure(run(overlap::adds_early, true), {"written before wait_for_previous"});
    expect_failure(run(overlap::waits, false), {"does not overlap", "grid::overlaps_previous"});
  }
}

struct awaits {
  using storage = nothing;
  struct args {
    std::int64_t posts, waits;  // blocks
    global<message> out;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.block() == a.posts) simt.post(a.out, 0, {5, 42});
    if (simt.block() == a.waits) simt.await(a.out, 0, 42);
  }
};

TEST(fiber_launch, a_block_may_wait_for_one_with_a_lower_number_alone) {
  for (fiber_options options : all_schedules()) {
    options.host_threads = 3;
    const auto run = [&](std::int64_t posts, std::int64_t waits, bool awaiting) {
      std::vector<message> out(1);
      const grid shape{.blocks = 4, .threads = 32, .awaits_earlier_blocks = awaiting};
      return run_on_fibers<awaits>(shape, {posts, waits, over(out)}, options);
    };
    EXPECT_EQ(run(0, 1, true).message, "");
    EXPECT_EQ(run(0, 3, true).message, "");
    expect_failure(run(2, 1, true), {"block 1", "no block before this one has posted"});
    expect_failure(run(0, 1, false), {"block 1", "without grid::awaits_earlier_blocks"});
  }
}

struct fails_in_some_blocks {
  using storage = nothing;
  using args = nothing;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args&) {
    simt.sync_block();
    KSELECT_ASSERT(simt.block() % 10 != 7);
  }
};

TEST(fiber_launch, of_several_errors_the_first_is_told_whatever_the_host_threads) {
  for (int host_threads = 1; host_threads <= 4; ++host_threads) {
    const fiber_options options{.host_threads = host_threads};
    expect_failure(run_on_fibers<fails_in_some_blocks>({100, 32}, {}, options),
                   {"block 7, warp 0"});
  }
}

TEST(fiber_launch, an_assertion_outside_of_kernels_throws) {
  EXPECT_THROW(KSELECT_ASSERT(1 + 1 == 3), std::logic_error);
}

}  // namespace
}  // namespace kselect::simt
