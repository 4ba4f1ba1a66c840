// A sweep's group on a GPU, confined to some multiprocessors: answers are proven, cells are timed,
// and algorithms plan for the multiprocessors that they have.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/config/cells.hpp"
#include "harness/run/group.hpp"
#include "harness/run/group_inputs.hpp"
#include "kselect/registry.hpp"

namespace kselect::harness {
namespace {

struct outcomes final : group_observer {
  void running(const cell&) override {}
  void resting() override {}
  void finished(const cell& c, const cell_outcome& outcome) override { ended[c.key] = outcome; }
  bool go_on_after_damage() override { return false; }
  std::map<std::string, cell_outcome> ended;
};

// Runs one cell of each entry, as a worker process does. The input's distances are computed on a
// backend of the input's own, which the confined one takes turns with.
std::map<std::string, cell_outcome> run_confined(const std::vector<const char*>& names,
                                                 const std::string& input, backend& place) {
  const sweep_config config = parse_config(
      R"({"schema": "kselect-config/1", "name": "x", "algorithms": ["*"], "executor": "cuda",
          "axes": {"n": 20000, "q": 300, "k": 20}, "input": {"generator": {)" +
          input + "}}}",
      "x.json");
  const auto rows = open_input(choose_input(config, std::nullopt, 1));
  std::vector<cell> cells;
  for (const char* const name : names) {
    cell c;
    c.problem = expand(config).front();
    c.entry = find_algorithm(name);
    c.executor = executor_kind::cuda;
    c.key = name;
    cells.push_back(c);
  }
  std::vector<const cell*> group;
  for (const cell& c : cells) group.push_back(&c);
  measure_policy policy;
  policy.rounds = 3;
  policy.min_samples = policy.max_samples = 6;
  const memory_ceilings ceilings = place.measure_ceilings();
  group_inputs inputs(*rows, place);
  outcomes seen;
  EXPECT_TRUE(run_group({group, policy, ceilings}, inputs, place, seen));
  return seen.ended;
}

TEST(ConfinedOnCuda, AnswersAreProvenAndTimed) {
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto place = open_backend(executor_kind::cuda, 2, 0, 16);
  for (const std::string input : {"", R"("vectors": {"dimension": 16, "metric": "sqeuclidean"})"}) {
    for (const auto& [name, outcome] :
         run_confined({"qms-block", "radix-select", "auto"}, input, *place)) {
      EXPECT_EQ(outcome.status, cell_status::ok) << name << ": " << outcome.reason;
      EXPECT_TRUE(outcome.proven_before && outcome.proven_after) << name;
      ASSERT_TRUE(outcome.time) << name;
      EXPECT_GT(outcome.time->result.median, 0) << name;
      ASSERT_TRUE(outcome.floor) << name;
      EXPECT_LT(outcome.floor->share, 1.25) << name;
    }
  }
}

}  // namespace
}  // namespace kselect::harness
