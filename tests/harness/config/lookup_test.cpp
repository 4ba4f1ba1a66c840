// Names in a config that refer to algorithms, environment variables and files.

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using testing_config::config_with;
using testing_config::usage_error;

constexpr std::array<std::string_view, 3> known = {"cpu/sort", "cpu/sort+omp", "tang/merge+buffer"};

TEST(check_algorithms, accepts_names_and_globs_that_match) {
  check_algorithms(config_with({{"/algorithms", R"(["cpu/*", "*", "cpu/sor?", "*+omp"])"}}), known);
  check_algorithms(config_with({{"/algorithms", R"(["tang/merge+buffer", "*sort", "cpu*omp"])"}}),
                   known);
}

TEST(check_algorithms, proposes_the_nearest_names_for_one_that_matches_nothing) {
  EXPECT_EQ(usage_error([] {
              check_algorithms(config_with({{"/algorithms", R"(["*", "cpu/sotr"])"}}), known);
            }),
            "configs/x.json: /algorithms/1: no algorithm matches \"cpu/sotr\"; near: cpu/sort, "
            "cpu/sort+omp");
  EXPECT_EQ(usage_error([] {
              check_algorithms(config_with({{"/algorithms", R"(["quite_different"])"}}), known);
            }),
            "configs/x.json: /algorithms/0: no algorithm matches \"quite_different\"; see "
            "`kselect list`");
}

TEST(check_algorithms, ends_with_the_hint_why_a_name_may_be_missing) {
  EXPECT_EQ(usage_error([] {
              check_algorithms(config_with({{"/algorithms", R"(["quite_different"])"}}), known,
                               "; built without some");
            }),
            "configs/x.json: /algorithms/0: no algorithm matches \"quite_different\"; see "
            "`kselect list`; built without some");
}

TEST(filter_for, is_the_last_entry_that_matches) {
  const sweep_config config =
      config_with({{"/algorithms", R"(["cpu/*", {"name": "cpu/sort", "where": "n <= 2^20"}])"}});
  EXPECT_EQ(filter_for(config, "cpu/sort"), &config.algorithms[1]);
  EXPECT_EQ(filter_for(config, "cpu/sort+omp"), &config.algorithms[0]);
  EXPECT_EQ(filter_for(config, "tang/merge+buffer"), nullptr);
}

TEST(dataset_path, starts_at_the_folder_of_the_config) {
  const sweep_config config = config_with({});
  EXPECT_EQ(dataset_path(config, "data/base.idx"), "configs/data/base.idx");
  EXPECT_EQ(dataset_path(config, "/data/base.idx"), "/data/base.idx");
}

TEST(dataset_path, fills_in_environment_variables) {
  const sweep_config config = config_with({});
  setenv("KSELECT_TEST_ROOT", "/data", 1);
  setenv("KSELECT_TEST_FILE", "${x}", 1);
  EXPECT_EQ(dataset_path(config, "${KSELECT_TEST_ROOT}/a/${KSELECT_TEST_FILE}.gz"),
            "/data/a/${x}.gz");
  unsetenv("KSELECT_TEST_ROOT");
  EXPECT_EQ(
      usage_error([&] { dataset_path(config, "${KSELECT_TEST_ROOT}/a"); }),
      "configs/x.json: /input/dataset: the environment variable KSELECT_TEST_ROOT is not set; "
      "set it to the file's path, or give --dataset PATH");
  unsetenv("KSELECT_TEST_FILE");
}

}  // namespace
}  // namespace kselect::harness
