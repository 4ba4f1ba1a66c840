// What is known of a search with an index before it runs: its memory, and why it cannot run.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/plan/input.hpp"
#include "harness/plan/plan.hpp"
#include "search/task/tasks.hpp"

namespace kselect::search {
namespace {

class no_objects final : public sweep_input {
 public:
  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {}; }
};

// A cell with the presets of all axes that the entry has.
cell cell_of(std::string_view index, executor_kind executor) {
  cell c;
  c.task = &index_task();
  c.executor = executor;
  c.problem.n = 1 << 20;
  c.problem.q = 100;
  c.problem.k = 10;
  for (const registered& entry : index_task().entries()) {
    if (entry.algorithm->name == index) c.entry = &entry;
  }
  for (const task_axis& axis : index_task().axes()) {
    const bool matters =
        axis.entries.empty() || std::ranges::find(axis.entries, index) != axis.entries.end();
    if (!matters) continue;
    auto& all = axis.scope == axis_scope::problem ? c.of_problem : c.of_entry;
    all.push_back({axis.name, axis.preset});
  }
  return c;
}

void set(settings& all, std::string_view axis, const setting_value& value) {
  std::ranges::find(all, axis, &setting::axis)->value = value;
}

cell_prospect foresee(const cell& c, std::int64_t free_bytes) {
  return index_task().foresee(c, no_objects{}, device{}, static_cast<std::size_t>(free_bytes));
}

// The least memory that a cell is tried with.
std::int64_t needed(const cell& c) {
  std::int64_t low = 0, high = std::int64_t{1} << 50;
  while (low + 1 < high) {
    const std::int64_t middle = (low + high) / 2;
    (foresee(c, middle).status == cell_status::ok ? high : low) = middle;
  }
  return high;
}

TEST(IndexPlan, CountsTheTableOfPivots) {
  cell c = cell_of("sss", executor_kind::fiber);
  set(c.of_problem, "dimension", std::int64_t{16});
  set(c.of_entry, "pivots", std::int64_t{10});
  const std::int64_t ten = needed(c);
  set(c.of_entry, "pivots", std::int64_t{30});
  const std::int64_t thirty = needed(c);
  EXPECT_EQ(thirty - ten, 20 * (c.problem.n * 4 + 16 * 4)) << "distances and the pivots";
  set(c.of_entry, "distribution_rule", std::string("groups"));
  const std::int64_t numbers = (c.problem.n + 31) * 4;
  // Of a query: distances to all pivots, a radius, a bin, a rank and a place. Each of a pivot's 68
  // bins has a number of queries.
  const std::int64_t of_queries = c.problem.q * (30 * 4 + 16) + 30 * 68 * 4;
  EXPECT_EQ(needed(c) - thirty, numbers + of_queries) << "no second table";
}

TEST(IndexPlan, CountsObjectsQueriesAndAnswers) {
  cell c = cell_of("none", executor_kind::cpu);
  set(c.of_problem, "dimension", std::int64_t{16});
  EXPECT_EQ(needed(c), (c.problem.n + c.problem.q) * 64 + c.problem.q * c.problem.k * 12);
}

struct impossible {
  const char* index;
  executor_kind executor;
  settings values;  // of the entry, and of the problem
  const char* reason;
};

TEST(IndexPlan, SaysWhyACellCannotRun) {
  const impossible cells[] = {
      {"sss",
       executor_kind::cpu,
       {{"distribution_rule", std::string("groups")}},
       "groups of queries are of kernels"},
      {"list_of_clusters",
       executor_kind::cpu,
       {{"walk", std::string("clusters")}},
       "the walk is one of kernels"},
      {"list_of_clusters",
       executor_kind::fiber,
       {{"walk", std::string("groups")}, {"radius_rule", std::string("decreasing")}},
       "a decreasing radius goes through the members"},
      {"none",
       executor_kind::fiber,
       {{"threads", std::int64_t{2}}},
       "threads are for executor cpu"},
      {"none", executor_kind::cpu, {{"radius", 1.0}, {"share", 0.5}}, "either a radius or a share"},
  };
  for (const impossible& one : cells) {
    cell c = cell_of(one.index, one.executor);
    for (const setting& s : one.values) {
      const bool of_problem = find_setting(c.of_problem, s.axis) != nullptr;
      set(of_problem ? c.of_problem : c.of_entry, s.axis, s.value);
    }
    const cell_prospect seen = foresee(c, std::int64_t{1} << 50);
    EXPECT_EQ(seen.status, cell_status::unsupported) << one.reason;
    EXPECT_NE(seen.reason.find(one.reason), std::string::npos) << seen.reason;
  }
}

}  // namespace
}  // namespace kselect::search
