// Who is fastest: shared first places, factors over a baseline, and the answer in a sentence.

#include "harness/export/ranking.hpp"

#include <gmock/gmock.h>

#include "harness/export/text_tables.hpp"
#include "runtime/error.hpp"
#include "tests/harness/compare/recorded.hpp"

namespace kselect::harness {
namespace {

using compare::recorded_cell;
using compare::recorded_run;
using testing::HasSubstr;

recorded_cell cell(const std::string& algorithm, std::int64_t n, double median, double half,
                   const std::string& executor = "cpu") {
  recorded_cell made = compare::timed_cell(n, {median}, executor);
  made.algorithm = algorithm;
  made.time->low = median - half;
  made.time->high = median + half;
  made.identity = algorithm + ' ' + executor + ' ' + to_string(made.problem);
  const bool theirs = algorithm.starts_with("cpu/");
  made.record = {{"algorithm", {{"file", (theirs ? "baselines/" : "algorithms/") + algorithm}}},
                 {"floor", {{"share", 0.25}}}};
  return made;
}

TEST(rank_cells, shares_the_first_place_where_intervals_overlap) {
  const recorded_run run = compare::run_of({cell("slow", 512, 300, 10), cell("second", 512, 110, 8),
                                            cell("best", 512, 100, 2), cell("third", 512, 105, 2)});
  const auto rankings = rank_cells(run);
  ASSERT_EQ(rankings.size(), 1U);
  std::vector<std::string> order;
  std::vector<bool> firsts;
  for (const ranked_cell& each : rankings[0].timed) {
    order.push_back(each.cell->algorithm);
    firsts.push_back(each.first);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"best", "third", "second", "slow"}));
  // 102 is the best's upper end: 105 - 2 lies above it, 110 - 8 does not.
  EXPECT_EQ(firsts, (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(rankings[0].baseline, nullptr);
}

TEST(rank_cells, takes_the_fastest_baseline_unless_one_is_named) {
  const recorded_run run = compare::run_of(
      {cell("ours", 512, 100, 1), cell("cpu/a", 512, 400, 1), cell("cpu/b", 512, 300, 1)});
  const auto by_default = rank_cells(run), named = rank_cells(run, "cpu/a");
  ASSERT_NE(by_default[0].baseline, nullptr);
  EXPECT_EQ(by_default[0].baseline->algorithm, "cpu/b");
  EXPECT_NEAR(*by_default[0].timed[0].factor, 3, 1e-9);
  EXPECT_NEAR(*named[0].timed[0].factor, 4, 1e-9);
  EXPECT_NEAR(*named[0].timed[0].share, 0.25, 1e-9);
  try {
    rank_cells(run, "cpu/aa");
    ADD_FAILURE() << "no error";
  } catch (const runtime::error& why) {
    EXPECT_THAT(why.what(), HasSubstr("cpu/a"));
  }
}

TEST(rank_cells, keeps_executors_apart_and_layouts_together) {
  recorded_cell columns = cell("columns", 512, 50, 1);
  columns.problem.layout = layout::column_major;
  const recorded_run run =
      compare::run_of({cell("a", 512, 100, 1), cell("b", 512, 10, 1, "cuda"), columns});
  const auto rankings = rank_cells(run);
  ASSERT_EQ(rankings.size(), 2U);
  EXPECT_EQ(rankings[0].timed.size(), 2U);
  EXPECT_EQ(rankings[0].timed[0].cell->algorithm, "columns");
  EXPECT_EQ(rankings[1].executor, "cuda");
}

TEST(answer_of, says_who_wins_how_often_and_by_how_much) {
  const recorded_run one = compare::run_of({cell("ours", 512, 100'000, 1'000),
                                            cell("cpu/nth_element", 512, 900'000, 1'000),
                                            cell("cpu/heap", 512, 300'000, 1'000)});
  EXPECT_EQ(answer_of(rank_cells(one)),
            "ours is fastest at n = 512, Q = 4, k = 8 on cpu: 100±1 us, 3.0 times as fast as "
            "cpu/heap, the fastest baseline, and 9.0 times as fast as cpu/nth_element.");
  const recorded_run many = compare::run_of(
      {cell("ours", 512, 100, 1), cell("cpu/heap", 512, 140, 1), cell("ours", 1024, 100, 1),
       cell("cpu/heap", 1024, 310, 1), cell("ours", 2048, 100, 1), cell("cpu/heap", 2048, 50, 1),
       cell("ours", 4096, 100, 5), cell("cpu/heap", 4096, 104, 5)});
  EXPECT_EQ(
      answer_of(rank_cells(many)),
      "ours is fastest at 3 of 4 points on cpu (1 of them shared), 0.5 to 3.1 times as fast as "
      "cpu/heap, the fastest baseline.");
  EXPECT_EQ(
      answer_of(rank_cells(many, "cpu/heap"), "cpu/heap"),
      "ours is fastest at 3 of 4 points on cpu (1 of them shared), 0.5 to 3.1 times as fast as "
      "cpu/heap.");
}

TEST(answer_of, has_an_answer_for_runs_without_times) {
  const recorded_run run =
      compare::run_of({compare::failed_cell(512, cell_status::unsupported, "no GPU")});
  EXPECT_THAT(answer_of(rank_cells(run)), HasSubstr("No cell has a time"));
  EXPECT_THAT(answer_of(rank_cells(compare::run_of({}))), HasSubstr("No cell has a time"));
}

TEST(pivot_table, is_there_only_if_it_fits) {
  std::vector<recorded_cell> cells;
  for (int i = 0; i < 5; ++i) cells.push_back(cell("algorithm" + std::to_string(i), 512, 100, 1));
  const recorded_run run = compare::run_of(cells);
  const auto rankings = rank_cells(run);
  const auto table = pivot_table(rankings, 200);
  ASSERT_TRUE(table);
  const std::size_t width = table->find('\n');
  EXPECT_TRUE(pivot_table(rankings, width + 10));
  EXPECT_FALSE(pivot_table(rankings, width - 1));
  EXPECT_FALSE(pivot_table(rank_cells(compare::run_of({})), 200));
}

}  // namespace
}  // namespace kselect::harness
