#include "harness/task/task.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kselect::harness {
namespace {

std::vector<const task*>& added_tasks() {
  static std::vector<const task*> all;
  return all;
}

}  // namespace

std::string to_string(const setting_value& value) {
  return std::visit([](const auto& of_type) { return fmt::format("{}", of_type); }, value);
}

std::string to_string(const setting& s) { return fmt::format("{}={}", s.axis, to_string(s.value)); }

nlohmann::ordered_json to_json(const setting_value& value) {
  return std::visit([](const auto& of_type) { return nlohmann::ordered_json(of_type); }, value);
}

const setting_value* find_setting(const settings& all, std::string_view axis) {
  const auto found = std::ranges::find(all, axis, &setting::axis);
  return found == all.end() ? nullptr : &found->value;
}

void add_task(const task& added) {
  if (find_added_task(added.name()) == nullptr) added_tasks().push_back(&added);
}

const task* find_added_task(std::string_view name) {
  const auto found = std::ranges::find(added_tasks(), name, &task::name);
  return found == added_tasks().end() ? nullptr : *found;
}

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> all = {selection_name};
  for (const task* each : added_tasks()) all.push_back(each->name());
  return all;
}

bool matters(const task_axis& axis, std::string_view entry) {
  return axis.entries.empty() || std::ranges::any_of(axis.entries, [&](std::string_view glob) {
           return kselect::matches(glob, entry);
         });
}

}  // namespace kselect::harness
