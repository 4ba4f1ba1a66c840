// Rows made by a kernel equal the host's byte for byte, on fibers and, if there is one, on a GPU.

#include "harness/workload/device/rows_on_device.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/workload/rows.hpp"
#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

class RowsOnDevice : public testing::TestWithParam<executor_kind> {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(GetParam()); !why.empty()) GTEST_SKIP() << why;
    place_ = open_backend(GetParam(), 2);
  }

  void expect_the_hosts(const workload& p) {
    std::vector<std::byte> host(p.input_bytes(), std::byte{1}), made(p.input_bytes());
    generate_rows(p, host, 2);
    const device_buffer rows(*place_, p.input_bytes());
    generate_rows(*place_, p, rows.data());
    place_->to_host(made, rows.data());
    ASSERT_EQ(made, host) << to_string(p);
  }

  std::unique_ptr<backend> place_;
};

workload sized(std::int64_t n, std::int64_t q) {
  workload p = posed(n, q, 3);
  p.seed = 77;
  return p;
}

TEST_P(RowsOnDevice, AreTheHostsOfEveryDistributionAndType) {
  for (const char* const text :
       {"uniform", "normal", "decaying(9)", "ascending", "descending", "all_equal",
        "few_distinct(7)", "organ_pipe", "same_leading_bits(20)", "inf_fraction", "nan_fraction",
        "kth_ties(5)"}) {
    workload p = sized(301, 7);
    p.distribution = parse_distribution(text).value();
    for (const auto& type : names<dtype>) {
      p.type = type.value;
      expect_the_hosts(p);
    }
  }
}

TEST_P(RowsOnDevice, AreTheHostsInEveryShapeAndLayout) {
  for (const auto& [n, q] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                             {1, 70},
                             {70, 1},
                             {3, 5},
                             {257, 33},
                             {5000, 2}}) {
    for (const auto& order : names<layout>) {
      workload p = sized(n, q);
      p.layout = order.value;
      expect_the_hosts(p);
      p.pitch = p.effective_pitch() + 3;  // the gaps between rows must also be equal
      expect_the_hosts(p);
    }
  }
}

// More blocks than a launch has threads, so that each thread makes several.
TEST(RowsOnDeviceOnCuda, AreTheHostsWhereTheyAreMany) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda, 4);
  for (const auto& order : names<layout>) {
    workload p = sized((1 << 16) + 3, 300);
    p.layout = order.value;
    std::vector<std::byte> host(p.input_bytes()), made(p.input_bytes());
    generate_rows(p, host, 4);
    const device_buffer rows(*place, p.input_bytes());
    generate_rows(*place, p, rows.data());
    place->to_host(made, rows.data());
    ASSERT_TRUE(made == host) << to_string(p);
  }
}

INSTANTIATE_TEST_SUITE_P(, RowsOnDevice, testing::Values(executor_kind::fiber, executor_kind::cuda),
                         [](const auto& of) { return "on_" + std::string(to_string(of.param)); });

}  // namespace
}  // namespace kselect::harness
