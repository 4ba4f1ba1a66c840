// A cell group in this process, with algorithms that fail at some point.

#include "harness/run/group.hpp"

#include <algorithm>
#include <cstring>
#include <gmock/gmock.h>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "harness/config/config.hpp"
#include "harness/run/group_inputs.hpp"
#include "runtime/error.hpp"
#include "tests/harness/run/calling.hpp"
#include "tests/on_fibers.hpp"

namespace kselect::harness {
namespace {

using testing::HasSubstr;

const registered& right() { return *find_algorithm("cpu/sort"); }

const algorithm& right_algorithm() { return *right().algorithm; }

// Runs the right algorithm, then `spoil`.
template <auto spoil>
status spoilt_call(const problem& p, const io& buffers, std::span<std::byte> workspace,
                   const executor& on) {
  const status done = right_algorithm().plan(p, *on.device).enqueue(buffers, workspace, on);
  spoil(p, buffers);
  return done;
}
template <auto spoil>
algorithm spoilt() {
  return calling<&right_algorithm, &spoilt_call<spoil>>("test/spoilt");
}

status broken_call(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {status_code::failed, "cudaErrorIllegalAddress"};
}

struct recording final : group_observer {
  void running(const cell& c) override { order.push_back(c.key); }
  void resting() override {}
  void finished(const cell& c, const cell_outcome& outcome) override { ended[c.key] = outcome; }
  bool go_on_after_damage() override { return go_on; }

  bool go_on = true;
  std::vector<std::string> order;
  std::map<std::string, cell_outcome> ended;
};

class Group : public testing::Test {
 protected:
  Group() {
    config_ = parse_config(
        R"({"schema": "kselect-config/1", "name": "x", "algorithms": ["*"],
            "axes": {"n": 500, "q": 6, "k": 20}})",
        "x.json");
    input_ = open_input(choose_input(config_, std::nullopt, 1));
    problem_ = expand(config_).front();
    policy_.rounds = 4;
    policy_.min_samples = 8;
    policy_.max_samples = 8;
  }

  // Runs the entries as a group. The key of an outcome is the entry's position.
  bool run(const std::vector<const algorithm*>& entries) {
    std::vector<registered> rows;
    for (const algorithm* entry : entries) rows.push_back({entry, "tests", "0123456789abcdef"});
    std::vector<cell> cells(entries.size());
    std::vector<const cell*> group;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].problem = problem_;
      cells[i].entry = &rows[i];
      cells[i].executor = place_->description().kind;
      cells[i].key = std::to_string(i);
      group.push_back(&cells[i]);
    }
    group_inputs inputs(*input_, *place_);
    return run_group({group, policy_, ceilings_}, inputs, *place_, seen_);
  }
  const cell_outcome& outcome(const std::string& key = "0") { return seen_.ended.at(key); }

  sweep_config config_;
  std::unique_ptr<input_source> input_;
  workload problem_;
  measure_policy policy_;
  memory_ceilings ceilings_;
  std::unique_ptr<backend> place_ = open_backend(executor_kind::cpu, 2);
  recording seen_;
};

TEST_F(Group, HasATimeExactlyIfTheAnswerHeld) {
  EXPECT_TRUE(run({right().algorithm}));
  const cell_outcome& good = outcome();
  EXPECT_EQ(good.status, cell_status::ok) << good.reason;
  ASSERT_TRUE(good.time);
  EXPECT_EQ(good.time->rounds_ns.size(), 4U);
  EXPECT_EQ(good.time->samples_ns.size(), 8U);
  EXPECT_GT(good.time->result.median, 0);
  EXPECT_EQ(good.time->clock, "steady");
  EXPECT_EQ(good.time->cache, "warm");
  EXPECT_TRUE(good.proven_before && good.proven_after);
  EXPECT_EQ(good.answers_proven, 1 + 8 + 4) << "the first, every sample, the last of each round";
  EXPECT_TRUE(good.fresh_inputs);
  EXPECT_GE(good.input_copies, 3);

  const algorithm bad =
      spoilt<[](const problem&, const io& b) { static_cast<std::int32_t*>(b.indices)[0] = -1; }>();
  EXPECT_TRUE(run({&bad}));
  EXPECT_EQ(outcome().status, cell_status::wrong);
  EXPECT_FALSE(outcome().time);
  EXPECT_FALSE(outcome().proven_before);
}

// State that leaks between launches makes only later answers wrong.
TEST_F(Group, ProvesTheTimedAnswersToo) {
  static int calls;
  calls = 0;
  constexpr auto tire = [](const problem& p, const io& b) {
    if (++calls > 6) static_cast<float*>(b.values)[p.k] = 0;
  };
  const algorithm tires = spoilt<tire>();
  run({&tires});
  EXPECT_EQ(outcome().status, cell_status::wrong);
  EXPECT_THAT(outcome().reason, HasSubstr("in round 2: "));
  EXPECT_FALSE(outcome().time);
  EXPECT_TRUE(outcome().proven_before);
}

TEST_F(Group, AlgorithmsTakeTurns) {
  run({right().algorithm, right().algorithm});
  std::string turns;  // the order of turns; consecutive equal letters are one turn
  for (const std::string& key : seen_.order) {
    if (turns.empty() || turns.back() != key[0]) turns += key;
  }
  EXPECT_EQ(turns, "0101010") << "01, the proofs, then a Latin square: 01, 10, 01, 10";
}

TEST_F(Group, EachRoundHasOtherRows) {
  static std::vector<float> first_elements;
  first_elements.clear();
  const algorithm looks = spoilt<[](const problem&, const io& b) {
    const float first = *static_cast<const float*>(b.input);
    if (first_elements.empty() || first_elements.back() != first) first_elements.push_back(first);
  }>();
  run({&looks});
  EXPECT_EQ(first_elements.size(), 4U) << "the proof's rows are those of the first round";
  std::ranges::sort(first_elements);
  EXPECT_EQ(std::ranges::unique(first_elements).size(), 0U);
}

TEST_F(Group, RestoresTheRowsOfAnAlgorithmThatWorksInPlace) {
  algorithm in_place = spoilt<[](const problem& p, const io& b) {
    std::memset(const_cast<void*>(b.input), 0, p.input_bytes());
  }>();
  in_place.promises.modifies_input = true;
  run({&in_place});
  EXPECT_EQ(outcome().status, cell_status::ok) << outcome().reason;
}

TEST_F(Group, FlushedCachesAreStated) {
  policy_.cache = cpu_cache::flushed;
  run({right().algorithm});
  ASSERT_TRUE(outcome().time) << outcome().reason;
  EXPECT_EQ(outcome().time->cache, "cold");
}

TEST_F(Group, KeepsTheReasonOfAFailureAndStopsIfToldTo) {
  const algorithm broken = calling<&right_algorithm, &broken_call>("test/broken");
  EXPECT_TRUE(run({&broken, right().algorithm}));
  EXPECT_EQ(outcome().status, cell_status::error);
  EXPECT_EQ(outcome().reason, "cudaErrorIllegalAddress");
  EXPECT_EQ(outcome("1").status, cell_status::ok);
  seen_.ended.clear();
  seen_.go_on = false;
  EXPECT_FALSE(run({&broken, right().algorithm}));
  EXPECT_EQ(seen_.ended.size(), 1U);
}

// A kernel's fault makes it unusable, like a GPU's context.
class fragile final : public like_another {
 public:
  using like_another::like_another;
  std::byte* allocate(std::size_t bytes) override {
    if (!fault.empty()) throw error(failure::resources, "cannot allocate");
    return like_another::allocate(bytes);
  }
  std::string lost() override { return fault; }

  static inline std::string fault;
};

class GroupThatLosesItsPlace : public Group {
 protected:
  GroupThatLosesItsPlace() {
    fragile::fault.clear();
    place_ = std::make_unique<fragile>(std::move(place_));
  }
  ~GroupThatLosesItsPlace() override { fragile::fault.clear(); }
};

status faulty_call(const problem&, const io&, std::span<std::byte>, const executor&) {
  fragile::fault = "cudaErrorIllegalAddress: an illegal memory access was encountered";
  return {status_code::failed, "kernel stray_store: launch: " + fragile::fault};
}

// Cells after the fault are not blamed for it, even if the observer would go on.
TEST_F(GroupThatLosesItsPlace, EndsWithTheCellThatIsAtFault) {
  const algorithm faulty = calling<&right_algorithm, &faulty_call>("test/faulty");
  EXPECT_FALSE(run({right().algorithm, &faulty, right().algorithm}));
  ASSERT_EQ(seen_.ended.size(), 1U) << "the others are for a new process";
  EXPECT_EQ(outcome("1").status, cell_status::error);
  EXPECT_EQ(outcome("1").reason, "kernel stray_store: launch: " + fragile::fault);
}

TEST_F(GroupThatLosesItsPlace, NamesTheFaultWhateverCallNoticedIt) {
  const algorithm faulty = spoilt<[](const problem&, const io&) {
    static int calls = 0;
    if (++calls == 7) fragile::fault = "cudaErrorLaunchFailure: unspecified launch failure";
  }>();
  EXPECT_FALSE(run({&faulty}));
  EXPECT_EQ(outcome().status, cell_status::error) << "and not out_of_memory";
  EXPECT_THAT(outcome().reason, HasSubstr("cannot allocate"));
  EXPECT_THAT(outcome().reason, HasSubstr(fragile::fault));
  EXPECT_TRUE(outcome().proven_before);
}

TEST_F(GroupThatLosesItsPlace, RunsNothingWhereTheFaultIsOlder) {
  fragile::fault = "cudaErrorIllegalAddress";
  EXPECT_FALSE(run({right().algorithm}));
  EXPECT_TRUE(seen_.ended.empty());
}

TEST_F(Group, EndsAsOutOfMemoryWhenTheWorkspaceDoesNotFit) {
  algorithm greedy = *right().algorithm;
  greedy.plan = [](const problem& p, const device&) {
    return call_plan::of<&do_nothing>(p, std::size_t{1} << 60);
  };
  EXPECT_TRUE(run({&greedy, right().algorithm}));
  EXPECT_EQ(outcome().status, cell_status::out_of_memory);
  EXPECT_THAT(outcome().reason, HasSubstr("cannot allocate"));
  EXPECT_EQ(outcome("1").status, cell_status::ok);
}

// Reports given reading rates, for one thread and for several threads.
class reading_at final : public like_another {
 public:
  reading_at(std::unique_ptr<backend> other, double by_one, double by_more)
      : like_another(std::move(other)), by_one_(by_one), by_more_(by_more) {}
  std::optional<double> seconds_to_read(memory_range bytes, int threads, int) override {
    threads_asked.insert(threads);
    return static_cast<double>(bytes.size()) / (threads == 1 ? by_one_ : by_more_);
  }
  std::set<int> threads_asked;

 private:
  double by_one_, by_more_;
};

TEST_F(Group, FasterThanReadingTheRowsIsImplausible) {
  place_ = std::make_unique<reading_at>(std::move(place_), 1e3, 1e3);  // nothing real is that slow
  run({right().algorithm});
  EXPECT_EQ(outcome().status, cell_status::implausible);
  EXPECT_THAT(outcome().reason, HasSubstr("measured ceiling"));
  EXPECT_FALSE(outcome().time);
}

class GroupHeldAgainstReading : public Group {
 protected:
  void read_at(double by_one, double by_more) {
    auto place = std::make_unique<reading_at>(std::move(place_), by_one, by_more);
    reader_ = place.get();
    place_ = std::move(place);
  }
  void expect_share(const std::string& key, double rate) {
    const cell_outcome& of = outcome(key);
    ASSERT_TRUE(of.floor) << of.reason;
    EXPECT_STREQ(of.floor->ceiling, "rows_read");
    EXPECT_EQ(of.floor->bytes, 500 * 6 * 4 + 6 * 20 * 8);
    const double seconds = of.time->result.median * 1e-9;
    EXPECT_NEAR(of.floor->share * seconds * rate / static_cast<double>(of.floor->bytes), 1, 1e-9);
  }
  const reading_at* reader_ = nullptr;
  const algorithm* const serial_ = right().algorithm;
  const algorithm* const threaded_ = find_algorithm("cpu/sort+omp")->algorithm;
};

TEST_F(GroupHeldAgainstReading, ByOneThreadIfItIsSerial) {
  read_at(1e15, 2e15);
  run({serial_});
  expect_share("0", 1e15);
  EXPECT_EQ(reader_->threads_asked, (std::set{1}));
}

TEST_F(GroupHeldAgainstReading, ByAllThreadsIfItMayUseThem) {
  read_at(1e15, 2e15);
  run({serial_, threaded_});
  expect_share("0", 1e15);
  expect_share("1", 2e15);
  EXPECT_EQ(reader_->threads_asked, (std::set{1, 2}));
}

// An algorithm may use fewer threads, so the faster rate is the ceiling.
TEST_F(GroupHeldAgainstReading, ByOneThreadIfThatIsFaster) {
  read_at(2e15, 1e3);
  policy_.cache = cpu_cache::flushed;
  run({threaded_});
  expect_share("0", 2e15);
}

TEST_F(Group, OfAPlaceWithoutARateHasNoFloor) {
  place_ = std::make_unique<like_another>(std::move(place_));
  run({right().algorithm});
  EXPECT_EQ(outcome().status, cell_status::ok) << outcome().reason;
  EXPECT_FALSE(outcome().floor);
}

TEST_F(Group, NoRowsAreAnEmptySuccess) {
  problem_.q = 0;
  run({right().algorithm});
  EXPECT_EQ(outcome().status, cell_status::ok);
  EXPECT_FALSE(outcome().time);
}

TEST_F(Group, WithoutRoundsACellRunsOnceAndIsProven) {
  policy_.rounds = 0;
  int calls = 0;
  static int* counted;
  counted = &calls;
  const algorithm right_once = spoilt<[](const problem&, const io&) { ++*counted; }>();
  EXPECT_TRUE(run({&right_once}));
  EXPECT_EQ(outcome().status, cell_status::ok) << outcome().reason;
  EXPECT_FALSE(outcome().time);
  EXPECT_TRUE(outcome().proven_before);
  EXPECT_EQ(outcome().answers_proven, 1);
  EXPECT_EQ(calls, 1);
  const algorithm wrong =
      spoilt<[](const problem&, const io& b) { static_cast<std::int32_t*>(b.indices)[0] = -1; }>();
  EXPECT_TRUE(run({&wrong}));
  EXPECT_EQ(outcome().status, cell_status::wrong);
}

TEST_F(Group, KernelsOnFibersAreCountedAndNeverTimed) {
  place_ = open_backend(executor_kind::fiber, 2);
  run({find_algorithm("qms-warp")->algorithm});
  EXPECT_EQ(outcome().status, cell_status::ok) << outcome().reason;
  EXPECT_FALSE(outcome().time);
  ASSERT_TRUE(outcome().work);
  const simt::counters first = outcome().work->counters;
  EXPECT_GE(first[simt::counter::global_reads], 500 * 6);
  EXPECT_GE(first[simt::counter::global_writes], 2 * 6 * 20);
  EXPECT_GT(first[simt::counter::collectives], 0);
  run({find_algorithm("qms-warp")->algorithm});
  EXPECT_EQ(outcome().work->counters, first) << "exact: the same in every run";
}

}  // namespace
}  // namespace kselect::harness
