// Which cells of recorded runs are used for tuning.

#include "harness/tune/tuning_data.hpp"

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "tests/harness/compare/recorded.hpp"

namespace kselect::harness::tune {
namespace {

using compare::recorded_cell;
using compare::recorded_run;

recorded_cell cell(const std::string& algorithm, std::int64_t n, double ns,
                   const std::string& executor = "cuda") {
  recorded_cell made = compare::timed_cell(n, {ns}, executor);
  made.algorithm = algorithm;
  made.identity = algorithm + " " + executor + " " + to_string(made.problem);
  return made;
}

recorded_run run_of(const std::vector<recorded_cell>& cells, const std::string& gpu = "card") {
  recorded_run run = compare::run_of(cells, gpu);
  run.meta["gpu"][0]["multiprocessors"] = 64;
  run.meta["gpu"][0]["compute_capability"] = 90;
  run.meta["run"] = "made-up";
  run.meta["started"] = "2026-01-02T03:04:05Z";
  return run;
}

recorded_run run_on_processor(const std::vector<recorded_cell>& cells) {
  recorded_run run = tune::run_of(cells);
  run.meta.erase("gpu");
  run.meta["host"]["cpu"] = "processor";
  return run;
}

std::string refused(const std::vector<recorded_run>& runs) {
  try {
    typical(collect(runs));
  } catch (const error& why) {
    EXPECT_EQ(why.category(), failure::input);
    return why.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(collect, gathers_times_of_members_and_of_auto_by_problem) {
  recorded_cell slow = cell("bms-warp", 512, 1);
  slow.status = cell_status::timeout;
  const tuning_data data =
      collect({run_of({cell("bms-block", 512, 100), cell("bms-grid", 512, 200),
                       cell("auto", 512, 101), cell("cpu/sort", 512, 1),
                       cell("radix-select", 1024, 300), slow, cell("one-pass", 512, 1, "cpu")})});
  EXPECT_EQ(data.device.name, "card");
  EXPECT_EQ(data.device.multiprocessors, 64);
  EXPECT_EQ(data.members, (std::vector<std::string>{"bms-block", "bms-grid", "radix-select"}));
  ASSERT_EQ(data.problems.size(), 2U);
  EXPECT_NEAR(data.problems[0].times[0], 100, 1e-9);
  EXPECT_NEAR(data.problems[0].times[1], 200, 1e-9);
  EXPECT_TRUE(std::isnan(data.problems[0].times[2]));
  EXPECT_NEAR(data.problems[0].chosen, 101, 1e-9);
  EXPECT_NEAR(data.problems[1].times[2], 300, 1e-9);
  EXPECT_TRUE(std::isnan(data.problems[1].chosen));
  EXPECT_EQ(data.source, "made-up of 2026-01-02, driver 1.2, kselect ?");
  EXPECT_EQ(data.sources.at(0).at("driver"), "1.2");
}

TEST(collect, averages_what_was_measured_twice) {
  const tuning_data data =
      collect({run_of({cell("bms-block", 512, 100)}), run_of({cell("bms-block", 512, 400)})});
  ASSERT_EQ(data.problems.size(), 1U);
  EXPECT_NEAR(data.problems[0].times[0], 200, 1e-9);
  EXPECT_EQ(data.sources.size(), 2U);
}

// On a CPU `auto` uses rules, and its time is compared with those of all measured algorithms.
TEST(collect, gathers_all_times_of_a_processor) {
  const tuning_data data = collect(
      {run_on_processor({cell("one-pass", 512, 100, "cpu"), cell("cpu/sort", 512, 300, "cpu"),
                         cell("auto", 512, 110, "cpu"), cell("bms-block", 512, 1, "fiber")})});
  EXPECT_EQ(data.device.kind, executor_kind::cpu);
  EXPECT_EQ(data.device.name, "processor");
  EXPECT_EQ(data.device.multiprocessors, 2) << "its threads";
  EXPECT_EQ(data.device.compute_capability, 0);
  EXPECT_EQ(data.members, (std::vector<std::string>{"one-pass", "cpu/sort"}));
  ASSERT_EQ(data.problems.size(), 1U);
  EXPECT_NEAR(data.problems[0].chosen, 110, 1e-9);
  EXPECT_EQ(data.sources.at(0).at("driver"), nullptr);
}

TEST(collect, refuses_a_run_on_a_part_of_a_gpu) {
  recorded_run part = run_of({cell("bms-block", 512, 100)});
  part.meta["multiprocessors"] = {{"used", 16}, {"of", 64}};
  EXPECT_NE(refused({part}).find("confined to some"), std::string::npos);
}

TEST(collect, refuses_what_no_table_can_come_of) {
  EXPECT_NE(
      refused({run_of({cell("bms-block", 512, 1)}), run_of({cell("bms-block", 512, 1)}, "other")})
          .find("one device at a time"),
      std::string::npos);
  recorded_run without = run_of({cell("bms-block", 512, 1)});
  without.meta.erase("gpu");
  EXPECT_NE(refused({without}).find("no cell of a member"), std::string::npos);
  EXPECT_NE(refused({run_of({cell("cpu/sort", 512, 1)})}).find("no cell of a member"),
            std::string::npos);
}

TEST(typical, leaves_out_other_orders_layouts_and_payloads) {
  recorded_cell sorted = cell("bms-block", 1024, 1);
  sorted.problem.distribution.kind = distribution_kind::ascending;
  recorded_cell columns = cell("bms-block", 2048, 1);
  columns.problem.layout = layout::column_major;
  recorded_cell values = cell("bms-block", 4096, 1);
  values.problem.payload = payload::values;
  const tuning_data data = collect({run_of({cell("bms-block", 512, 1), sorted, columns, values})});
  const tuning_data kept = typical(data);
  ASSERT_EQ(kept.problems.size(), 1U);
  EXPECT_EQ(kept.problems[0].problem.n, 512);
}

}  // namespace
}  // namespace kselect::harness::tune
