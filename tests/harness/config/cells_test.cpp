// The problems of a config and their order, and which sweeps are refused.

#include "harness/config/cells.hpp"

#include <set>

#include <gtest/gtest.h>

#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using testing_config::change;
using testing_config::config_with;
using testing_config::usage_error;

using changes = std::vector<change>;

std::string refused(const changes& wanted, std::optional<dataset_sizes> sizes = std::nullopt) {
  const sweep_config config = config_with(wanted);
  return usage_error([&] { expand(config, sizes); });
}

// "n/q/k" of each problem.
std::vector<std::string> shapes(const std::vector<workload>& problems) {
  std::vector<std::string> text;
  for (const workload& p : problems) {
    text.push_back(std::to_string(p.n) + "/" + std::to_string(p.q) + "/" + std::to_string(p.k));
  }
  return text;
}

using strings = std::vector<std::string>;

TEST(expand, carries_every_value_and_the_seed_into_the_problem) {
  const auto problems = expand(config_with({{"/seed", "7"},
                                            {"/axes/dtype", R"("float64")"},
                                            {"/axes/payload", R"("values_and_indices")"},
                                            {"/axes/direction", R"("largest")"},
                                            {"/axes/layout", R"("column_major")"},
                                            {"/axes/index", R"("int64")"},
                                            {"/axes/distribution", R"("kth_ties")"}}));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(to_string(problems[0]),
            "float64/largest/Q=4/n=1024/k=8/values_and_indices:int64/column_major/kth_ties(16)#7");
}

TEST(expand, gives_every_length_its_mask) {
  std::vector<std::string> text;
  for (const workload& p :
       expand(config_with({{"/axes/n", "[33, 64]"},
                           {"/axes/masks", R"~(["none", "elements(0.5)", "columns"])~"}}))) {
    text.push_back(to_string(p));
  }
  EXPECT_EQ(
      text,
      (strings{"float32/smallest/Q=4/n=33/k=8/values_and_indices/row_major/uniform#42",
               "float32/smallest/Q=4/n=64/k=8/values_and_indices/row_major/uniform#42",
               "float32/smallest/Q=4/n=33/k=8/values_and_indices/row_major/mask:elements:pitch=2/"
               "uniform#42/elements(0.5)",
               "float32/smallest/Q=4/n=64/k=8/values_and_indices/row_major/mask:elements:pitch=2/"
               "uniform#42/elements(0.5)",
               "float32/smallest/Q=4/n=33/k=8/values_and_indices/row_major/mask:columns/"
               "uniform#42/columns(0.1)",
               "float32/smallest/Q=4/n=64/k=8/values_and_indices/row_major/mask:columns/"
               "uniform#42/columns(0.1)"}));
}

TEST(expand, nests_n_then_q_then_k_in_the_order_of_the_config) {
  EXPECT_EQ(
      shapes(expand(
          config_with({{"/axes/n", "[32, 16]"}, {"/axes/q", "[2, 1]"}, {"/axes/k", "[8, 4]"}}))),
      (strings{"32/2/8", "32/2/4", "32/1/8", "32/1/4", "16/2/8", "16/2/4", "16/1/8", "16/1/4"}));
}

TEST(expand, takes_listed_shapes_as_they_are) {
  EXPECT_EQ(shapes(expand(config_with({{"/axes", R"({"shapes": [[32, 2, 8], [32, 2, 1], [16, 9, 4],
                                                     [32, 2, 5]], "payload": "values"})"}}))),
            (strings{"32/2/8", "32/2/1", "16/9/4", "32/2/5"}));
  EXPECT_EQ(expand(config_with({{"/axes", R"({"shapes": [[32, 2, 8], [16, 9, 4]],
                                              "dtype": ["float64", "float32"]})"}}))
                .size(),
            4U);
  EXPECT_NE(refused({{"/axes", R"({"shapes": [[8, 1, 9]]})"}}).find("k > n"), std::string::npos);
}

TEST(expand, keeps_problems_on_the_same_rows_together) {
  const auto problems = expand(config_with({{"/axes/dtype", R"(["float64", "float32"])"},
                                            {"/axes/distribution", R"(["uniform", "normal"])"},
                                            {"/axes/layout", R"(["row_major", "column_major"])"},
                                            {"/axes/n", "[16, 32]"},
                                            {"/axes/payload", R"(["values", "kth_value"])"},
                                            {"/axes/direction", R"(["smallest", "largest"])"},
                                            {"/axes/k", "[1, 2]"}}));
  ASSERT_EQ(problems.size(), 128U);
  std::set<std::string> rows_seen;
  std::set<std::string> cells_seen;
  std::string previous;
  for (workload p : problems) {
    EXPECT_TRUE(cells_seen.insert(to_string(p)).second) << to_string(p);
    p.payload = payload::values;
    p.direction = direction::smallest;
    p.k = 1;
    const std::string rows = to_string(p);
    if (rows != previous) {
      EXPECT_TRUE(rows_seen.insert(rows).second) << rows << " comes back";
    }
    previous = rows;
  }
  EXPECT_EQ(rows_seen.size(), 16U);
  EXPECT_EQ(to_string(problems[0]), "float64/smallest/Q=4/n=16/k=1/values/row_major/uniform#42");
  EXPECT_EQ(to_string(problems[1]), "float64/smallest/Q=4/n=16/k=2/values/row_major/uniform#42");
  EXPECT_EQ(to_string(problems[2]), "float64/smallest/Q=4/n=16/k=1/kth_value/row_major/uniform#42");
  EXPECT_EQ(to_string(problems[4]), "float64/largest/Q=4/n=16/k=1/values/row_major/uniform#42");
  EXPECT_EQ(to_string(problems[127]),
            "float32/largest/Q=4/n=32/k=2/kth_value/column_major/normal#42");
}

TEST(expand, derives_the_other_of_n_and_q_from_their_product) {
  EXPECT_EQ(shapes(expand(config_with(
                {{"/axes", R"({"n": {"pow2": [4, 6]}, "n_times_q": "2^10", "k": 3})"}}))),
            (strings{"16/64/3", "32/32/3", "64/16/3"}));
  EXPECT_EQ(
      shapes(expand(config_with({{"/axes", R"({"q": [6, 2], "n_times_q": 60, "k": [1, 2]})"}}))),
      (strings{"10/6/1", "10/6/2", "30/2/1", "30/2/2"}));
}

TEST(expand, has_one_cell_for_a_payload_without_indices) {
  const auto problems =
      expand(config_with({{"/axes/index", R"(["int64", "int32"])"},
                          {"/axes/payload", R"(["values_and_indices", "values"])"}}));
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].index, index_type::int64);
  EXPECT_EQ(problems[1].index, index_type::int32);
  EXPECT_EQ(problems[2].payload, payload::values);
  EXPECT_EQ(problems[2].index, problem{}.index);
}

TEST(expand, leaves_out_what_violates_a_constraint_or_is_excluded) {
  const changes axes = {{"/axes/n", "[4, 16]"}, {"/axes/q", "[1, 2]"}, {"/axes/k", "[2, 8]"}};
  changes constrained = axes;
  constrained.push_back({"/constraints", R"(["k <= n", "n*q <= 16"])"});
  EXPECT_EQ(shapes(expand(config_with(constrained))),
            (strings{"4/1/2", "4/2/2", "16/1/2", "16/1/8"}));
  changes excluded = constrained;
  excluded.push_back({"/exclude", R"([{"n": 16, "k": 8}, {"q": 2}])"});
  EXPECT_EQ(shapes(expand(config_with(excluded))), (strings{"4/1/2", "16/1/2"}));
}

TEST(expand, excludes_by_every_axis) {
  for (const char* const pattern :
       {R"({"n": 1024})", R"({"q": 4})", R"({"k": 8})", R"({"dtype": "float32"})",
        R"({"payload": "values_and_indices"})", R"({"direction": "smallest"})",
        R"({"layout": "row_major"})", R"({"index": "int32"})", R"({"distribution": "uniform"})"}) {
    const std::string list = std::string("[") + pattern + "]";
    EXPECT_EQ(refused({{"/exclude", list.c_str()}}),
              "configs/x.json: /axes: nothing is left: every combination violates a constraint or "
              "is excluded")
        << pattern;
  }
}

TEST(expand, refuses_an_exclusion_that_excludes_nothing) {
  EXPECT_EQ(refused({{"/exclude", R"([{"n": 1024, "k": 9}])"}}),
            "configs/x.json: /exclude/0: matches no combination of the axes");
}

TEST(expand, counts_an_exclusion_of_what_a_constraint_leaves_out_as_used) {
  EXPECT_EQ(shapes(expand(config_with({{"/axes/k", "[8, 2048]"},
                                       {"/constraints", R"(["k <= n"])"},
                                       {"/exclude", R"([{"k": 2048}])"}}))),
            strings{"1024/4/8"});
}

TEST(expand, refuses_k_beyond_n_unless_a_constraint_leaves_it_out) {
  EXPECT_EQ(refused({{"/axes/n", "[16, 8, 4]"}}),
            "configs/x.json: /axes/k: k > n at n = 4, q = 4, k = 8; add the constraint \"k <= n\" "
            "to leave such combinations out");
}

TEST(expand, admits_empty_problems) {
  EXPECT_EQ(shapes(expand(config_with({{"/axes/n", "[0, 16]"}, {"/axes/q", "[0, 1]"}}))),
            (strings{"0/0/8", "0/1/8", "16/0/8", "16/1/8"}));
}

TEST(expand, refuses_inputs_whose_bytes_cannot_be_counted) {
  EXPECT_EQ(refused({{"/axes/n", R"("2^40")"}, {"/axes/q", R"(["2^16", "2^17"])"}}),
            "configs/x.json: /axes: n * q is beyond 2^56 at n = 1099511627776, q = 131072, k = 8; "
            "add a constraint such as \"n*q <= 2^32\"");
}

TEST(expand, names_the_constraint_that_has_no_value) {
  EXPECT_EQ(refused({{"/axes/q", "0"}, {"/constraints", R"(["k <= n", "n/q < 5"])"}}),
            "configs/x.json: /constraints/1: \"n/q < 5\" meets a division by zero at n = 1024, "
            "q = 0, k = 8");
}

constexpr const char* self_dataset = R"({"base": "b", "metric": "cosine", "self": true,
                                         "exclude_self": true})";
constexpr const char* query_dataset = R"({"base": "b", "query": "q", "metric": "cosine"})";

TEST(expand, resolves_all_to_what_the_dataset_holds) {
  const auto problems = expand(config_with({{"/input/dataset", query_dataset},
                                            {"/axes/n", R"(["all", 50])"},
                                            {"/axes/q", R"("all")"}}),
                               dataset_sizes{100, 7});
  EXPECT_EQ(shapes(problems), (strings{"100/7/8", "50/7/8"}));
  EXPECT_EQ(problems[0].distribution.kind, distribution_kind::external);
}

TEST(expand, refuses_more_than_the_dataset_holds) {
  const change dataset = {"/input/dataset", query_dataset};
  const dataset_sizes sizes{100, 7};
  EXPECT_EQ(refused({dataset, {"/axes/n", R"([100, "all"])"}}, sizes),
            "configs/x.json: /axes/n: \"all\" is 100, which the list holds already");
  EXPECT_EQ(refused({dataset, {"/axes/n", "101"}}, sizes),
            "configs/x.json: /axes/n: n = 101 is more than the 100 candidates of the dataset");
  EXPECT_EQ(refused({dataset, {"/axes/n", "99"}, {"/axes/q", "8"}}, sizes),
            "configs/x.json: /axes/q: q = 8 is more than the dataset's 7 queries");
}

TEST(expand, counts_no_query_among_its_own_candidates) {
  const change dataset = {"/input/dataset", self_dataset};
  const dataset_sizes sizes{100, 100};
  EXPECT_EQ(
      shapes(expand(config_with({dataset, {"/axes/n", R"([8, "all"])"}, {"/axes/q", "9"}}), sizes)),
      (strings{"8/9/8", "99/9/8"}));
  EXPECT_EQ(refused({dataset, {"/axes/n", "100"}}, sizes),
            "configs/x.json: /axes/n: n = 100 is more than the 99 candidates of the dataset, the "
            "query itself left out");
  EXPECT_EQ(
      refused({dataset, {"/axes/n", "8"}, {"/axes/q", "10"}}, sizes),
      "configs/x.json: /axes/q: q > n + 1 at n = 8, q = 10, k = 8, but with \"exclude_self\" "
      "the queries are among the first n + 1 base vectors; add the constraint \"q <= n + 1\"");
}

TEST(expand, wants_sizes_exactly_for_a_dataset) {
  EXPECT_EQ(refused({{"/input/dataset", query_dataset}}),
            "configs/x.json: /input: the sizes of its files are not known yet");
  EXPECT_EQ(refused({}, dataset_sizes{1, 1}),
            "configs/x.json: /input: the rows are generated, there is no dataset");
}

TEST(expand, gives_the_shipped_sweeps_their_documented_size) {
  const auto shipped = [](const char* name) {
    return load_config(std::filesystem::path(KSELECT_SOURCE_DIR) / "configs" / name);
  };
  EXPECT_EQ(expand(shipped("smoke.json")).size(), 16U);
  for (const workload& p : expand(shipped("quick.json"))) EXPECT_LE(p.input_bytes(), 1U << 24);
  EXPECT_FALSE(expand(shipped("mnist.json"), dataset_sizes{10000, 10000}).empty());
}

}  // namespace
}  // namespace kselect::harness
