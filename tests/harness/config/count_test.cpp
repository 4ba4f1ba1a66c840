// Counting a sweep without visiting it gives what visiting it gives.

#include <ctime>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "harness/config/combinations.hpp"
#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using testing_config::change;
using testing_config::config_with;
using testing_config::usage_error;

// The numbers 1 to `last` as a JSON list.
std::string up_to(int last) {
  nlohmann::json list = nlohmann::json::array();
  for (int i = 1; i <= last; ++i) list.push_back(i);
  return list.dump();
}

std::int64_t visited(const combinations& all, const expression* where = nullptr) {
  std::int64_t count = 0;
  combinations::walk walk(all);
  while (const workload* const p = walk.next()) {
    count += where == nullptr || where->holds(p->n, p->q, p->k) ? 1 : 0;
  }
  return count;
}

// A random part of a list, as JSON has it without its brackets.
std::string some_of(const std::vector<std::string>& all, std::mt19937& random) {
  std::string list;
  for (const std::string& each : all) {
    if (random() % 2 == 0) list += (list.empty() ? "" : ", ") + each;
  }
  return list;
}

// A config of all axes, with some constraints and exclusions by `random`. `told` says which.
sweep_config some_config(std::mt19937& random, std::string& told) {
  const std::vector<std::string> constraints = {
      R"("k <= n")",      R"("n*q <= 200")", R"("q > 0")",           R"("q > 0 and n/q <= 20")",
      R"("n*q*k <= 99")", R"("k*q >= 2")",   R"("k == 1 or n > 3")", R"("q == 0 or n/q < k")"};
  const std::vector<std::string> exclusions = {
      R"({"n": 8})",
      R"({"k": 3, "dtype": "float64"})",
      R"({"q": 2, "k": 5})",
      R"({"n": 16, "q": 1, "k": 2, "direction": "largest"})",
      R"({"layout": "row_major", "n": 4})",
      R"({"index": "int64"})"};
  const std::string chosen = some_of(constraints, random);
  const std::string kept =
      R"(["k <= n or n == 0")" + std::string(chosen.empty() ? "" : ", ") + chosen + "]";
  const std::string left_out = "[" + some_of(exclusions, random) + "]", k = up_to(70);
  told = kept + left_out;
  std::vector<change> changes = {{"/axes/n", "[0, 4, 8, 16, 70, 100]"},
                                 {"/axes/q", "[0, 1, 2, 3]"},
                                 {"/axes/k", k.c_str()},
                                 {"/axes/dtype", R"(["float32", "float64"])"},
                                 {"/axes/layout", R"(["row_major", "column_major"])"},
                                 {"/axes/direction", R"(["smallest", "largest"])"},
                                 {"/axes/payload", R"(["values", "values_and_indices"])"},
                                 {"/axes/index", R"(["int32", "int64"])"},
                                 {"/axes/masks", R"(["none", "columns"])"},
                                 {"/constraints", kept.c_str()}};
  if (left_out != "[]") changes.push_back({"/exclude", left_out.c_str()});
  return config_with(changes);
}

// What a walk visits; nothing if a constraint is arithmetic without a result.
std::optional<std::int64_t> visited_if_possible(const combinations& all) {
  try {
    return visited(all);
  } catch (const error&) {
    return std::nullopt;
  }
}

TEST(count_left, agrees_with_a_walk) {
  int possible = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    std::string told;
    const sweep_config config = some_config(random, told);
    const combinations all(config);
    const std::optional<std::int64_t> expected = visited_if_possible(all);
    if (!expected) {
      EXPECT_THROW(count_left(all), error) << seed;
      continue;
    }
    ++possible;
    EXPECT_EQ(count_left(all), *expected) << seed << ' ' << told;
    for (const char* const text : {"k <= 8", "n*q < 100 or k == 1", "n*q*k <= 4096"}) {
      const expression where(text);
      EXPECT_EQ(count_left(all, {&where, {}}), visited(all, &where)) << seed << ' ' << text;
    }
  }
  EXPECT_GE(possible, 3);
}

// Where both layouts are read as one, a combination counts once, unless only one is excluded.
TEST(count_left, joins_layouts_that_are_read_alike) {
  const sweep_config config = config_with({{"/axes/n", "[32, 64]"},
                                           {"/axes/layout", R"(["row_major", "column_major"])"},
                                           {"/exclude", R"([{"layout": "row_major", "n": 32}])"}});
  const combinations all(config);
  EXPECT_EQ(count_left(all), 3);
  EXPECT_EQ(count_left(all, {nullptr, {layout::row_major, layout::row_major}}), 2);
}

TEST(count_left, names_the_combination_that_is_not_possible) {
  const sweep_config config = config_with({{"/axes/n", "[64, 32]"}, {"/axes/k", "[8, 33]"}});
  const combinations all(config);
  EXPECT_EQ(usage_error([&] { count_left(all); }),
            "configs/x.json: /axes/k: k > n at n = 32, q = 4, k = 33; add the constraint \"k <= "
            "n\" to leave such combinations out");
}

TEST(count_left, counts_a_milliard_without_a_walk) {
  const std::string thousand = up_to(1000);
  const sweep_config config = config_with({{"/axes/n", thousand.c_str()},
                                           {"/axes/q", thousand.c_str()},
                                           {"/axes/k", thousand.c_str()},
                                           {"/axes/direction", R"(["smallest", "largest"])"},
                                           {"/constraints", R"(["k <= n"])"}});
  const combinations all(config);
  const std::clock_t begin = std::clock();  // of this process: another one may have the processor
  EXPECT_EQ(count_left(all), 2 * 1000 * std::int64_t{500'500});
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace kselect::harness
