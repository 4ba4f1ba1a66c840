// The JSON schema and the code list the same words, so a new enumerator or key cannot be missing in
// one of them.

#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/config/config.hpp"
#include "harness/task/task.hpp"
#include "tests/harness/config/minimal_config.hpp"

namespace kselect::harness {
namespace {

using nlohmann::json;

json schema() {
  std::ifstream file(KSELECT_SOURCE_DIR "/configs/config.schema.json");
  return json::parse(file);
}

template <class Enum>
json all_names() {
  json list = json::array();
  for (const auto& entry : names<Enum>) list.push_back(entry.name);
  return list;
}

TEST(config_schema, lists_the_enumerators_of_the_vocabulary) {
  const json defs = schema()["$defs"];
  EXPECT_EQ(defs["dtype"]["enum"], all_names<dtype>());
  EXPECT_EQ(defs["payload"]["enum"], all_names<payload>());
  EXPECT_EQ(defs["direction"]["enum"], all_names<direction>());
  EXPECT_EQ(defs["layout"]["enum"], all_names<layout>());
  EXPECT_EQ(defs["index"]["enum"], all_names<index_type>());
  json metrics = all_names<metric>();
  metrics.erase(static_cast<std::size_t>(metric::inner_product));  // of searches alone
  EXPECT_EQ(defs["dataset"]["properties"]["metric"]["enum"], metrics);
  EXPECT_EQ(schema()["properties"]["executor"]["anyOf"][1]["items"]["enum"],
            all_names<executor_kind>());
}

TEST(config_schema, knows_every_distribution_and_which_take_a_parameter) {
  const std::string pattern = schema()["$defs"]["distribution"]["pattern"];
  const std::size_t parametric = pattern.find("|(");
  ASSERT_NE(parametric, std::string::npos);
  for (const auto& entry : names<distribution_kind>) {
    const std::size_t found = pattern.find(entry.name);
    if (entry.value == distribution_kind::external) {
      EXPECT_EQ(found, std::string::npos);
    } else {
      ASSERT_NE(found, std::string::npos) << entry.name;
      EXPECT_EQ(found > parametric, parameter_of(entry.value).has_value()) << entry.name;
    }
  }
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

// resolved_json writes every key. Alternative keys need several configs to show all of them.
TEST(config_schema, has_the_keys_that_a_resolved_config_has) {
  const json generated = json::parse(resolved_json(parse_config(R"~({
        "schema": "kselect-config/1", "name": "x", "algorithms": ["a"], "constraints": ["k < n"],
        "plugins": ["a.so"], "axes": {"n": 1, "q": 1, "k": 1, "lengths": "zipf(1)", "masks": "columns", "nan": "last"}, "exclude": [{"n": 1, "q": 1, "k": 1, "dtype": "float32",
        "payload": "values", "direction": "largest", "layout": "row_major", "index": "int32",
        "distribution": "uniform"}]})~",
                                                                "x"))
                                         .dump());
  const json defs = schema()["$defs"];
  auto properties = keys(generated);
  properties.insert("task");   // written for other tasks than selection
  properties.insert("parts");  // in place of the keys of one task
  EXPECT_EQ(keys(schema()["properties"]), properties);
  for (const char* const whole :
       {"schema", "name", "description", "seed", "measure", "plugins", "parts"}) {
    properties.erase(whole);
  }
  EXPECT_EQ(keys(defs["part"]["properties"]), properties);
  EXPECT_EQ(keys(defs["measure"]["properties"]), keys(generated["measure"]));
  EXPECT_EQ(keys(defs["exclusion"]["properties"]), keys(generated["exclude"][0]));
  auto axes = keys(generated["axes"]);
  axes.insert("n_times_q");
  axes.insert("shapes");
  testing_config::know_search_tasks();
  for (const std::string_view task : {"knn", "index"}) {
    for (const task_axis& axis : find_added_task(task)->axes()) axes.emplace(axis.name);
  }
  EXPECT_EQ(keys(defs["axes"]["properties"]), axes);
}

}  // namespace
}  // namespace kselect::harness
