// Launches that are recorded instead of started.

#include "kselect/simt/launch_notes.hpp"

#include "tests/simt/fiber_run.hpp"

namespace kselect::simt {
namespace {

struct writes_one {
  struct storage {};
  struct args {
    global<int> out;
  };
  static constexpr int max_threads = 64;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.thread() == 0) simt.store(a.out, 0, 1);
  }
};

TEST(launch_notes, take_the_place_of_launches_on_any_executor) {
  std::vector<int> out(1);
  {
    launch_notes notes;
    EXPECT_TRUE(run_on_fibers<writes_one>({3, 64}, {over(out)}).ok());
    device gpu;
    gpu.kind = executor_kind::cuda;
    EXPECT_TRUE(launch<writes_one>({.device = &gpu}, {7, 32, 100}, {over(out)}).ok());
    ASSERT_EQ(notes.launches.size(), 2U);
    EXPECT_NE(notes.launches[0].kernel.find("writes_one"), std::string::npos);
    EXPECT_EQ(notes.launches[0].shape.blocks, 3);
    EXPECT_EQ(notes.launches[0].shape.threads, 64);
    EXPECT_EQ(notes.launches[1].shape.blocks, 7);
    EXPECT_EQ(notes.launches[1].shape.dynamic_shared_bytes, 100U);
  }
  EXPECT_EQ(out[0], 0);
  EXPECT_TRUE(run_on_fibers<writes_one>({3, 64}, {over(out)}).ok());
  EXPECT_EQ(out[0], 1);
}

TEST(launch_notes, know_what_no_launch_may_be) {
  launch_notes notes;
  std::vector<int> out(1);
  expect_failure(run_on_fibers<writes_one>({3, 96}, {over(out)}), {"96 threads"});
  expect_failure(run_on_fibers<writes_one>({0, 64}, {over(out)}), {"0 blocks"});
  EXPECT_TRUE(notes.launches.empty());
}

}  // namespace
}  // namespace kselect::simt
