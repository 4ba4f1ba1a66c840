// Parsing a valid config: ranges are expanded in order, defaults filled in, all keys read.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/harness/config/minimal_config.hpp"
#include "tests/harness/scratch_directory.hpp"

namespace kselect::harness {
namespace {

using testing_config::config_with;
using testing_config::text_with;

std::vector<std::int64_t> values(const std::vector<extent>& axis) {
  std::vector<std::int64_t> plain;
  for (const extent& value : axis) plain.push_back(value.value_or(-1));
  return plain;
}

using sizes = std::vector<std::int64_t>;

TEST(parse_config, fills_in_the_documented_defaults) {
  const sweep_config config = config_with({});
  EXPECT_EQ(config.file_name, testing_config::file);
  EXPECT_EQ(config.name, "x");
  EXPECT_EQ(config.description, "");
  EXPECT_EQ(config.seed, 42U);
  EXPECT_EQ(values(config.axes.n), sizes{1024});
  EXPECT_EQ(values(config.axes.q), sizes{4});
  EXPECT_EQ(config.axes.k, sizes{8});
  EXPECT_EQ(config.axes.n_times_q, std::nullopt);
  EXPECT_EQ(config.axes.types, std::vector{dtype::float32});
  EXPECT_EQ(config.axes.payloads, std::vector{payload::values_and_indices});
  EXPECT_EQ(config.axes.directions, std::vector{direction::smallest});
  EXPECT_EQ(config.axes.layouts, std::vector{layout::row_major});
  EXPECT_EQ(config.axes.indices, std::vector{index_type::int32});
  EXPECT_EQ(config.axes.distributions, std::vector{distribution{}});
  EXPECT_TRUE(config.constraints.empty());
  EXPECT_TRUE(config.excludes.empty());
  EXPECT_TRUE(std::holds_alternative<generated_input>(config.input));
  EXPECT_EQ(config.measure, measure_policy{});
  EXPECT_TRUE(config.executors.empty());
}

TEST(parse_config, expands_sizes_in_the_order_of_the_file) {
  const struct {
    const char* axis;
    sizes expected;
  } table[] = {
      {"7", {7}},
      {"0", {0}},
      {R"("2^20")", {1048576}},
      {R"({"pow2": [3, 5]})", {8, 16, 32}},
      {R"({"pow2": [0, 5, 2]})", {1, 4, 16}},
      {R"({"pow2": [40, 40], "_note": "one"})", {std::int64_t{1} << 40}},
      {R"([1000, {"pow2": [4, 5]}, "3*2^2 + 1", 2])", {1000, 16, 32, 13, 2}},
  };
  for (const auto& each : table) {
    EXPECT_EQ(values(config_with({{"/axes/n", each.axis}}).axes.n), each.expected) << each.axis;
    EXPECT_EQ(values(config_with({{"/axes/q", each.axis}}).axes.q), each.expected) << each.axis;
  }
  EXPECT_EQ(config_with({{"/axes/k", R"([{"pow2": [0, 2]}, 10])"}}).axes.k, (sizes{1, 2, 4, 10}));
}

TEST(parse_config, reads_every_axis) {
  const sweep_axes axes =
      config_with({{"/axes/dtype", R"(["float64", "int8", "bfloat16", "float8_e4m3fn"])"},
                   {"/axes/payload", R"("kth_value")"},
                   {"/axes/direction", R"(["largest"])"},
                   {"/axes/layout", R"(["column_major", "row_major"])"},
                   {"/axes/index", R"("int64")"},
                   {"/axes/distribution", R"~(["normal", "few_distinct", "inf_fraction(0.25)"])~"}})
          .axes;
  EXPECT_EQ(axes.types,
            (std::vector{dtype::float64, dtype::int8, dtype::bfloat16, dtype::float8_e4m3fn}));
  EXPECT_EQ(axes.payloads, std::vector{payload::kth_value});
  EXPECT_EQ(axes.directions, std::vector{direction::largest});
  EXPECT_EQ(axes.layouts, (std::vector{layout::column_major, layout::row_major}));
  EXPECT_EQ(axes.indices, std::vector{index_type::int64});
  EXPECT_EQ(axes.distributions,
            (std::vector<distribution>{{distribution_kind::normal, 0},
                                       {distribution_kind::few_distinct, 16},
                                       {distribution_kind::inf_fraction, 0.25}}));
}

TEST(parse_config, keeps_n_times_q_beside_the_axis_that_is_given) {
  const sweep_config config = parse_config(
      R"({"schema": "kselect-config/1", "name": "x", "algorithms": ["cpu/*"],
          "axes": {"q": {"pow2": [0, 2]}, "n_times_q": "2^22", "k": 1}})",
      testing_config::file);
  EXPECT_EQ(config.axes.n_times_q, 1 << 22);
  EXPECT_EQ(values(config.axes.q), (sizes{1, 2, 4}));
  EXPECT_TRUE(config.axes.n.empty());
}

TEST(parse_config, reads_constraints_exclusions_and_algorithms) {
  const sweep_config config = config_with(
      {{"/constraints", R"(["k <= n", "n*q <= 2^28"])"},
       {"/exclude", R"~([{"n": "2^10", "k": 8}, {"q": 4, "dtype": "float64", "payload": "values",
                         "direction": "largest", "layout": "column_major", "index": "int64",
                         "distribution": "kth_ties(3)"}])~"},
       {"/algorithms", R"(["cpu/*", {"name": "cpu/sort", "where": "n <= 2^24"}, {"name": "a"}])"}});
  EXPECT_EQ(config.constraints, (std::vector{expression("k <= n"), expression("n*q <= 2^28")}));
  ASSERT_EQ(config.excludes.size(), 2U);
  exclusion first;
  first.n = 1024;
  first.k = 8;
  EXPECT_EQ(config.excludes[0], first);
  exclusion second;
  second.q = 4;
  second.type = dtype::float64;
  second.payload = payload::values;
  second.direction = direction::largest;
  second.layout = layout::column_major;
  second.index = index_type::int64;
  second.distribution = distribution{distribution_kind::kth_ties, 3};
  EXPECT_EQ(config.excludes[1], second);
  EXPECT_EQ(config.algorithms,
            (std::vector<algorithm_filter>{
                {"cpu/*", {}}, {"cpu/sort", expression("n <= 2^24")}, {"a", {}}}));
}

TEST(parse_config, reads_a_dataset) {
  const sweep_config config =
      config_with({{"/input/dataset", R"({"base": "${A}/b", "metric": "cosine", "self": true,
                                          "exclude_self": true, "limit": "10^4"})"},
                   {"/axes/n", R"([16, "all"])"},
                   {"/axes/q", R"("all")"}});
  EXPECT_EQ(std::get<dataset_input>(config.input),
            (dataset_input{"${A}/b", std::nullopt, metric::cosine, true, true, 10000}));
  EXPECT_EQ(config.axes.n, (std::vector<extent>{16, std::nullopt}));
  EXPECT_EQ(config.axes.q, (std::vector<extent>{std::nullopt}));
  EXPECT_EQ(config.axes.distributions,
            (std::vector<distribution>{{distribution_kind::external, 0}}));
  const sweep_config queries =
      config_with({{"/input/dataset", R"({"base": "b", "query": "q", "metric": "pearson"})"}});
  EXPECT_EQ(std::get<dataset_input>(queries.input),
            (dataset_input{"b", "q", metric::pearson, false, false, std::nullopt}));
}

TEST(parse_config, reads_the_rest) {
  const sweep_config config = config_with(
      {{"/description", R"("what for")"},
       {"/seed", "18446744073709551615"},
       {"/input/generator", "{}"},
       {"/measure",
        R"({"warmup": 0, "rounds": 5, "min_samples": 2, "max_samples": 3, "max_seconds": 1,
                        "target_spread": 0.5, "threads": 6, "cpu_cache": "flushed",
                        "timeout_s": 1.5, "multiprocessors": 16})"},
       {"/executor", R"(["fiber", "cpu"])"}});
  EXPECT_EQ(config.description, "what for");
  EXPECT_EQ(config.seed, UINT64_MAX);
  EXPECT_EQ(config.measure, (measure_policy{0, 5, 2, 3, 1.0, 0.5, 6, cpu_cache::flushed, 1.5, 16}));
  EXPECT_EQ(config.executors, (std::vector{executor_kind::fiber, executor_kind::cpu}));
  EXPECT_EQ(config_with({{"/executor", R"("cuda")"}}).executors, std::vector{executor_kind::cuda});
  EXPECT_TRUE(config_with({{"/executor", R"("auto")"}}).executors.empty());
}

TEST(parse_config, reads_generated_vectors) {
  const sweep_config config = config_with(
      {{"/input/generator", R"({"vectors": {"dimension": "2^7", "metric": "euclidean"}})"}});
  EXPECT_EQ(std::get<generated_input>(config.input),
            (generated_input{generated_vectors{128, metric::euclidean}}));
}

TEST(parse_config, ignores_notes_everywhere) {
  EXPECT_EQ(config_with({{"/_note", R"("a")"},
                         {"/axes/_note", R"("b")"},
                         {"/measure/_note", R"("c")"},
                         {"/input", R"({"_note": "d", "generator": {"_note": "e"}})"}}),
            config_with({}));
}

TEST(load_config, reads_a_file) {
  const scratch_directory scratch;
  const auto path = scratch / "config.json";
  std::ofstream(path) << text_with({});
  const sweep_config config = load_config(path);
  EXPECT_EQ(config.file_name, path.string());
  EXPECT_EQ(config.name, "x");
}

TEST(load_config, refuses_what_it_cannot_read) {
  const scratch_directory scratch;
  for (const auto& path : {scratch / "no_such.json", scratch.path()}) {
    try {
      load_config(path);
      ADD_FAILURE() << "no error for " << path;
    } catch (const error& why) {
      EXPECT_EQ(why.category(), failure::input);
      EXPECT_NE(std::string(why.what()).find("cannot read the config: "), std::string::npos);
    }
  }
}

TEST(load_config, refuses_a_file_that_is_too_long_without_reading_it_whole) {
  const scratch_directory scratch;
  const auto path = scratch / "long.json";
  std::ofstream(path) << std::string(std::size_t{1} << 21, ' ');
  const std::string message = testing_config::usage_error([&] { load_config(path); });
  EXPECT_NE(message.find("longer than 1048576 bytes"), std::string::npos) << message;
}

}  // namespace
}  // namespace kselect::harness
