// Every error in a config, and its exact message.

#include <gtest/gtest.h>

#include "harness/config/node.hpp"
#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using testing_config::config_with;
using testing_config::usage_error;

struct refusal {
  const char* pointer;
  const char* value;
  const char* message;  // after "configs/x.json: "
};

void expect_refusals(std::span<const refusal> table) {
  for (const refusal& each : table) {
    EXPECT_EQ(usage_error([&] {
                config_with({{each.pointer, each.value}});
              }),
              std::string("configs/x.json: ") + each.message)
        << each.pointer << " = " << each.value;
  }
}

TEST(parse_config, an_error_tells_its_place_apart_from_its_reason) {
  try {
    config_with({{"/axes/k", "[1, -1]"}});
    FAIL() << "was read";
  } catch (const config_error& wrong) {
    EXPECT_EQ(wrong.pointer(), "/axes/k/1");
    EXPECT_EQ(wrong.what(), "configs/x.json: " + wrong.pointer() + ": " + wrong.reason());
  }
}

TEST(parse_config, refuses_keys_it_does_not_know) {
  const refusal table[] = {
      {"/axes/kk", "1", R"(/axes/kk: unknown key; did you mean "k"?)"},
      {"/algoritms", "1", R"(/algoritms: unknown key; did you mean "algorithms"?)"},
      {"/measure/warm_up", "1", R"(/measure/warm_up: unknown key; did you mean "warmup"?)"},
      {"/input/generator/seed", "1",
       "/input/generator/seed: unknown key; valid here: vectors, _note"},
      {"/axes/n", R"({"power": [1, 2]})", R"(/axes/n/power: unknown key; did you mean "pow2"?)"},
      {"/algorithms", R"([{"name": "a", "constraint": "n < 5"}])",
       "/algorithms/0/constraint: unknown key; valid here: name, where, _note"},
      {"/exclude", R"([{"seed_of_rows": 1}])",
       "/exclude/0/seed_of_rows: unknown key; valid here: n, q, k, dtype, payload, direction, "
       "layout, index, distribution, _note"},
      {"/_notes", R"("x")", R"(/_notes: unknown key; did you mean "_note"?)"},
      {"/_note", "5", "/_note: must be a string, is 5"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_wrong_types) {
  const refusal table[] = {
      {"/schema", R"("kselect-config/2")",
       R"(/schema: must be "kselect-config/1", is "kselect-config/2")"},
      {"/name", "5", "/name: must be a string, is 5"},
      {"/name", R"("A b")", R"(/name: must be 1 to 64 of a-z 0-9 _ -, is "A b")"},
      {"/description", "null", "/description: must be a string, is null"},
      {"/seed", "-1", "/seed: must be an integer between 0 and 2^64 - 1, is -1"},
      {"/seed", "1.0", "/seed: must be an integer between 0 and 2^64 - 1, is 1.0"},
      {"/axes", "[]", "/axes: must be an object, is a list"},
      {"/axes/n", "true", R"(/axes/n: must be an integer or a string such as "2^20", is true)"},
      {"/axes/n", "1e3", R"(/axes/n: must be an integer or a string such as "2^20", is 1000.0)"},
      {"/axes/n", "[1, [2]]",
       R"(/axes/n/1: must be an integer or a string such as "2^20", is a list)"},
      {"/axes/dtype", "32", "/axes/dtype: must be a string, is 32"},
      {"/constraints", R"("k <= n")", R"(/constraints: must be a list, is the string "k <= n")"},
      {"/constraints", "[1]", "/constraints/0: must be a string, is 1"},
      {"/algorithms", R"("cpu/*")", R"(/algorithms: must be a list, is the string "cpu/*")"},
      {"/algorithms", "[7]", "/algorithms/0: must be an object, is 7"},
      {"/measure/warmup", "1.5", "/measure/warmup: must be an integer, is 1.5"},
      {"/measure/max_seconds", R"("1")",
       R"(/measure/max_seconds: must be a number, is the string "1")"},
      {"/input/dataset", R"({"base": "b", "metric": "cosine", "self": 1})",
       "/input/dataset/self: must be true or false, is 1"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_impossible_sizes) {
  const refusal table[] = {
      {"/axes/n", "-1", "/axes/n: must lie between 0 and 1099511627776, is -1"},
      {"/axes/n", "18446744073709551615",
       "/axes/n: must lie between 0 and 1099511627776, is 18446744073709551615"},
      {"/axes/q", R"(["2^41"])",
       "/axes/q/0: must lie between 0 and 1099511627776, is 2199023255552"},
      {"/axes/k", "0", "/axes/k: must lie between 1 and 1099511627776, is 0"},
      {"/axes/n", "[]", "/axes/n: must not be empty"},
      {"/axes/n", R"("2^")",
       R"(/axes/n: "2^": column 3: expected an integer or '(', found the end)"},
      {"/axes/n", R"("all")", R"(/axes/n: "all" needs /input/dataset or /input/rows)"},
      {"/axes/k", R"("all")", R"(/axes/k: "all": column 1: expected an integer or '(', found 'a')"},
      {"/axes/n", R"([4, 8, "2^2"])", "/axes/n/2: repeats the value 4"},
      {"/axes/n", R"([4, {"pow2": [1, 3]}])", "/axes/n/1: repeats the value 4"},
      {"/axes/n", R"({"pow2": [5, 4]})",
       "/axes/n/pow2: first exponent 5 is greater than the last, 4"},
      {"/axes/n", R"({"pow2": [5, 41]})", "/axes/n/pow2/1: must lie between 0 and 40, is 41"},
      {"/axes/n", R"({"pow2": [5, 6, 0]})", "/axes/n/pow2/2: must lie between 1 and 40, is 0"},
      {"/axes/n", R"({"pow2": [5]})",
       "/axes/n/pow2: must be [first exponent, last exponent] or [first, last, step]"},
      {"/axes/n", "{}", R"(/axes/n: the key "pow2" is missing)"},
      {"/axes/n_times_q", "4096",
       "/axes/n_times_q: give exactly one of n and q beside it; the other is derived"},
      {"/axes/n_times_q", "0", "/axes/n_times_q: must lie between 1 and 1099511627776, is 0"},
      {"/axes", R"({"n_times_q": 4096, "n": [64, 100], "k": 1})",
       "/axes/n: n = 100 does not divide n_times_q = 4096"},
      {"/axes", R"({"n_times_q": 4096, "q": 0, "k": 1})",
       "/axes/q: q = 0 cannot stand beside n_times_q"},
      {"/axes", R"({"q": 4, "k": 1})", R"(/axes: the key "n" is missing)"},
      {"/axes/shapes", "[[8, 1, 2]]", R"(/axes/shapes: "n" cannot stand beside it; give either)"},
      {"/axes", R"({"shapes": [[8, 1, 2], [8, 1]]})", "/axes/shapes/1: must be [n, q, k]"},
      {"/axes", R"({"shapes": [[8, 1, 2], [8, 1, 2]]})",
       "/axes/shapes/1: repeats the value [8, 1, 2]"},
      {"/axes", R"({"shapes": [[8, 1, 0]]})",
       "/axes/shapes/0/2: must lie between 1 and 1099511627776, is 0"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_names_it_does_not_know) {
  const refusal table[] = {
      {"/axes/dtype", R"("float23")",
       R"(/axes/dtype: unknown dtype "float23"; did you mean "float32"?)"},
      {"/axes/payload", R"(["values", "val"])",
       R"(/axes/payload/1: unknown payload "val"; did you mean "values"?)"},
      {"/axes/layout", R"("x")",
       R"(/axes/layout: unknown layout "x"; valid: row_major, column_major)"},
      {"/axes/direction", R"(["largest", "largest"])",
       "/axes/direction/1: repeats the value largest"},
      {"/axes/distribution", R"("unifrom")",
       R"(/axes/distribution: unknown distribution "unifrom"; did you mean "uniform"?)"},
      {"/axes/distribution", R"~("uniform(2)")~",
       R"~(/axes/distribution: "uniform(2)": uniform takes no parameter)~"},
      {"/axes/distribution", R"~("inf_fraction(2)")~",
       R"~(/axes/distribution: "inf_fraction(2)": inf_fraction takes one number )~"
       "between 0 and 1, as inf_fraction(0.5)"},
      {"/axes/distribution", R"~("inf_fraction(nan)")~",
       R"~(/axes/distribution: "inf_fraction(nan)": inf_fraction takes one number )~"
       "between 0 and 1, as inf_fraction(0.5)"},
      {"/axes/distribution", R"~(["few_distinct", "few_distinct(16)"])~",
       "/axes/distribution/1: repeats the value few_distinct(16)"},
      {"/axes/masks", R"~("colums(0.5)")~",
       R"(/axes/masks: unknown mask "colums"; did you mean "columns"?)"},
      {"/axes/masks", R"~(["none", "elements(0)"])~",
       R"~(/axes/masks/1: "elements(0)": elements takes the share of elements that are admitted, )~"
       "more than 0 and at most 1, as elements(0.1)"},
      {"/axes/masks", R"~("columns(0.5")~",
       R"~(/axes/masks: "columns(0.5": columns takes the share of elements that are admitted, )~"
       "more than 0 and at most 1, as columns(0.1)"},
      {"/axes/masks", R"~("none(1)")~", R"~(/axes/masks: "none(1)": none takes no share)~"},
      {"/axes/masks", R"~(["columns", "columns(0.1)"])~",
       "/axes/masks/1: repeats the value columns(0.1)"},
      {"/executor", R"("gpu")", R"(/executor: unknown executor "gpu"; did you mean "cpu"?)"},
      {"/executor", R"(["cpu", "cpu"])", "/executor/1: repeats the value cpu"},
      {"/executor", "[]", "/executor: must not be empty"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_bad_constraints_exclusions_and_algorithms) {
  const refusal table[] = {
      {"/constraints", R"(["k <= n", "n < m"])",
       R"(/constraints/1: "n < m": column 5: expected an integer, n, q, k or '(', found 'm')"},
      {"/constraints", "[]", "/constraints: must not be empty"},
      {"/exclude", "[{}]", "/exclude/0: excludes everything; name at least one axis"},
      {"/exclude", R"([{"k": 0}])", "/exclude/0/k: must lie between 1 and 1099511627776, is 0"},
      {"/exclude", R"([{"n": [1, 2]}])",
       R"(/exclude/0/n: must be an integer or a string such as "2^20", is a list)"},
      {"/algorithms", "[]", "/algorithms: must not be empty"},
      {"/algorithms", R"([""])", R"(/algorithms/0: "" is no algorithm's name or glob)"},
      {"/algorithms", R"(["cpu/[ab]"])",
       R"(/algorithms/0: "cpu/[ab]" is no algorithm's name or glob)"},
      {"/algorithms", R"(["a@b"])",
       R"(/algorithms/0: "a@b" is no algorithm's name or glob; an @ stands in the suffix "@here" )"
       "alone"},
      {"/algorithms", R"(["cpu/*", "cpu/*@here"])",
       R"(/algorithms/1: repeats "cpu/*"; keep one of them)"},
      {"/algorithms", R"(["cpu/*", {"name": "cpu/*", "where": "n < 5"}])",
       R"(/algorithms/1: repeats "cpu/*"; keep one of them)"},
      {"/algorithms", R"([{"where": "n < 5"}])", R"(/algorithms/0: the key "name" is missing)"},
      {"/algorithms", R"([{"name": "a", "where": "n"}])",
       R"(/algorithms/0/where: "n": column 2: expected an operator or one of )"
       R"(< <= > >= == !=, found the end)"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_bad_inputs) {
  const refusal table[] = {
      {"/input", "{}", R"(/input: give one of "generator", "dataset" and "rows")"},
      {"/input/generator", R"({"vectors": {"dimension": 128, "metric": "inner_product"}})",
       "/input/generator/vectors/metric: \"inner_product\" is a metric of searches alone: write "
       "\"task\": \"knn\""},
      {"/input/generator", R"({"vectors": {"dimension": 128}})",
       R"(/input/generator/vectors: the key "metric" is missing)"},
      {"/input", R"({"generator": {}, "dataset": {}})",
       R"(/input: give one of "generator", "dataset" and "rows")"},
      {"/input/rows", "{}", R"(/input/rows: the key "file" is missing)"},
      {"/input/rows", R"({"file": ""})", "/input/rows/file: must not be empty"},
      {"/input/dataset", "{}", R"(/input/dataset: the key "base" is missing)"},
      {"/input/dataset", R"({"base": "b", "metric": "cosin", "self": true})",
       R"(/input/dataset/metric: unknown metric "cosin"; did you mean "cosine"?)"},
      {"/input/dataset", R"({"base": "b", "metric": "cosine"})",
       R"(/input/dataset: give either "query" or "self": true)"},
      {"/input/dataset", R"({"base": "b", "metric": "cosine", "query": "q", "self": true})",
       R"(/input/dataset: give either "query" or "self": true)"},
      {"/input/dataset", R"({"base": "b", "metric": "cosine", "query": "q", "exclude_self": true})",
       R"(/input/dataset/exclude_self: needs "self": true)"},
      {"/input/dataset", R"({"base": "", "metric": "cosine", "self": true})",
       "/input/dataset/base: must not be empty"},
      {"/input/dataset", R"({"base": "a\u0000b", "metric": "cosine", "self": true})",
       "/input/dataset/base: must not contain a null character"},
      {"/input/dataset", R"({"base": "$DATA/b", "metric": "cosine", "self": true})",
       R"(/input/dataset/base: "$DATA/b": write an environment variable as ${NAME})"},
      {"/input/dataset", R"({"base": "${A}/${B", "metric": "cosine", "self": true})",
       R"(/input/dataset/base: "${A}/${B": write an environment variable as ${NAME})"},
      {"/input/dataset", R"({"base": "${}", "metric": "cosine", "self": true})",
       R"(/input/dataset/base: "${}": write an environment variable as ${NAME})"},
      {"/input/dataset", R"({"base": "b", "metric": "cosine", "self": true, "limit": 0})",
       "/input/dataset/limit: must lie between 1 and 1099511627776, is 0"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_axes_that_a_dataset_rules_out) {
  const char* const dataset = R"({"base": "b", "metric": "cosine", "self": true})";
  EXPECT_EQ(usage_error([&] {
              config_with({{"/input/dataset", dataset}, {"/axes/distribution", R"("uniform")"}});
            }),
            "configs/x.json: /axes/distribution: must not be given: the rows come from "
            "/input/dataset");
  EXPECT_EQ(usage_error([&] {
              config_with({{"/input/dataset", dataset}, {"/axes/dtype", R"("float64")"}});
            }),
            "configs/x.json: /axes/dtype: must be float32: so are the distances of /input/dataset");
  EXPECT_EQ(usage_error([&] {
              config_with({{"/input/dataset", dataset},
                           {"/axes", R"({"n": "all", "n_times_q": 64, "k": 1})"}});
            }),
            "configs/x.json: /axes/n: \"all\" cannot stand beside n_times_q");
}

TEST(parse_config, refuses_bad_measurements) {
  const refusal table[] = {
      {"/measure", R"({"min_samples": 5, "max_samples": 4})",
       "/measure: max_samples = 4 is less than min_samples = 5"},
      {"/measure/max_samples", "4", "/measure: max_samples = 4 is less than min_samples = 11"},
      {"/measure/rounds", "-1", "/measure/rounds: must lie between 0 and 1000, is -1"},
      {"/measure/min_samples", "0", "/measure/min_samples: must lie between 1 and 1000000, is 0"},
      {"/measure/warmup", "-1", "/measure/warmup: must lie between 0 and 1000000, is -1"},
      {"/measure/max_seconds", "0", "/measure/max_seconds: must lie between 0.001 and 86400, is 0"},
      {"/measure/target_spread", "-0.5",
       "/measure/target_spread: must lie between 0 and 1, is -0.5"},
      {"/measure/threads", "5000", "/measure/threads: must lie between 0 and 4096, is 5000"},
      {"/measure/multiprocessors", "-1",
       "/measure/multiprocessors: must lie between 0 and 4096, is -1"},
      {"/measure/multiprocessors", R"("16")",
       R"(/measure/multiprocessors: must be an integer, is the string "16")"},
  };
  expect_refusals(table);
}

TEST(parse_config, refuses_sweeps_and_lists_beyond_their_caps) {
  nlohmann::json many = nlohmann::json::array();
  for (int i = 1; i <= 1000; ++i) many.push_back(i);
  const std::string thousand = many.dump();
  nlohmann::json rows = nlohmann::json::array();
  for (int i = 1; i <= 1000; ++i) rows.push_back("kth_ties(" + std::to_string(i) + ")");
  const std::string distributions = rows.dump();
  const auto with = [&](const char* directions) {
    return config_with({{"/axes/n", thousand.c_str()},
                        {"/axes/q", thousand.c_str()},
                        {"/axes/k", thousand.c_str()},
                        {"/axes/distribution", distributions.c_str()},
                        {"/axes/direction", directions}});
  };
  EXPECT_EQ(usage_error([&] { with(R"(["smallest", "largest"])"); }),
            "configs/x.json: /axes: the axes span more than 1000000000000 combinations; shorten "
            "some, or split the sweep into several configs");
  EXPECT_EQ(with(R"("smallest")").axes.n.size(), 1000U);
  many.push_back(1001);
  EXPECT_EQ(usage_error([&] {
              config_with({{"/axes/n", many.dump().c_str()}});
            }),
            "configs/x.json: /axes/n: has 1001 entries, more than 1000");
  many.erase(many.begin());
  many[0] = {{"pow2", {11, 12}}};
  EXPECT_EQ(usage_error([&] {
              config_with({{"/axes/n", many.dump().c_str()}});
            }),
            "configs/x.json: /axes/n/999: more than 1000 values");
}

TEST(parse_config, names_line_and_column_of_a_syntax_error) {
  const struct {
    const char* text;
    const char* message;
  } table[] = {
      {"",
       "configs/x.json:1:1: not JSON: syntax error while parsing value - unexpected end of "
       "input; expected '[', '{', or a literal"},
      {"{\n  \"name\": \"x\",\n}",
       "configs/x.json:3:1: not JSON: syntax error while parsing object key - unexpected '}'; "
       "expected string literal"},
      {"{\"seed\": NaN}",
       "configs/x.json:1:10: not JSON: syntax error while parsing value - "
       "invalid literal"},
      {"{} x",
       "configs/x.json:1:4: not JSON: syntax error while parsing value - invalid literal; "
       "expected end of input"},
      {"// no\n{}",
       "configs/x.json:1:1: not JSON: syntax error while parsing value - invalid "
       "literal"},
      {"{\"seed\": 1e999}", "configs/x.json: not JSON: number overflow parsing '1e999'"},
      {"\xff", "configs/x.json:1:1: not JSON: syntax error while parsing value - invalid literal"},
  };
  for (const auto& each : table) {
    EXPECT_EQ(usage_error([&] { parse_config(each.text, "configs/x.json"); }), each.message);
  }
}

TEST(parse_config, refuses_what_other_parsers_let_pass) {
  const struct {
    std::string text;
    const char* message;
  } table[] = {
      {R"({"seed": 1, "seed": 2})", "configs/x.json: /seed: repeated key; keep one of them"},
      {R"({"axes": {"n": 1, "k": 2, "n": 3}})",
       "configs/x.json: /axes/n: repeated key; keep one of them"},
      {R"({"algorithms": ["a", {"name": "b"}, {"name": "c", "name": "d"}]})",
       "configs/x.json: /algorithms/2/name: repeated key; keep one of them"},
      {R"({"a/b~\n": 1, "a/b~\n": 2})",
       R"(configs/x.json: /a~1b~0\n: repeated key; keep one of them)"},
      {std::string(100000, '['),
       "configs/x.json: /0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested deeper than 16"},
      {"[]", "configs/x.json: must be an object, is a list"},
      {"{}", R"(configs/x.json: the key "schema" is missing)"},
      {std::string(1 << 20, ' ') + "{}",
       "configs/x.json: longer than 1048576 bytes, which no config needs; is it the right file?"},
  };
  for (const auto& each : table) {
    EXPECT_EQ(usage_error([&] { parse_config(each.text, "configs/x.json"); }), each.message);
  }
}

TEST(parse_config, shortens_what_it_repeats_from_the_file) {
  const std::string message = usage_error([&] {
    config_with({{"/name", ('"' + std::string(100000, 'A') + '"').c_str()}});
  });
  EXPECT_LT(message.size(), 200U);
  EXPECT_NE(message.find("AAA...\""), std::string::npos) << message;
}

}  // namespace
}  // namespace kselect::harness
