// Splitting a sweep into shards: groups stay whole, each cell occurs once, the balance is good.

#include "harness/plan/shard.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "harness/plan/groups.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// Two algorithms on every problem, whose sizes span five orders of magnitude.
std::vector<cell> some_cells() {
  std::vector<cell> cells;
  for (std::int64_t n = 128; n <= (std::int64_t{1} << 24); n *= 2) {
    for (const char* const name : {"cpu/heap", "cpu/sort"}) {
      cell c;
      c.problem.n = n;
      c.problem.q = 16;
      c.problem.k = 8;
      c.entry = find_algorithm(name);
      c.key = std::to_string(n) + name;
      cells.push_back(c);
    }
  }
  return cells;
}

TEST(Shard, ParsesWhatItPrints) {
  EXPECT_EQ(parse_shard("1/1"), (shard{1, 1}));
  EXPECT_EQ(parse_shard("12/300"), (shard{12, 300}));
  for (const char* const bad :
       {"", "1", "/", "0/3", "4/3", "-1/3", "1/3x", "1/ 3", "a/b", "1/100001", "1/99999999999"}) {
    EXPECT_THROW(parse_shard(bad), error) << bad;
  }
}

TEST(Shard, EveryCellOnceAndGroupsWhole) {
  const measure_policy policy;
  for (const int count : {1, 2, 3, 7}) {
    std::map<std::string, int> shard_of;
    std::map<std::int64_t, std::set<int>> shards_of_problem;
    for (int index = 1; index <= count; ++index) {
      const sweep_part part = part_of(some_cells(), policy, {index, count});
      EXPECT_EQ(part.cells_of_all, some_cells().size());
      EXPECT_TRUE(
          std::ranges::is_sorted(part.cells, {}, [](const cell& c) { return c.problem.n; }));
      for (const cell& c : part.cells) {
        EXPECT_TRUE(shard_of.emplace(c.key, index).second) << c.key;
        shards_of_problem[c.problem.n].insert(index);
      }
    }
    EXPECT_EQ(shard_of.size(), some_cells().size());
    for (const auto& [n, shards] : shards_of_problem) EXPECT_EQ(shards.size(), 1u) << n;
  }
}

TEST(Shard, IsBalancedByTheLongestFirstRule) {
  const measure_policy policy;
  const std::vector<cell> cells = some_cells();
  std::vector<const cell*> all;
  for (const cell& c : cells) all.push_back(&c);
  std::int64_t sum = 0, longest_group = 0;
  for (const auto& group : grouped(all)) {
    sum += predicted_us(group, policy);
    longest_group = std::max(longest_group, predicted_us(group, policy));
  }
  for (const int count : {2, 3, 4}) {
    std::int64_t longest = 0, together = 0;
    for (int index = 1; index <= count; ++index) {
      const sweep_part part = part_of(cells, policy, {index, count});
      longest = std::max(longest, part.predicted_us);
      together += part.predicted_us;
    }
    EXPECT_EQ(together, sum);
    EXPECT_EQ(longest, part_of(cells, policy, {1, count}).longest_predicted_us);
    // Graham 1969: at most 4/3 of the optimum, for which these are lower bounds.
    EXPECT_LE(3 * longest, 4 * std::max(longest_group, sum / count + 1));
  }
}

TEST(Shard, ThePlanIsOfAllCellsAndOfNoMachine) {
  std::vector<cell> cells = some_cells();
  const std::string plan = part_of(cells, {}, {1, 3}).plan;
  EXPECT_EQ(plan, part_of(cells, {}, {2, 3}).plan);
  for (cell& c : cells) {
    c.key += "of another device";
    c.foreseen = cell_status::out_of_memory;
  }
  const sweep_part elsewhere = part_of(cells, {}, {2, 3});
  EXPECT_EQ(plan, elsewhere.plan);
  EXPECT_EQ(elsewhere.predicted_us, part_of(some_cells(), {}, {2, 3}).predicted_us);
  cells.pop_back();
  EXPECT_NE(plan, part_of(cells, {}, {2, 3}).plan);
}

TEST(Shard, MoreShardsThanGroupsIsAnError) {
  const std::vector<cell> cells = some_cells();
  const int groups = static_cast<int>(cells.size()) / 2;
  EXPECT_FALSE(part_of(cells, {}, {groups, groups}).cells.empty());
  EXPECT_THROW(part_of(cells, {}, {groups + 1, groups + 1}), error);
}

}  // namespace
}  // namespace kselect::harness
