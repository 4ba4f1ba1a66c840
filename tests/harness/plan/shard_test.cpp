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
      std::int64_t before = -1;
      for (const cell& c : part.cells) {
        EXPECT_GT(c.number, before);
        before = c.number;
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
  std::int64_t sum = 0, longest_group = 0;
  std::size_t at = 0;
  grouping groups([&](cell& c) { return at < cells.size() && (c = cells[at++], true); });
  for (auto group = groups.next(); !group.empty(); group = groups.next()) {
    EXPECT_EQ(group.size(), 2U);
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

// More cells than are listed, each made from its number alone.
class many_cells final : public cell_source {
 public:
  std::int64_t size() const override { return most_listed + 1; }
  std::vector<algorithm_count> counts() const override { return {}; }
  std::string identity() const override { return "many"; }
  std::unique_ptr<cursor> begin() const override { return std::make_unique<walk>(); }
  void complete(cell& c) const override { c.key = std::to_string(c.number); }

 private:
  struct walk final : cursor {
    bool next(cell& c) override {
      if (at > most_listed) return false;
      c = cell();
      c.problem.n = 1 + at / 2;
      c.problem.q = 16;
      c.problem.k = 1;
      c.entry = at % 2 == 0 ? heap : sort;
      c.number = at++;
      return true;
    }
    const registered* heap = find_algorithm("cpu/heap");
    const registered* sort = find_algorithm("cpu/sort");
    std::int64_t at = 0;
  };
};

TEST(Shard, APlanBeyondMemoryIsDividedToo) {
  const auto all = std::make_shared<many_cells>();
  EXPECT_EQ(part_of(all, {}, {1, 1}).cells.size(), most_listed + 1);
  std::size_t together = 0;
  for (int index = 1; index <= 3; ++index) {
    const sweep_part part = part_of(all, {}, {index, 3});
    EXPECT_GT(part.cells.size(), most_listed * 3 / 10);
    EXPECT_LT(part.predicted_us, part.longest_predicted_us + 1);
    together += part.cells.size();
    std::size_t seen = 0;
    std::int64_t n = 0;
    for (const cell& c : part.cells) {
      ASSERT_EQ(c.key, std::to_string(c.number));
      // Whole groups: both algorithms of a problem, except for the last one's second.
      if (seen++ % 2 == 1) {
        ASSERT_EQ(c.problem.n, n);
      }
      n = c.problem.n;
    }
    EXPECT_EQ(seen, part.cells.size());
  }
  EXPECT_EQ(together, most_listed + 1);
}

TEST(Shard, MoreShardsThanGroupsIsAnError) {
  const std::vector<cell> cells = some_cells();
  const int groups = static_cast<int>(cells.size()) / 2;
  EXPECT_FALSE(part_of(cells, {}, {groups, groups}).cells.empty());
  EXPECT_THROW(part_of(cells, {}, {groups + 1, groups + 1}), error);
}

}  // namespace
}  // namespace kselect::harness
