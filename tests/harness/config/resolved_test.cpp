// resolved_json and parse_config are inverse to each other, for all keys of a config.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using testing_config::config_with;

void expect_round_trip(const sweep_config& config) {
  const std::string text = resolved_json(config).dump();
  const sweep_config again = parse_config(text, config.file_name);
  EXPECT_EQ(again, config) << text;
  EXPECT_EQ(resolved_json(again).dump(), text);
}

TEST(resolved_json, says_everything_that_was_left_to_defaults) {
  EXPECT_EQ(resolved_json(config_with({})).dump(),
            R"({"schema":"kselect-config/1","name":"x","description":"","seed":42,)"
            R"("axes":{"n":[1024],"q":[4],"k":[8],"dtype":["float32"],)"
            R"("payload":["values_and_indices"],"direction":["smallest"],)"
            R"("layout":["row_major"],"index":["int32"],"distribution":["uniform"]},)"
            R"("algorithms":["cpu/*"],"input":{"generator":{}},)"
            R"("measure":{"warmup":1,"rounds":11,"min_samples":11,"max_samples":220,)"
            R"("max_seconds":2.0,"target_spread":0.02,"threads":0,"cpu_cache":"warm",)"
            R"("timeout_s":60.0,"multiprocessors":0},"executor":"auto"})");
}

TEST(resolved_json, parses_to_the_same_config) {
  expect_round_trip(config_with({}));
  expect_round_trip(config_with(
      {{"/description", R"("a \"b\" \u00e9\n")"},
       {"/seed", "18446744073709551615"},
       {"/axes/n", R"([0, {"pow2": [1, 40]}])"},
       {"/axes/distribution", R"~(["normal", "inf_fraction(0.1)"])~"},
       {"/axes/masks", R"~(["none", "columns", "elements(0.01)"])~"},
       {"/constraints", R"(["k <= n"])"},
       {"/algorithms", R"(["a", "*", "c*@here", {"name": "b@here", "where": "n < 5"}])"},
       {"/measure/target_spread", "0.1"},
       {"/measure/multiprocessors", "16"},
       {"/executor", R"(["fiber", "cpu"])"}}));
  expect_round_trip(config_with(
      {{"/exclude", R"~([{"n": 0, "q": 1, "k": 2, "dtype": "float64", "payload": "values",
                          "direction": "largest", "layout": "column_major", "index": "int64",
                          "distribution": "kth_ties(3)"}])~"}}));
  expect_round_trip(config_with({{"/axes", R"({"n": [1, 2], "n_times_q": 64, "k": 1})"}}));
  expect_round_trip(config_with({{"/axes", R"({"q": [1, 2], "n_times_q": 64, "k": 1})"}}));
  expect_round_trip(config_with({{"/axes", R"({"shapes": [[8, 1, 2], ["2^4", 0, 3]]})"}}));
  expect_round_trip(
      config_with({{"/input/dataset", R"({"base": "${A}/b", "metric": "cosine", "self": true,
                              "exclude_self": true, "limit": 9})"},
                   {"/axes/n", R"([16, "all"])"}}));
  expect_round_trip(config_with({{"/input/rows", R"({"file": "${A}/rows.npy"})"},
                                 {"/axes/dtype", R"(["float64"])"},
                                 {"/axes/q", R"("all")"}}));
  expect_round_trip(
      config_with({{"/input/dataset", R"({"base": "b", "query": "q", "metric": "euclidean"})"}}));
}

TEST(resolved_json, parses_to_the_same_config_for_every_shipped_one) {
  testing_config::know_search_tasks();
  int seen = 0;
  const auto folder = std::filesystem::path(KSELECT_SOURCE_DIR) / "configs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto& path = entry.path();
    if (path.extension() != ".json" || path.filename() == "config.schema.json") continue;
    ++seen;
    const sweep_config config = load_config(path);
    EXPECT_EQ(config.name, path.stem().string());
    expect_round_trip(config);
  }
  EXPECT_GE(seen, 3);
}

}  // namespace
}  // namespace kselect::harness
