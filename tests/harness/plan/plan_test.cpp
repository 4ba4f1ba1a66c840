// The setting `measure.multiprocessors` in a plan: part of a cell's key, refused off a GPU.

#include "harness/plan/plan.hpp"

#include <gmock/gmock.h>
#include <set>
#include <string>

#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using testing::HasSubstr;
using testing_config::config_with;
using testing_config::usage_error;

std::vector<cell> planned(const sweep_config& config, executor_kind executor) {
  const auto input = open_input(choose_input(config, std::nullopt, 1, executor));
  backends places(config.measure);
  return plan_cells({config, *input, executor, std::nullopt}, places);
}

sweep_config confined_to(const char* multiprocessors) {
  return config_with({{"/algorithms", R"(["qms-block"])"},
                      {"/measure", R"({"threads": 1})"},
                      {"/measure/multiprocessors", multiprocessors}});
}

TEST(Plan, MultiprocessorsArePartOfTheKey) {
  std::set<std::string> keys;
  for (const char* const multiprocessors : {"0", "8", "16"}) {
    const std::vector<cell> cells = planned(confined_to(multiprocessors), executor_kind::cuda);
    ASSERT_EQ(cells.size(), 1U);
    keys.insert(cells.front().key);
  }
  EXPECT_EQ(keys.size(), 3U);
  const auto plain =
      config_with({{"/algorithms", R"(["qms-block"])"}, {"/measure", R"({"threads": 1})"}});
  EXPECT_TRUE(keys.contains(planned(plain, executor_kind::cuda).front().key)) << "0 is all";
}

TEST(Plan, MultiprocessorsAreRefusedWhereThereAreNone) {
  EXPECT_EQ(planned(confined_to("0"), executor_kind::fiber).size(), 1U);
  for (const executor_kind executor : {executor_kind::fiber, executor_kind::cpu}) {
    const std::string said = usage_error([&] { planned(confined_to("16"), executor); });
    EXPECT_THAT(said, HasSubstr("configs/x.json: /measure/multiprocessors: qms-block"));
    EXPECT_THAT(said, HasSubstr(std::string("executor ") + std::string(to_string(executor))));
    EXPECT_THAT(said, HasSubstr("--executor cuda"));
  }
}

TEST(Plan, HostBackendsHaveNoMultiprocessors) {
  for (const executor_kind executor : {executor_kind::fiber, executor_kind::cpu}) {
    const std::string said = usage_error([&] { open_backend(executor, 1, 0, 16); });
    EXPECT_THAT(said, HasSubstr("has no multiprocessors"));
    EXPECT_FALSE(open_backend(executor, 1)->confined());
  }
}

}  // namespace
}  // namespace kselect::harness
