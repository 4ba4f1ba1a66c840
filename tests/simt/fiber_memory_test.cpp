// Memory of lanes: poison, bounds, alignment, guard pages.

#include <cstring>

#include "tests/simt/fiber_run.hpp"

namespace kselect::simt {
namespace {

struct nothing {};

struct reads_unwritten {
  struct storage {
    std::uint32_t words[4];
  };
  struct args {
    global<std::uint32_t> out;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const dynamic = static_cast<std::uint32_t*>(simt.dynamic_shared());
    if (simt.thread() != 0) return;
    simt.store(a.out, 2 * simt.block(), shared.words[3]);
    simt.store(a.out, 2 * simt.block() + 1, dynamic[7]);
    shared.words[3] = 0;
    dynamic[7] = 0;
  }
};

TEST(fiber_memory, shared_memory_is_poisoned_before_every_block) {
  std::vector<std::uint32_t> out(6);
  ASSERT_TRUE(run_on_fibers<reads_unwritten>({3, 32, 32}, {over(out)}).ok());
  EXPECT_EQ(out, std::vector<std::uint32_t>(6, 0xcdcdcdcdU));
}

enum class mistake { load, store, negative, slice, atomic, vector_end, misaligned_vector };

struct out_of_bounds {
  using storage = nothing;
  struct args {
    global<float> values;
    global<int> counts;
    mistake planted;
  };
  static constexpr int first_line = __LINE__ + 4;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.block() != 1 || simt.thread() != 37) return;
    if (a.planted == mistake::load) simt.load(a.values, 64);
    if (a.planted == mistake::store) simt.store(a.values, 65, 1.0F);
    if (a.planted == mistake::negative) simt.load(a.values, -1);
    if (a.planted == mistake::slice) simt.slice(a.values, 60, 5);
    if (a.planted == mistake::atomic) simt.atomic_min(a.counts, 8, 1);
    if (a.planted == mistake::vector_end) simt.load(as_vec<4>(a.values), 16);
    const global<float> odd = simt.slice(a.values, 1, 60);
    if (a.planted == mistake::misaligned_vector) simt.load(as_vec<4>(odd), 0);
  }
};

void expect_mistake(mistake planted, int line, const std::string& what) {
  alignas(16) std::array<float, 64> values{};
  std::vector<int> counts(8);
  expect_failure(
      run_on_fibers<out_of_bounds>({2, 64}, {{values.data(), 64}, over(counts), planted}),
      {"out_of_bounds, block 1, warp 1, lane 5: ", what,
       site(__FILE__, out_of_bounds::first_line + line)});
}

TEST(fiber_memory, accesses_out_of_bounds_are_found) {
  expect_mistake(mistake::load, 0, "load of element 64 of 64 is out of bounds");
  expect_mistake(mistake::store, 1, "store of element 65 of 64 is out of bounds");
  expect_mistake(mistake::negative, 2, "load of element -1 of 64 is out of bounds");
  expect_mistake(mistake::slice, 3, "slice of 5 elements from 60 on of 64 is out of bounds");
  expect_mistake(mistake::atomic, 4, "atomic_min of element 8 of 8 is out of bounds");
  expect_mistake(mistake::vector_end, 5, "load of element 16 of 16 is out of bounds");
}

TEST(fiber_memory, a_misaligned_vector_is_found) {
  expect_mistake(mistake::misaligned_vector, 7, "not aligned to the 16 bytes");
}

struct recurses {
  using storage = nothing;
  struct args {
    int depth;
    global<int> out;
  };
  template <class Simt>
  KSELECT_HD static int deeper(Simt& simt, int depth) {
    volatile char room[1024];
    room[0] = static_cast<char>(depth);
    return depth == 0 ? room[0] : deeper(simt, depth - 1) + room[0];
  }
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.thread() == 1) simt.store(a.out, 0, deeper(simt, a.depth));
  }
};

TEST(fiber_memory, a_lane_may_use_its_stack) {
  std::vector<int> out(1);
  EXPECT_TRUE(run_on_fibers<recurses>({1, 32}, {30, over(out)}).ok());
}

TEST(fiber_memory_death, an_overflowing_stack_faults_at_its_guard_page) {
  std::vector<int> out(1);
  EXPECT_DEATH(static_cast<void>(run_on_fibers<recurses>({1, 32}, {300, over(out)})), "");
}

#if defined(__SANITIZE_ADDRESS__)
struct beyond_storage {
  struct storage {
    int values[5];
  };
  struct args {
    int index;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const dynamic = static_cast<int*>(simt.dynamic_shared());
    if (a.index < 0) dynamic[a.index] = 1;
    if (a.index > 0) *(shared.values + a.index) = 1;
  }
};

TEST(fiber_memory_death, accesses_beyond_shared_memory_are_found_by_the_sanitizer) {
  const auto beyond = [](int index) {
    static_cast<void>(run_on_fibers<beyond_storage>({1, 32, 16}, {index}));
  };
  EXPECT_DEATH(beyond(5), "use-after-poison");
  EXPECT_DEATH(beyond(-1), "use-after-poison");
}
#endif

TEST(fiber_memory, a_stack_below_the_limit_is_refused) {
  std::vector<int> out(1);
  const fiber_options options{.stack_bytes = 4096};
  expect_failure(run_on_fibers<recurses>({1, 32}, {0, over(out)}, options),
                 {"recurses", "stack_bytes is 4096", "65536"});
}

}  // namespace
}  // namespace kselect::simt
