#include "search/task/settings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::search {

const std::vector<setting_value>& own_values(const sweep_config& config, std::string_view axis) {
  return std::ranges::find(config.axes.own, axis, &axis_values::axis)->values;
}

task_axis dimension_axis() {
  return {.name = "dimension",
          .preset = std::int64_t{0},
          .low = 0,
          .high = static_cast<double>(most_dimension)};
}

void refuse_dimension(const sweep_config& config, bool has_dataset) {
  const auto& given = own_values(config, "dimension");
  const setting_value none = std::int64_t{0};
  const bool lacks = std::ranges::find(given, none) != given.end();
  if (lacks == has_dataset && (lacks ? given.size() == 1 : true)) return;
  throw error(failure::usage, fmt::format("{}: {}", config.place("/axes/dimension"),
                                          has_dataset ? "is the data set's; leave it away"
                                                      : "generated vectors need one, such as 128"));
}

}  // namespace kselect::search
