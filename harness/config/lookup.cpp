// Looks up what a config names outside itself: algorithms, environment variables, files. Only
// planning does this. So a config can be parsed on a machine without its dataset or a GPU.

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "harness/config/config.hpp"
#include "harness/config/json_text.hpp"
#include "kselect/registry.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

std::string environment_value(const sweep_config& config, const std::string& variable) {
  const char* const value = std::getenv(variable.c_str());
  if (value == nullptr || *value == '\0') {
    throw error(
        failure::usage,
        fmt::format("{}: the environment variable {} is not set; set it to the file's path, "
                    "or give --dataset PATH",
                    config.place("/input/dataset"), variable));
  }
  return value;
}

}  // namespace

void check_algorithms(const sweep_config& config, std::span<const std::string_view> known,
                      std::string_view hint) {
  for (std::size_t i = 0; i < config.algorithms.size(); ++i) {
    const std::string& glob = config.algorithms[i].glob;
    if (std::ranges::any_of(known,
                            [&](std::string_view name) { return kselect::matches(glob, name); })) {
      continue;
    }
    const auto near = nearest_names(glob, known);
    throw error(
        failure::usage,
        fmt::format(
            "{}/{}: no algorithm matches {}; {}{}", config.place("/algorithms"), i, in_quotes(glob),
            near.empty() ? "see `kselect list`" : fmt::format("near: {}", fmt::join(near, ", ")),
            hint));
  }
}

void require_selection(const sweep_config& config, std::string_view who) {
  if (!config.parts.empty()) {
    throw error(failure::usage, fmt::format("{}: /parts: {} is for configs of one task; use "
                                            "`kselect run`",
                                            config.file_name, who));
  }
  if (config.task == nullptr) return;
  throw error(failure::usage,
              fmt::format("{}: /task: {} is for selections, this config is of task {}; use "
                          "`kselect run`",
                          config.file_name, who, config.task->name()));
}

const algorithm_filter* filter_for(const sweep_config& config, std::string_view algorithm) {
  const auto found = std::find_if(
      config.algorithms.rbegin(), config.algorithms.rend(),
      [&](const algorithm_filter& filter) { return kselect::matches(filter.glob, algorithm); });
  return found == config.algorithms.rend() ? nullptr : &*found;
}

std::vector<std::string> idle_entries(const sweep_config& config,
                                      std::span<const std::string_view> known) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < config.algorithms.size(); ++i) {
    const algorithm_filter& entry = config.algorithms[i];
    const bool decides = std::ranges::any_of(known, [&](std::string_view name) {
      return kselect::matches(entry.glob, name) && filter_for(config, name) == &entry;
    });
    if (decides) continue;
    notes.push_back(
        fmt::format("{}/{}: {} decides nothing: later entries match all that it matches; remove it",
                    config.place("/algorithms"), i, in_quotes(entry.glob)));
  }
  return notes;
}

std::filesystem::path dataset_path(const sweep_config& config, const std::string& written) {
  std::string path;
  std::size_t at = 0;
  for (;;) {
    const std::size_t dollar = written.find("${", at);
    const std::size_t end = written.find('}', dollar);
    path += written.substr(at, dollar - at);
    if (dollar == std::string::npos || end == std::string::npos) break;
    path += environment_value(config, written.substr(dollar + 2, end - dollar - 2));
    at = end + 1;
  }
  return std::filesystem::path(config.file_name).parent_path() / path;
}

}  // namespace kselect::harness
