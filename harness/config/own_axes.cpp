// Reads the axes that a task has of its own: /axes/dimension, /axes/metric and so on.

#include <algorithm>

#include <fmt/format.h>

#include "harness/config/axes.hpp"
#include "harness/config/json_text.hpp"

namespace kselect::harness {
namespace {

// All combinations of a task's own axes are held while a sweep is planned.
constexpr std::size_t most_own_settings = 10'000;

setting_value parse_value(const node& entry, const task_axis& axis) {
  if (std::holds_alternative<std::int64_t>(axis.preset)) {
    return entry.size(static_cast<std::int64_t>(axis.low), static_cast<std::int64_t>(axis.high));
  }
  if (std::holds_alternative<double>(axis.preset)) return entry.number(axis.low, axis.high);
  const std::string& text = entry.string();
  if (std::ranges::find(axis.choices, text) == axis.choices.end()) {
    entry.fail_unknown(axis.name, text, axis.choices);
  }
  return text;
}

axis_values parse_axis(const node& axes, const task_axis& axis) {
  const auto given = axes.optional(axis.name);
  if (!given) {
    if (axis.required) axes.required(axis.name);  // says that it is missing
    return {axis.name, {axis.preset}};
  }
  axis_values parsed{axis.name, {}};
  for (const node& entry : given->list_or_single()) {
    const setting_value value = parse_value(entry, axis);
    if (std::ranges::find(parsed.values, value) != parsed.values.end()) {
      entry.fail(fmt::format("repeats the value {}", to_string(value)));
    }
    parsed.values.push_back(value);
  }
  return parsed;
}

}  // namespace

std::vector<axis_values> parse_own_axes(const node& axes, const task& of) {
  std::vector<axis_values> parsed;
  std::size_t combinations = 1;
  for (const task_axis& axis : of.axes()) {
    parsed.push_back(parse_axis(axes, axis));
    combinations *= parsed.back().values.size();
    if (combinations > most_own_settings) {
      axes.fail(fmt::format("the axes of task {} span more than {} combinations; shorten some",
                            of.name(), most_own_settings));
    }
  }
  return parsed;
}

}  // namespace kselect::harness
