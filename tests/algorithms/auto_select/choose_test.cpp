// What `auto` chooses: a member that takes the problem, whenever there is one.

#include "algorithms/auto_select/choose.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "kselect/registry.hpp"
#include "kselect/simt/launch_notes.hpp"
#include "tests/problems.hpp"

namespace kselect {
namespace {

device large_gpu() {
  device d;
  d.kind = executor_kind::cuda;
  d.multiprocessors = 132;
  d.compute_capability = 90;
  d.shared_bytes = 227 << 10;
  return d;
}

std::string_view chosen(const problem& p) {
  const choice c = choose_algorithm(p, large_gpu());
  return c.member == nullptr ? "" : c.member->name;
}

TEST(choose, follows_the_shape) {
  EXPECT_EQ(chosen(shaped(1024, 100'000, 8)), "bms-warp");
  // With or without a variant of the launch: what was measured to be best.
  EXPECT_TRUE(chosen(shaped(8192, 16'384, 32)).starts_with("bms-block"));
  EXPECT_TRUE(chosen(shaped(1 << 20, 1, 256)).starts_with("bms-grid"));
  EXPECT_TRUE(chosen(shaped(1 << 20, 1000, 500'000)).starts_with("radix-select"));
  problem p = shaped(1 << 16, 100, 10);
  p.payload = payload::kth_value;
  EXPECT_EQ(chosen(p), "radix-select");
  p.payload = payload::values;
  p.layout = layout::column_major;
  EXPECT_EQ(chosen(p), "tang/heap+partition4");
}

// A rule that stands before the tables, which do not know this member.
TEST(choose, takes_few_lanes_for_each_of_many_short_rows) {
  EXPECT_EQ(chosen(shaped(64, 1 << 20, 8)), "short-rows");
  EXPECT_EQ(chosen(shaped(512, 1 << 20, 16)), "short-rows");
  EXPECT_EQ(chosen(shaped(513, 1 << 20, 8)), "bms-warp");
  EXPECT_EQ(chosen(shaped(512, 1 << 20, 17)), "bms-warp");
  problem narrow = shaped(1024, 1 << 20, 8);
  narrow.type = dtype::bfloat16;
  EXPECT_EQ(chosen(narrow), "short-rows");
  narrow.n = 1025;
  EXPECT_NE(chosen(narrow), "short-rows");
  narrow.n = 1024;
  narrow.q = 1000;
  EXPECT_NE(chosen(narrow), "short-rows") << "too few rows for the teams";
  problem wide = shaped(513, 1 << 20, 8);
  wide.type = dtype::int32;
  EXPECT_EQ(chosen(wide), "bms-warp");
  EXPECT_NE(chosen(shaped(64, 1000, 8)), "short-rows") << "too few rows for the teams";
  EXPECT_TRUE(rank_members(shaped(64, 1 << 20, 8), large_gpu()).empty()) << "a rule chooses";
  problem p = shaped(64, 1 << 20, 8);
  p.type = dtype::float64;
  EXPECT_EQ(chosen(p), "bms-warp") << "it takes no 64-bit elements";
}

TEST(choose, takes_the_best_of_few_rows_without_a_selection) {
  EXPECT_EQ(chosen(shaped(128'256, 1, 1)), "best-of-row");
  EXPECT_EQ(chosen(shaped(128'256, 64, 1)), "best-of-row");
  EXPECT_EQ(chosen(shaped(2048, 64, 1)), "best-of-row");
  EXPECT_NE(chosen(shaped(128'256, 1, 2)), "best-of-row");
  EXPECT_NE(chosen(shaped(128'256, 512, 1)), "best-of-row") << "reading takes most of the time";
  EXPECT_EQ(chosen(shaped(128'256, 132, 1)), "best-of-row");
  EXPECT_NE(chosen(shaped(128'256, 133, 1)), "best-of-row");
  EXPECT_NE(chosen(shaped(2047, 64, 1)), "best-of-row") << "a warp is enough for a row";
}

TEST(choose, orders_no_answer_of_one_element_that_is_the_first_of_equal_ones) {
  const device where = large_gpu();
  const auto launches = [&](const char* name, const problem& p) {
    simt::launch_notes notes;
    const call_plan plan = find_algorithm(name)->algorithm->plan(p, where);
    const std::span memory(static_cast<std::byte*>(nullptr), plan.workspace());
    EXPECT_TRUE(plan.enqueue({}, memory, {.device = &where}).ok());
    return notes.launches.size();
  };
  const problem p = shaped(128'256, 8, 1);
  for (const char* name : {"auto", "auto+sorted", "auto+stable"}) EXPECT_EQ(launches(name, p), 2);
  problem last = p;
  last.nan = nan_order::last;
  EXPECT_GT(launches("auto+stable", last), 2);
}

// Whatever lengths a row may have: tables know equal rows alone.
TEST(choose, follows_the_bound_of_ragged_rows) {
  const auto ragged = [](std::int64_t n, std::int64_t q, std::int64_t k) {
    problem p = shaped(n, q, k);
    p.lengths = row_numbers::int32;
    return p;
  };
  EXPECT_EQ(chosen(ragged(512, 1 << 20, 8)), "bms-warp");
  EXPECT_EQ(chosen(ragged(8192, 4096, 100)), "bms-block");
  EXPECT_EQ(chosen(ragged(1 << 20, 64, 2048)), "bms-grid");
  EXPECT_EQ(chosen(ragged(1 << 16, 1 << 20, 64)), "bms-block");  // too many lengths for one block
  EXPECT_EQ(chosen(ragged(1 << 16, 64, 20'000)), "radix-select");
  EXPECT_EQ(chosen(ragged(4096, 64, 2048)), "bms-block");
  EXPECT_EQ(chosen(ragged(1 << 16, 64, 2048)), "bms-block");  // a multiprocessor each
  EXPECT_EQ(chosen(ragged(1 << 16, 4096, 2048)), "bms-grid");
  EXPECT_EQ(chosen(ragged(4096, 64, 512)), "bms-block");
  EXPECT_EQ(chosen(ragged(512, 64, 256)), "bms-warp");
  problem p = ragged(1 << 20, 64, 2048);
  p.map = p.k_each = row_numbers::int32;
  EXPECT_EQ(chosen(p), "bms-grid");
  const choice ordered =
      choose_algorithm(p, large_gpu(), requirements{.ordering = output_ordering::sorted});
  ASSERT_NE(ordered.member, nullptr);
  EXPECT_EQ(ordered.plan.problem(), p);
}

// On the device that it names, and there alone.
TEST(choose, goes_by_a_preferred_table) {
  device d = large_gpu();
  d.name = "abacus";
  const problem p = shaped(5000, 100, 7);
  const cost_table* const nearest = table_for(d);
  cost_table own = *nearest;
  own.device = d.name;
  constexpr std::array<std::string_view, 1> members = {"radix-select"};
  constexpr std::array<double, cost_term_count> costs = {1000, 0, 0, 0, 0, 0, 0, 0, 0, 0.1, 0, 0};
  own.members = members;
  own.costs = costs;
  own.points = {};
  own.corrections = {};
  prefer_cost_table(&own);
  const choice c = choose_algorithm(p, d);
  EXPECT_EQ(c.table, &own);
  EXPECT_EQ(c.member->name, "radix-select");
  EXPECT_EQ(rank_members(p, d).size(), 1U);
  d.name = "NVIDIA H200";
  EXPECT_EQ(choose_algorithm(p, d).table, find_cost_table("NVIDIA H200"));
  prefer_cost_table(nullptr);
  EXPECT_EQ(find_cost_table("abacus"), nullptr);
}

TEST(choose, takes_the_member_predicted_fastest_among_those_that_take_the_problem) {
  device d = large_gpu();
  d.name = "NVIDIA H200";
  for (const std::int64_t n : {300, 5000, 1 << 20}) {
    for (const std::int64_t k : {7, 250, 5000}) {
      const problem p = shaped(n, 100, std::min(n, k));
      const auto ranked = rank_members(p, d);
      ASSERT_FALSE(ranked.empty());
      EXPECT_TRUE(std::ranges::is_sorted(ranked, {}, &ranked_member::predicted_ns));
      const choice c = choose_algorithm(p, d);
      EXPECT_EQ(c.member, ranked.front().member);
      EXPECT_EQ(c.predicted_ns, ranked.front().predicted_ns);
      EXPECT_EQ(c.table, find_cost_table("NVIDIA H200"));
      // Every member of the table is ranked, or does not take the problem.
      for (const std::string_view member : c.table->members) {
        const bool listed = std::ranges::any_of(
            ranked, [&](const ranked_member& r) { return r.member->name == member; });
        EXPECT_EQ(listed, static_cast<bool>(check_support(*find_member(member), p, d))) << member;
      }
    }
  }
}

TEST(choose, goes_by_the_nearest_table_where_a_device_has_none) {
  device d = large_gpu();
  d.name = "another card";
  const problem p = shaped(1 << 20, 16, 100);
  for (const int multiprocessors : {20, 132, 400}) {
    d.multiprocessors = multiprocessors;
    const choice c = choose_algorithm(p, d);
    ASSERT_NE(c.table, nullptr);
    EXPECT_GT(c.predicted_ns, 0);
  }
}

TEST(choose, goes_by_rules_where_no_table_has_a_say) {
  device d = large_gpu();
  d.name = "NVIDIA H200";
  problem p = shaped(1 << 16, 100, 10);
  p.layout = layout::column_major;
  p.payload = payload::values;
  const auto by_rule = [&] {
    const choice c = choose_algorithm(p, d);
    return c.member != nullptr && c.table == nullptr && c.predicted_ns == 0 &&
           rank_members(p, d).empty();
  };
  EXPECT_TRUE(by_rule());
  p = shaped(1 << 16, 100, 10);
  EXPECT_FALSE(by_rule());
  p.payload = payload::kth_value;
  EXPECT_TRUE(by_rule());
  p.payload = payload::values_and_indices;
  d.multiprocessors = 0;
  EXPECT_TRUE(by_rule());
  for (const executor_kind kind : {executor_kind::cpu, executor_kind::fiber}) {
    d = large_gpu();
    d.kind = kind;
    EXPECT_TRUE(by_rule()) << to_string(kind);
  }
}

// Choices are kept, but not for another problem, nor for a device that changed where it lies.
TEST(choose, asks_again_when_anything_changed) {
  device d = large_gpu();
  const problem big = shaped(1 << 20, 1000, 20'000);
  const std::string_view with_memory = choose_algorithm(big, d).member->name;
  d.shared_bytes = 16 << 10;
  const choice without = choose_algorithm(big, d);
  EXPECT_TRUE(check_support(*without.member, big, d));
  d.kind = executor_kind::cpu;
  EXPECT_EQ(choose_algorithm(big, d).table, nullptr);
  d = large_gpu();
  EXPECT_EQ(choose_algorithm(big, d).member->name, with_memory);
  for (int turn = 0; turn < 3; ++turn) {
    for (std::int64_t n = 64; n <= 1 << 20; n *= 4) {
      const problem p = shaped(n, 100, 10);
      EXPECT_EQ(choose_algorithm(p, d).predicted_ns, rank_members(p, d).front().predicted_ns);
    }
  }
}

TEST(choose, has_only_members_that_keep_what_auto_promises) {
  EXPECT_NE(find_member("bms-block"), nullptr);
  EXPECT_NE(find_member("radix-select"), nullptr);
  EXPECT_EQ(find_member("qms-host"), nullptr);  // synchronises
  EXPECT_EQ(find_member("cpu/sort"), nullptr);  // auto does not link it
  EXPECT_EQ(find_member("auto"), nullptr);
  EXPECT_EQ(find_member("bms"), nullptr);
}

// The forms of `auto` run its members, on one element more where ties are to be settled.
TEST(choose, follows_what_is_required) {
  const requirements sorted{.ordering = output_ordering::sorted};
  const requirements stable{.tie_break = tie_break::prefer_smaller_index};
  const problem p = shaped(8192, 16'384, 32);
  problem one_more = p;
  ++one_more.k;
  EXPECT_EQ(choose_algorithm(p, large_gpu(), {}).member, choose_algorithm(p, large_gpu()).member);
  EXPECT_EQ(choose_algorithm(p, large_gpu(), sorted).member,
            choose_algorithm(p, large_gpu()).member);
  EXPECT_EQ(choose_algorithm(p, large_gpu(), stable).member,
            choose_algorithm(one_more, large_gpu()).member);
  const auto workspace = [&](const char* name) {
    return find_algorithm(name)->algorithm->plan(p, large_gpu()).workspace();
  };
  EXPECT_EQ(workspace("auto+sorted"), workspace("auto"));  // sorted where it lies
  EXPECT_GE(workspace("auto+stable"), 33U * 10'000 * 8);
}

// What the CPU's form builds on (algorithms/ordered_select/of_auto.hpp).
TEST(choose, has_only_members_on_the_cpu_that_prefer_smaller_indices) {
  device d;
  d.kind = executor_kind::cpu;
  for (const int threads : {1, 8}) {
    d.threads = threads;
    for (const layout order : {layout::row_major, layout::column_major}) {
      for (const std::int64_t n : {10, 100'000}) {
        problem p = shaped(n, 50, 5);
        p.layout = order;
        EXPECT_EQ(choose_algorithm(p, d).member->promises.tie_break,
                  tie_break::prefer_smaller_index);
      }
    }
  }
}

TEST(choose, gives_a_reason_with_every_member) {
  for (const executor_kind kind : {executor_kind::cpu, executor_kind::fiber, executor_kind::cuda}) {
    device d = large_gpu();
    d.kind = kind;
    for (const std::int64_t n : {1, 100, 5000, 1 << 20}) {
      const choice c = choose_algorithm(shaped(n, 10, 1), d);
      ASSERT_NE(c.member, nullptr);
      EXPECT_FALSE(c.reason.empty());
    }
  }
}

TEST(choose, never_chooses_what_does_not_take_the_problem_nor_refuses_row_major_rows) {
  std::mt19937_64 generator(11);
  const auto between = [&](std::int64_t low, std::int64_t high) {  // log-uniform
    std::uniform_real_distribution<double> exponent(std::log2(low), std::log2(high));
    return static_cast<std::int64_t>(std::exp2(exponent(generator)));
  };
  for (int i = 0; i < 3000; ++i) {
    problem p;
    p.n = between(1, 1 << 27);
    p.q = between(1, 1 << 18);
    p.k = std::min(p.n, between(1, p.n + 1));
    p.type = i % 2 == 0 ? dtype::float32 : dtype::float64;
    p.payload = i % 3 == 0 ? payload::values : payload::values_and_indices;
    const choice c = choose_algorithm(p, large_gpu());
    ASSERT_NE(c.member, nullptr) << to_string(p);
    EXPECT_TRUE(check_support(*c.member, p, large_gpu())) << to_string(p);
    for (const char* form : {"auto", "auto+sorted", "auto+stable"}) {
      EXPECT_TRUE(check_support(*find_algorithm(form)->algorithm, p, large_gpu())) << to_string(p);
    }
  }
}

}  // namespace
}  // namespace kselect
