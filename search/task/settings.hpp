#pragma once
// What the tasks of searches read of settings and configs.

#include <string_view>
#include <variant>

#include "harness/config/config.hpp"
#include "harness/task/task.hpp"
#include "search/search.hpp"

namespace kselect::search {

inline constexpr std::int64_t most_checked = 16;  // queries whose answers are checked on top
inline constexpr std::int64_t most_dimension = std::int64_t{1} << 20;
inline constexpr double ns_per_second = 1e9, ns_per_millisecond = 1e6;

// The value of an axis that every cell has.
template <class T>
const T& value_of(const settings& all, std::string_view axis) {
  return std::get<T>(*find_setting(all, axis));
}

// The values that a config gives an axis of its task.
const std::vector<setting_value>& own_values(const sweep_config& config, std::string_view axis);

// `dimension`, of generated vectors; 0, the preset: that of the data set.
task_axis dimension_axis();
// Throws error(failure::usage) unless the config gives a dimension exactly if it has no data set.
void refuse_dimension(const sweep_config& config, bool has_dataset);

}  // namespace kselect::search
