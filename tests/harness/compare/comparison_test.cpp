#include "harness/compare/comparison.hpp"

#include <gtest/gtest.h>

#include "harness/compare/noise.hpp"
#include "harness/compare/report.hpp"
#include "tests/harness/compare/recorded.hpp"
#include "tests/harness/scratch_directory.hpp"

namespace kselect::harness::compare {
namespace {

constexpr std::size_t rounds = 11;
constexpr double time_ns = 1e6;

// Compares one cell with itself after a relative change; the rounds are paired.
comparison paired(double change, double deviation, const criteria& how = {},
                  std::size_t count = rounds) {
  recorded_run base = run_of({timed_cell(1024, noisy_rounds(count, time_ns, deviation, 1))});
  recorded_run now =
      run_of({timed_cell(1024, noisy_rounds(count, time_ns * (1 + change), deviation, 2))});
  pair_up(base, now);
  return compare_runs(std::move(base), std::move(now), how);
}

// The same of two runs made apart, judged as if two runs of one program were equally fast.
comparison unpaired(double change, double deviation, criteria how = {}) {
  how.strict = true;
  return compare_runs(
      run_of({timed_cell(1024, noisy_rounds(rounds, time_ns, deviation, 1))}),
      run_of({timed_cell(1024, noisy_rounds(rounds, time_ns * (1 + change), deviation, 2))}), how);
}

TEST(Comparison, EightPercentSlowerIsARegression) {
  for (const comparison& c : {paired(0.08, 0.005), unpaired(0.08, 0.005)}) {
    ASSERT_EQ(c.cells.size(), 1U);
    EXPECT_EQ(c.cells[0].verdict, verdict::regression) << c.cells[0].reason;
    EXPECT_NEAR(std::exp(*c.cells[0].log_ratio), 1.08, 0.01);
    EXPECT_GT(c.cells[0].bounds.low, std::log(1.05));
  }
}

TEST(Comparison, EightPercentFasterIsAnImprovement) {
  EXPECT_EQ(paired(-0.08, 0.005).cells[0].verdict, verdict::improvement);
  EXPECT_EQ(unpaired(-0.08, 0.005).cells[0].verdict, verdict::improvement);
}

TEST(Comparison, TheSameIsTheSame) {
  EXPECT_EQ(paired(0, 0.005).cells[0].verdict, verdict::same);
  EXPECT_EQ(unpaired(0, 0.005).cells[0].verdict, verdict::same);
  EXPECT_EQ(paired(0.08, 0.005, {.threshold = 0.10}).cells[0].verdict, verdict::same);
}

TEST(Comparison, NoiseIsInconclusive) {
  EXPECT_EQ(paired(0.02, 0.15).cells[0].verdict, verdict::inconclusive);
  EXPECT_EQ(unpaired(0.02, 0.15).cells[0].verdict, verdict::inconclusive);
}

TEST(Comparison, FiveRoundsBoundNothing) {
  const comparison c = paired(0.5, 0.001, {}, 5);
  EXPECT_EQ(c.cells[0].verdict, verdict::inconclusive);
  EXPECT_EQ(c.cells[0].reason, "too few rounds (5 and 5)");
}

// One cell of two runs made apart, on one executor; the new run takes `factor` times as long.
comparison apart(double factor, const std::string& executor, const criteria& how = {},
                 double load = 0) {
  recorded_run base = run_of({timed_cell(1024, noisy_rounds(rounds, time_ns, 0.005, 1), executor)});
  recorded_run now =
      run_of({timed_cell(1024, noisy_rounds(rounds, time_ns * factor, 0.005, 2), executor)});
  now.meta["host"]["load_1min"] = load;
  now.meta["host"]["threads_online"] = 2;
  return compare_runs(std::move(base), std::move(now), how);
}

TEST(Comparison, RunsMadeApartAreJudgedOnlyBeyondWhatTwoRunsOfOneProgramDifferBy) {
  struct {
    double factor;
    const char* executor;
    double load;
    verdict expected;
  } const cases[] = {
      {1.01, "cpu", 0, verdict::same},         {1.3, "cpu", 0, verdict::inconclusive},
      {7, "cpu", 0, verdict::inconclusive},    {1 / 7.0, "cpu", 0, verdict::inconclusive},
      {9, "cpu", 0, verdict::regression},      {1 / 9.0, "cpu", 0, verdict::improvement},
      {9, "cpu", 8, verdict::inconclusive},    {11, "cpu", 8, verdict::regression},
      {1.4, "cuda", 0, verdict::inconclusive}, {1.6, "cuda", 0, verdict::regression},
      {1.6, "cuda", 8, verdict::regression},
  };
  for (const auto& one : cases) {
    const comparison c = apart(one.factor, one.executor, {}, one.load);
    EXPECT_EQ(c.cells[0].verdict, one.expected) << one.factor << " on " << one.executor;
    EXPECT_EQ(c.needs_turns(), one.expected == verdict::inconclusive) << one.factor;
  }
  EXPECT_EQ(apart(1.3, "cpu").cells[0].reason, "two runs of one program may differ as much");
  EXPECT_EQ(apart(1.3, "cpu", {.strict = true}).cells[0].verdict, verdict::regression);
}

TEST(Comparison, AFastSampleShowsThatOtherProgramsSlowedTheRest) {
  recorded_run base = run_of({timed_cell(8, noisy_rounds(rounds, time_ns, 0.005, 1), "cpu")});
  recorded_cell slowed = timed_cell(8, noisy_rounds(rounds, time_ns * 100, 0.005, 2), "cpu");
  EXPECT_EQ(compare_runs(base, run_of({slowed})).cells[0].verdict, verdict::regression);
  slowed.time->samples = {time_ns * 100, time_ns * 2, time_ns * 100};
  EXPECT_EQ(compare_runs(base, run_of({slowed})).cells[0].verdict, verdict::inconclusive);
}

TEST(Comparison, ANoiseFloorJudgesTheCellsThatItHas) {
  const comparison free = apart(1.3, "cpu");
  noise_floor floor{.path = "floor", .machine = facts_of_machine(free.base), .cells = {}};
  EXPECT_EQ(apart(1.3, "cpu", {.floor = &floor}).cells[0].verdict, verdict::inconclusive);
  floor.cells[free.cells[0].base->identity] = {.paired = 0.01, .unpaired = 0.03};
  EXPECT_EQ(apart(1.3, "cpu", {.floor = &floor}).cells[0].verdict, verdict::regression);
}

TEST(Comparison, TheCommandThatDecidesNamesBothPrograms) {
  const round_medians rounds_of = noisy_rounds(rounds, time_ns, 0.005, 1);
  recorded_run base = run_of({timed_cell(8, rounds_of, "cpu")});
  recorded_run now = run_of({timed_cell(8, noisy_rounds(rounds, 2 * time_ns, 0.005, 2), "cpu")});
  const auto command = [&] { return make_report(compare_runs(base, now), false).decides; };
  EXPECT_EQ(command(), "kselect ab BASE_PROGRAM NEW_PROGRAM CONFIG --filter 'made/up '");
  base.meta["arguments"] = {"build/a/kselect", "run", "configs/quick.json", "--out", "out/a"};
  now.meta["arguments"] = {"build/b/kselect", "run", "my sweep.json", "--filter", "n=8 k=*"};
  EXPECT_EQ(command(),
            "kselect ab build/a/kselect build/b/kselect 'my sweep.json' --filter 'n=8 k=*'");
  base.meta["git"] = {{"commit", "0123456789abcdef"}, {"dirty", false}};
  now.meta["git"] = {{"commit", "fedcba9876543210"}, {"dirty", false}};
  EXPECT_EQ(command(), "kselect ab 0123456789ab fedcba987654 'my sweep.json' --filter 'n=8 k=*'");
  now.meta["arguments"] = {"kselect", "run", "quick", "--out", "a.json", "--executor", "cpu"};
  EXPECT_EQ(command(),
            "kselect ab 0123456789ab fedcba987654 quick --executor cpu --filter 'made/up '");
  now.meta["arguments"] = {"build/b/kselect", "run", "my sweep.json", "--filter", "n=8 k=*"};
  now.meta["git"]["dirty"] = true;
  base.meta["arguments"] = now.meta["arguments"];
  EXPECT_EQ(command(),
            "kselect ab BASE_PROGRAM build/b/kselect 'my sweep.json' --filter 'n=8 k=*'");
  pair_up(base, now);
  EXPECT_EQ(command(), "");
}

// Both sides slow down by 30 % during the measurement; taking turns cancels the drift.
TEST(Comparison, PairsCancelDrift) {
  round_medians base, now;
  for (std::size_t i = 0; i < rounds; ++i) {
    const double drift = 1 + 0.03 * static_cast<double>(i);
    base.emplace_back(time_ns * drift);
    now.emplace_back(time_ns * drift * 1.001);
  }
  recorded_run a = run_of({timed_cell(8, base)}), b = run_of({timed_cell(8, now)});
  EXPECT_EQ(compare_runs(a, b).cells[0].verdict, verdict::inconclusive);
  pair_up(a, b);
  EXPECT_EQ(compare_runs(a, b).cells[0].verdict, verdict::same);
}

TEST(Comparison, FailedRoundsLeaveTheirPairsOut) {
  round_medians base = noisy_rounds(rounds, time_ns, 0.005, 1);
  round_medians now = noisy_rounds(rounds, time_ns * 1.08, 0.005, 2);
  base[3].reset();
  now[7].reset();
  recorded_run a = run_of({timed_cell(8, base)}), b = run_of({timed_cell(8, now)});
  pair_up(a, b);
  const comparison c = compare_runs(a, b);
  EXPECT_EQ(c.cells[0].rounds_base, rounds - 2);
  EXPECT_EQ(c.cells[0].verdict, verdict::regression);
}

TEST(Comparison, CellsWithoutATimeAreMissingOrAdded) {
  const round_medians some = noisy_rounds(rounds, time_ns, 0.001, 1);
  const comparison c = compare_runs(
      run_of({timed_cell(1, some), timed_cell(2, some), failed_cell(3, cell_status::error, "x"),
              failed_cell(5, cell_status::unsupported, "k > 1")}),
      run_of({failed_cell(1, cell_status::wrong, "row 0"), timed_cell(3, some), timed_cell(4, some),
              failed_cell(5, cell_status::unsupported, "k > 1")}));
  ASSERT_EQ(c.cells.size(), 4U);
  EXPECT_EQ(c.cells[0].verdict, verdict::missing);
  EXPECT_EQ(c.cells[0].reason, "wrong in the new run: row 0");
  EXPECT_EQ(c.cells[1].verdict, verdict::missing);
  EXPECT_EQ(c.cells[1].reason, "not in the new run");
  EXPECT_EQ(c.cells[2].verdict, verdict::added);
  EXPECT_EQ(c.cells[2].reason, "error in the base: x");
  EXPECT_EQ(c.cells[3].verdict, verdict::added);
}

TEST(Comparison, OtherMachinesAndPoliciesAreNotComparable) {
  const auto cells = std::vector{timed_cell(8, noisy_rounds(rounds, time_ns, 0.001, 1))};
  recorded_run other_policy = run_of(cells);
  other_policy.meta["config"]["measure"]["warmup"] = 2;
  recorded_run other_driver = run_of(cells);
  other_driver.meta["gpu"][0]["driver"] = "1.3";
  for (const recorded_run& now : {run_of(cells, "A100"), other_policy, other_driver}) {
    const comparison refused = compare_runs(run_of(cells), now);
    EXPECT_EQ(refused.obstacles.size(), 1U);
    EXPECT_EQ(refused.cells[0].verdict, verdict::not_comparable);
    EXPECT_EQ(exit_code(refused, set_of(verdict::not_comparable)), 2);
    const comparison forced = compare_runs(run_of(cells), now, {.force = true});
    EXPECT_EQ(forced.cells[0].verdict, verdict::same);
    EXPECT_EQ(exit_code(forced, set_of(verdict::not_comparable)), 0);
  }
}

TEST(Comparison, APartOfAGpuIsNotComparedWithTheWholeOrAnotherPart) {
  const std::vector<recorded_cell> cells = {timed_cell(8, noisy_rounds(rounds, time_ns, 0.001, 1))};
  const auto confined_to = [&](int used) {
    recorded_run run = run_of(cells);
    if (used != 0) run.meta["multiprocessors"] = {{"used", used}, {"of", 132}};
    return run;
  };
  for (const auto& [base, now, said] :
       {std::tuple(0, 16, "all in the base and 16 of 132 in"),
        std::tuple(16, 0, "16 of 132 in the base and all in"),
        std::tuple(16, 24, "16 of 132 in the base and 24 of 132")}) {
    const comparison refused = compare_runs(confined_to(base), confined_to(now));
    ASSERT_EQ(refused.obstacles.size(), 1U);
    EXPECT_NE(refused.obstacles.front().find(said), std::string::npos) << refused.obstacles.front();
    EXPECT_EQ(refused.cells[0].verdict, verdict::not_comparable);
  }
  EXPECT_TRUE(compare_runs(confined_to(16), confined_to(16)).obstacles.empty());
}

TEST(Comparison, TheProcessorOnlyMattersToItsOwnCells) {
  recorded_run other = run_of({timed_cell(8, noisy_rounds(rounds, time_ns, 0.001, 1))});
  recorded_run base = other;
  other.meta["host"]["cpu"] = "another";
  EXPECT_TRUE(compare_runs(base, other).obstacles.empty());
  const auto on_cpu = timed_cell(8, noisy_rounds(rounds, time_ns, 0.001, 1), "cpu");
  base.add(on_cpu);
  other.add(on_cpu);
  EXPECT_EQ(compare_runs(base, other).obstacles.size(), 1U);
}

TEST(Comparison, ThrottledCellsAreInconclusive) {
  recorded_cell throttled = timed_cell(8, noisy_rounds(rounds, time_ns * 2, 0.001, 1));
  throttled.throttled = true;
  const comparison c = compare_runs(
      run_of({timed_cell(8, noisy_rounds(rounds, time_ns, 0.001, 1))}), run_of({throttled}));
  EXPECT_EQ(c.cells[0].verdict, verdict::inconclusive);
  EXPECT_EQ(c.cells[0].reason, "the clock fell in the new run");
}

// Eleven pairs give p >= 2 / 2048: significant for one of 51 cells at 5 %, not for one of 60.
TEST(Comparison, CorrectionHoldsOverAllCells) {
  std::vector<recorded_cell> base, now;
  for (std::int64_t n = 8; n < 68; ++n) {
    const auto seed = static_cast<std::uint64_t>(n);
    base.push_back(timed_cell(n, noisy_rounds(rounds, time_ns, 0.005, seed)));
    now.push_back(
        timed_cell(n, noisy_rounds(rounds, time_ns * (n == 8 ? 1.2 : 1), 0.005, 99 + seed)));
  }
  recorded_run a = run_of(base), b = run_of(now);
  pair_up(a, b);
  const comparison corrected = compare_runs(a, b);
  EXPECT_EQ(corrected.cells[0].verdict, verdict::inconclusive);
  EXPECT_NEAR(corrected.cells[0].p_corrected, 60 * 2.0 / 2048, 1e-12);
  ASSERT_EQ(corrected.notes.size(), 1U);
  EXPECT_NE(corrected.notes[0].find("at least 2 cells"), std::string::npos) << corrected.notes[0];
  const comparison plain = compare_runs(a, b, {.corrected = correction::none});
  EXPECT_EQ(plain.cells[0].verdict, verdict::regression);
  EXPECT_EQ(plain.count(verdict::same), 59U);
  // Unpaired, two samples of eleven reach p = 2 / 705432.
  a.meta.erase("alternated");
  EXPECT_EQ(compare_runs(a, b, {.strict = true}).cells[0].verdict, verdict::regression);
}

TEST(Comparison, TheNoiseFloorRaisesTheLimit) {
  noise_floor floor;
  recorded_run base = run_of({timed_cell(1024, noisy_rounds(rounds, time_ns, 0.005, 1))});
  floor.machine = facts_of_machine(base);
  floor.cells[base.cells[0].identity] = {.paired = 0.06, .unpaired = 0.001};
  const comparison raised = paired(0.08, 0.005, {.floor = &floor});
  EXPECT_EQ(raised.cells[0].verdict, verdict::same);
  EXPECT_TRUE(raised.cells[0].from_floor);
  EXPECT_NEAR(raised.cells[0].limit, 0.12, 1e-12);
  EXPECT_EQ(unpaired(0.08, 0.005, {.floor = &floor}).cells[0].verdict, verdict::regression);
  floor.machine["gpu"]["name"] = "another";
  const comparison foreign = paired(0.08, 0.005, {.floor = &floor});
  EXPECT_EQ(foreign.cells[0].verdict, verdict::regression);
  EXPECT_NE(foreign.notes.back().find("is not used"), std::string::npos);
}

TEST(Comparison, NoiseOfARunAgainstItself) {
  recorded_run a = run_of({timed_cell(8, {100.0, 102.0, 101.0, 100.0, 103.0, 101.0})});
  recorded_run b = run_of({timed_cell(8, {101.0, 101.0, 102.0, 99.0, 104.0, 100.0})});
  EXPECT_THROW(noise_of(compare_runs(a, b)), std::exception);
  pair_up(a, b);
  const noise_floor floor = noise_of(compare_runs(a, b));
  const cell_noise& noise = floor.cells.at(a.cells[0].identity);
  EXPECT_NEAR(noise.unpaired, std::log(104.0 / 99), 1e-12);
  EXPECT_NEAR(noise.paired, std::log(100.0 / 99), 1e-12);  // six pairs: the extremes
  const scratch_directory scratch;
  const auto file = scratch / "noise.json";
  write_noise(floor, file);
  const noise_floor read = read_noise(file);
  EXPECT_EQ(read.machine, floor.machine);
  EXPECT_EQ(read.cells.at(a.cells[0].identity).paired, noise.paired);
}

TEST(Comparison, WorkIsComparedExactly) {
  recorded_cell base = timed_cell(8, noisy_rounds(rounds, time_ns, 0.001, 1)), now = base;
  base.counters = {{"passes", 3}, {"global_reads", 100}};
  now.counters = {{"passes", 3}, {"global_reads", 101}, {"atomics", 2}};
  const comparison c = compare_runs(run_of({base}), run_of({now}));
  ASSERT_EQ(c.cells[0].work.size(), 2U);
  EXPECT_EQ(c.cells[0].work[0].counter, "atomics");
  EXPECT_EQ(c.cells[0].work[1].now, 101);
  EXPECT_NE(table_report(c, false).find("global_reads 100 -> 101 (+1)"), std::string::npos);
}

TEST(Comparison, ExitCodesInOrderOfGravity) {
  comparison c;
  const auto all =
      set_of(verdict::regression, verdict::not_comparable, verdict::missing, verdict::inconclusive);
  EXPECT_EQ(exit_code(c, all), 0);
  const struct {
    compare::verdict verdict;
    int code;
  } steps[] = {{verdict::same, 0},         {verdict::improvement, 0}, {verdict::added, 0},
               {verdict::inconclusive, 3}, {verdict::missing, 4},     {verdict::not_comparable, 2},
               {verdict::regression, 1}};
  for (const auto& step : steps) {
    c.cells.emplace_back().verdict = step.verdict;
    EXPECT_EQ(exit_code(c, all), step.code) << to_string(step.verdict);
    EXPECT_EQ(exit_code(c, {}), 0);
  }
  EXPECT_EQ(exit_code(c, set_of(verdict::inconclusive)), 3);
}

TEST(RecordedRun, BlocksAreConsecutiveAndNearlyEqual) {
  std::vector<double> samples;
  for (int i = 0; i < 22; ++i) samples.push_back(i);
  const auto even = block_medians(samples, 11);
  ASSERT_EQ(even.size(), 11U);
  for (std::size_t b = 0; b < 11; ++b) EXPECT_EQ(even[b], 2.0 * static_cast<double>(b) + 0.5);
  EXPECT_EQ(block_medians({3, 1, 2}, 11), (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(block_medians({5, 1, 2, 9}, 3), (std::vector<double>{5, 1, 5.5}));
}

}  // namespace
}  // namespace kselect::harness::compare
