#include "harness/record/meta.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "harness/harness.hpp"
#include "harness/plan/shard.hpp"
#include "harness/record/records.hpp"
#include "runtime/json.hpp"

namespace kselect::harness {
namespace {

using json = nlohmann::ordered_json;

// Null stands for what is not known.
void require(const json& of, std::string_view member, bool (*fits)(const json&)) {
  const auto found = of.find(member);
  if (found == of.end() || found->is_null() || fits(*found)) return;
  throw error(failure::input, fmt::format("its \"{}\" makes no sense", member));
}

bool is_object(const json& value) { return value.is_object(); }
bool is_string(const json& value) { return value.is_string(); }
bool is_count(const json& value) { return value.is_number_integer() && value >= 0; }
bool is_state(const json& value) {
  return value.is_string() && parse<run_state>(value.get<std::string>()).has_value();
}
bool are_gpus(const json& value) {
  return value.is_array() && std::ranges::all_of(value, is_object);
}

void require_plan(const json& plan) {
  for (const char* const member : {"shard", "of", "cells", "cells_of_all", "predicted_us"}) {
    if (!is_count(plan.at(member))) {
      throw error(failure::input, fmt::format("its \"plan\" has no sensible \"{}\"", member));
    }
  }
  if (!plan.at("hash").is_string()) throw error(failure::input, "its plan has no hash");
  const auto shard = plan.at("shard").get<std::uint64_t>(), of = plan.at("of").get<std::uint64_t>();
  if (shard < 1 || shard > of || of > most_shards) {
    throw error(failure::input, fmt::format("its \"plan\" is shard {} of {}", shard, of));
  }
}

void require_sound(const json& meta) {
  if (!meta.is_object()) throw error(failure::input, "is no record of a run");
  for (const char* const member : {"config", "plan", "git", "build", "host", "floor"}) {
    require(meta, member, is_object);
  }
  for (const char* const member : {"run", "started"}) require(meta, member, is_string);
  require(meta, "state", is_state);
  require(meta, "gpu", are_gpus);
  if (meta.contains("host") && meta["host"].is_object()) require(meta["host"], "name", is_string);
  if (meta.contains("plan")) require_plan(meta["plan"]);
  // A run has ended or it has not.
  if (meta.contains("state") && meta["state"].is_null()) {
    throw error(failure::input, "its \"state\" makes no sense");
  }
}

}  // namespace

json read_meta(const std::filesystem::path& file) {
  json meta = read_json(file);
  try {
    require_sound(meta);
  } catch (const error& wrong) {
    throw error(failure::input, fmt::format("{}: {}", file.string(), runtime::reason_of(wrong)));
  } catch (const json::exception& wrong) {
    throw error(failure::input, fmt::format("{}: {}", file.string(), runtime::reason_of(wrong)));
  }
  return meta;
}

}  // namespace kselect::harness
