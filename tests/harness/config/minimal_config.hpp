#pragma once
// The smallest valid config, and the same with members changed: a test shows only the members it is
// about, and a refusal can have no other cause.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/config/config.hpp"
#include "runtime/error.hpp"
#include "search/task/tasks.hpp"

namespace kselect::harness::testing_config {

// Configs of searches need their tasks, as the program has them.
inline void know_search_tasks() {
  [[maybe_unused]] static const bool once = (search::add_search_tasks(), true);
}

inline constexpr const char* file = "configs/x.json";

struct change {
  const char* pointer;  // JSON pointer of the member
  const char* value;    // JSON
};

inline std::string text_with(const std::vector<change>& changes) {
  nlohmann::json config = nlohmann::json::parse(R"({
    "schema": "kselect-config/1", "name": "x", "algorithms": ["cpu/*"],
    "axes": {"n": 1024, "q": 4, "k": 8}
  })");
  for (const change& each : changes) {
    config[nlohmann::json::json_pointer(each.pointer)] = nlohmann::json::parse(each.value);
  }
  return config.dump();
}

inline sweep_config config_with(const std::vector<change>& changes) {
  return parse_config(text_with(changes), file);
}

// The message of the usage error that `action` must end in.
template <class Action>
std::string usage_error(Action&& action) {
  try {
    action();
  } catch (const error& why) {
    EXPECT_EQ(why.category(), failure::usage) << why.what();
    EXPECT_EQ(std::string(why.what()).find('\n'), std::string::npos) << why.what();
    return why.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace kselect::harness::testing_config
