// A task that was added to the harness goes through config, plan, messages, turns and records as
// selection does. Its runs count a number up and take no measurable time.

#include "harness/task/task.hpp"

#include <gmock/gmock.h>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/config/config.hpp"
#include "harness/plan/plan.hpp"
#include "harness/plan/shard.hpp"
#include "harness/record/records.hpp"
#include "harness/run/group.hpp"
#include "harness/run/messages.hpp"
#include "harness/run/whole_runs.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class no_input final : public sweep_input {
 public:
  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {{"kind", "none"}}; }
};

// Answers are wrong from this run of a cell on; 0: never.
int wrong_from = 0;

class counting final : public subject {
 public:
  explicit counting(const cell& c) : size_(std::get<std::int64_t>(c.of_problem.front().value)) {}
  timed_run run() override {
    ++runs_;
    return {{}, static_cast<double>(1000 * size_ + runs_ % 2)};
  }
  std::vector<stage_time> stages() const override {
    return {{"first", 400.0}, {"second", 600.0, false}};
  }
  named_numbers counts() const override { return {{"counted", static_cast<double>(size_)}}; }
  std::string disprove() override {
    return wrong_from != 0 && runs_ >= wrong_from ? "counted too far" : "";
  }
  std::string proof() const override { return "counted again"; }

 private:
  std::int64_t size_;
  int runs_ = 0;
};

class counting_runs final : public whole_runs {
  std::unique_ptr<subject> open(const cell& c) override { return std::make_unique<counting>(c); }
  void forget_inputs() override {}
};

class counting_task final : public task {
 public:
  std::string_view name() const override { return "count"; }
  std::string_view about() const override { return "a number counted up"; }
  std::span<const task_axis> axes() const override {
    static constexpr std::string_view second_only[] = {"test/second"};
    static const task_axis all[] = {
        {.name = "size", .preset = std::int64_t{3}, .low = 1, .high = 100},
        {.name = "share", .scope = axis_scope::entry, .preset = 0.5, .low = 0, .high = 1},
        {.name = "way",
         .scope = axis_scope::entry,
         .preset = std::string("up"),
         .choices = {"up", "down"},
         .entries = second_only}};
    return all;
  }
  std::span<const registered> entries() const override {
    static const algorithm both[] = {entry_named("test/first"), entry_named("test/second")};
    static const registered all[] = {{&both[0], "tests", "00"}, {&both[1], "tests", "11"}};
    return all;
  }
  std::string source_hash(const cell&) const override { return "22"; }
  std::int64_t passes(const cell& c) const override {
    return std::get<std::int64_t>(c.of_problem.front().value);
  }
  std::unique_ptr<sweep_input> open(const input_choice&) const override {
    return std::make_unique<no_input>();
  }
  cell_prospect foresee(const cell& c, const sweep_input&, const device&,
                        std::size_t) const override {
    if (c.problem.k < 50) return {};
    return {cell_status::unsupported, "k is 50 or more"};
  }
  std::unique_ptr<group_subjects> subjects(const sweep_input&, backend&) const override {
    return std::make_unique<counting_runs>();
  }

 private:
  static algorithm entry_named(std::string_view name) {
    algorithm entry;
    entry.name = name;
    entry.executors = set_of(executor_kind::cpu);
    return entry;
  }
};

sweep_config config_of(const std::string& axes, const std::string& more = "") {
  static const counting_task added;
  add_task(added);
  return parse_config(R"({"schema": "kselect-config/1", "name": "x", "task": "count", "axes": {)" +
                          axes + R"(}, "algorithms": ["test/*"])" + more + "}",
                      "x.json");
}

std::vector<cell> planned(const sweep_config& config) {
  const auto input = open_sweep_input(choose_input(config, std::nullopt, 1));
  backends places(config.measure);
  return plan_cells({config, *input, executor_kind::cpu, std::nullopt}, places);
}

std::vector<std::string> titles(const std::vector<cell>& cells) {
  std::vector<std::string> all;
  for (const cell& c : cells) {
    const std::string problem = problem_of(c);
    all.push_back(name_of(c) + ' ' + problem.substr(problem.find('#')));
  }
  return all;
}

std::string refusal(const std::string& axes, const std::string& more = "") {
  try {
    config_of(axes, more);
  } catch (const error& why) {
    return why.what();
  }
  return "accepted";
}

TEST(Task, ItsAxesAreReadAndHaveDefaults) {
  const sweep_config config = config_of(R"("n": 10, "q": 1, "k": 1, "size": [4, "2^3"])");
  ASSERT_EQ(config.axes.own.size(), 3U);
  EXPECT_THAT(config.axes.own[0].values, ElementsAre(std::int64_t{4}, std::int64_t{8}));
  EXPECT_THAT(config.axes.own[1].values, ElementsAre(0.5));
  EXPECT_THAT(config.axes.own[2].values, ElementsAre(std::string("up")));
  const auto resolved = resolved_json(config);
  EXPECT_EQ(resolved.at("task"), "count");
  EXPECT_EQ(parse_config(resolved.dump(), "x.json"), config) << resolved;
}

TEST(Task, WhatItDoesNotHaveIsRefused) {
  EXPECT_THAT(refusal(R"("n": 10, "q": 1, "k": 1, "sise": 4)"), HasSubstr("size"));
  EXPECT_THAT(refusal(R"("n": 10, "q": 1, "k": 1, "dtype": "float32")"), HasSubstr("/axes"));
  EXPECT_THAT(refusal(R"("n": 10, "q": 1, "k": 1, "size": 101)"), HasSubstr("/axes/size"));
  EXPECT_THAT(refusal(R"("n": 10, "q": 1, "k": 1, "size": [4, 4])"), HasSubstr("repeats"));
  EXPECT_THAT(refusal(R"("n": 10, "q": 1, "k": 1, "way": "dawn")"), HasSubstr("down"));
  EXPECT_THAT(refusal(R"("n": 10, "q": 1, "k": 1)", R"(, "input": {"rows": {"file": "x.npy"}})"),
              HasSubstr("/input"));
  EXPECT_THROW(parse_config(R"({"schema": "kselect-config/1", "name": "x", "task": "cuont",
                               "axes": {"n": 1, "q": 1, "k": 1}, "algorithms": ["*"]})",
                            "x.json"),
               error);
}

TEST(Task, SettingsOfTheProblemMakeGroupsAndThoseOfEntriesTakeTurns) {
  const auto cells =
      planned(config_of(R"("n": 10, "q": 1, "k": 1, "size": [4, 8], "way": ["up", "down"])"));
  EXPECT_THAT(titles(cells),
              ElementsAre("test/first #42/size=4", "test/second #42/size=4",
                          "test/second+way=down #42/size=4", "test/first #42/size=8",
                          "test/second #42/size=8", "test/second+way=down #42/size=8"));
  std::set<std::string> keys;
  group_numbers groups;
  for (const cell& c : cells) {
    keys.insert(c.key);
    EXPECT_EQ(groups.of(c), std::get<std::int64_t>(c.of_problem.front().value) == 4 ? 0 : 1);
  }
  EXPECT_EQ(keys.size(), cells.size());
}

TEST(Task, APlanCountsItsCells) {
  const sweep_config config =
      config_of(R"("n": [10, 20], "q": 1, "k": 1, "size": [4, 8, 9], "way": ["up", "down"])");
  const auto input = open_sweep_input(choose_input(config, std::nullopt, 1));
  backends places(config.measure);
  const auto plan = make_plan({config, *input, executor_kind::cpu, std::nullopt}, places);
  EXPECT_EQ(plan->size(), 2 * 3 * 3);
  EXPECT_EQ(plan->size(), std::ssize(planned(config)));
}

TEST(Task, AGroupOfItsCellsIsReadAsItWasWritten) {
  const auto cells = planned(config_of(R"("n": 10, "q": 1, "k": 1, "way": "down")"));
  std::vector<const cell*> group;
  for (const cell& c : cells) group.push_back(&c);
  const std::string line = group_line(group);
  const auto read = group_from(line);
  ASSERT_EQ(read.size(), cells.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].task, cells[i].task);
    EXPECT_EQ(read[i].of_problem, cells[i].of_problem);
    EXPECT_EQ(read[i].of_entry, cells[i].of_entry);
    EXPECT_EQ(read[i].entry, cells[i].entry);
  }
  for (const auto& [part, other] : {std::pair{R"("task":"count")", R"("task":"cuont")"},
                                    {R"("value":0.5)", R"("value":1.5)"},
                                    {R"("value":"down")", R"("value":"dawn")"},
                                    {R"("axis":"size")", R"("axis":"sise")"},
                                    {"test/first", "cpu/sort"}}) {
    std::string damaged = line;
    damaged.replace(damaged.find(part), std::string_view(part).size(), other);
    EXPECT_THROW(group_from(damaged), error) << other;
  }
}

TEST(Task, ItsSetupIsReadAsItWasWritten) {
  const sweep_config config = config_of(R"("n": 10, "q": 1, "k": 1, "size": [4, 8])");
  const input_choice choice = choose_input(config, std::nullopt, 1);
  const worker_setup read = setup_from(setup_line({choice, config.measure, {}, "x"}));
  EXPECT_EQ(read.input.task, config.task);
  EXPECT_EQ(read.input.own, config.axes.own);
}

struct recording final : group_observer {
  void running(const cell& c) override { order.push_back(name_of(c)); }
  void resting() override {}
  void finished(const cell& c, const cell_outcome& outcome) override {
    records[name_of(c)] = nlohmann::json::parse(cell_record(c, outcome, {{}, 1}));
  }
  bool go_on_after_damage() override { return true; }
  std::vector<std::string> order;
  std::map<std::string, nlohmann::json> records;
};

recording run_all() {
  const sweep_config config =
      config_of(R"("n": 10, "q": 1, "k": 1, "size": 5, "way": ["up", "down"])",
                R"(, "measure": {"rounds": 4, "min_samples": 8, "max_samples": 8})");
  const auto cells = planned(config);
  std::vector<const cell*> group;
  for (const cell& c : cells) group.push_back(&c);
  const auto input = open_sweep_input(choose_input(config, std::nullopt, 1));
  const auto place = open_backend(executor_kind::cpu, 1);
  const auto subjects = config.task->subjects(*input, *place);
  recording seen;
  run_group({group, config.measure, {}}, *subjects, *place, seen);
  return seen;
}

TEST(Task, ItsCellsAreProvenTimedInRoundsAndRecorded) {
  wrong_from = 0;
  const recording seen = run_all();
  ASSERT_EQ(seen.records.size(), 3U);
  const nlohmann::json& record = seen.records.at("test/second+way=down");
  EXPECT_EQ(record.at("status"), "ok") << record;
  EXPECT_EQ(record.at("task"), "count");
  EXPECT_EQ(record.at("problem").at("size"), 5);
  EXPECT_EQ(record.at("algorithm").at("name"), "test/second+way=down");
  EXPECT_EQ(record.at("algorithm").at("settings").at("way"), "down");
  EXPECT_EQ(record.at("algorithm").at("settings").at("share"), 0.5) << "also a preset";
  EXPECT_EQ(record.at("time").at("rounds").size(), 4U);
  EXPECT_EQ(record.at("time").at("samples").size(), 8U);
  EXPECT_NEAR(record.at("time").at("median"), 5000, 1);
  EXPECT_EQ(record.at("stages").at("second").at("median"), 600.0);
  EXPECT_EQ(record.at("stages").at("second").at("rounds").size(), 4U);
  EXPECT_EQ(record.at("stages").at("first").at("of_time"), true);
  EXPECT_EQ(record.at("stages").at("second").at("of_time"), false);
  EXPECT_EQ(record.at("counts").at("counted"), 5.0);
  EXPECT_EQ(record.at("verify").at("method"), "counted again");
  EXPECT_EQ(record.at("verify").at("before"), true);
  EXPECT_EQ(record.at("verify").at("after"), true);
  EXPECT_TRUE(record.at("floor").is_null());
}

TEST(Task, AnAnswerThatIsWrongLaterHasNoTime) {
  for (const int from : {1, 6}) {
    wrong_from = from;
    const recording seen = run_all();
    for (const auto& [name, record] : seen.records) {
      EXPECT_EQ(record.at("status"), "wrong") << name;
      EXPECT_TRUE(record.at("time").is_null());
      EXPECT_THAT(record.at("reason").get<std::string>(), HasSubstr("counted too far"));
    }
  }
  wrong_from = 0;
}

TEST(Task, SelectionsHaveNoMemberOfTasks) {
  cell c;
  c.entry = find_algorithm("cpu/sort");
  const auto record = nlohmann::json::parse(cell_record(c, {}, {}));
  for (const char* const member : {"task", "stages", "counts"}) {
    EXPECT_FALSE(record.contains(member)) << member;
  }
  EXPECT_FALSE(record.at("algorithm").contains("settings"));
}

}  // namespace
}  // namespace kselect::harness
