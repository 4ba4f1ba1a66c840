#include "search/task/index_axes.hpp"

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/metric/space.hpp"
#include "search/metric/stand_ins.hpp"
#include "search/task/settings.hpp"

namespace kselect::search {
namespace {

using namespace metric_space;

constexpr std::string_view clusters_only[] = {"list_of_clusters"};
constexpr std::string_view pivots_only[] = {"sss"};
constexpr double most = most_objects;
constexpr double far = 1e30;
constexpr double most_threads = 4096;

std::vector<task_axis> axes_of_problem() {
  task_axis metric{.name = "metric", .preset = std::string("euclidean")};
  for (const space* s : spaces()) metric.choices.push_back(s->metric_name());
  task_axis stand_in{.name = "stand_in", .preset = std::string("none"), .choices = {"none"}};
  for (const metric_space::stand_in& s : stand_ins) stand_in.choices.push_back(s.name);
  return {dimension_axis(),
          metric,
          stand_in,
          {.name = "radius", .preset = 0.0, .low = 0, .high = far},
          {.name = "share", .preset = 0.0, .low = 0, .high = 1}};
}

task_axis whole_number(std::string_view name, std::int64_t preset, double low, double high,
                       std::span<const std::string_view> entries = {}) {
  return {.name = name,
          .scope = axis_scope::entry,
          .preset = preset,
          .low = low,
          .high = high,
          .entries = entries};
}

task_axis number(std::string_view name, double preset, double low, double high,
                 std::span<const std::string_view> entries) {
  return {.name = name,
          .scope = axis_scope::entry,
          .preset = preset,
          .low = low,
          .high = high,
          .entries = entries};
}

task_axis choice(std::string_view name, std::vector<std::string_view> choices,
                 std::span<const std::string_view> entries) {
  return {.name = name,
          .scope = axis_scope::entry,
          .preset = std::string(choices.front()),
          .choices = std::move(choices),
          .entries = entries};
}

}  // namespace

std::vector<task_axis> index_axes() {
  std::vector<task_axis> all = axes_of_problem();
  all.push_back(whole_number("cluster_size", 64, 1, most, clusters_only));
  all.push_back(number("cluster_radius", 0, 0, far, clusters_only));  // 0: by size
  all.push_back(choice("radius_rule", {"increasing", "decreasing"}, clusters_only));
  all.push_back(choice("walk", {"members", "clusters", "groups"}, clusters_only));
  all.push_back(number("alpha", 0.5, 0.001, 1, pivots_only));
  all.push_back(whole_number("pivots", 0, 0, most, pivots_only));
  all.push_back(choice("distribution_rule", {"elements", "pivots", "groups"}, pivots_only));
  all.push_back(whole_number("batch", 0, 0, most));
  all.push_back(whole_number("block_threads", 256, 32, 1024));
  all.push_back(whole_number("threads", 0, 0, most_threads));  // of the host; 0: the sweep's
  return all;
}

void refuse_stand_ins(const sweep_config& config, bool has_dataset) {
  const auto fail = [&](const std::string& what) {
    throw error(failure::usage, fmt::format("{}: {}", config.place("/axes/stand_in"), what));
  };
  const auto& wanted = own_values(config, "stand_in");
  for (const metric_space::stand_in& s : stand_ins) {
    if (std::ranges::find(wanted, setting_value(std::string(s.name))) == wanted.end()) continue;
    if (has_dataset) fail("the objects are those of a file; leave it away");
    const distribution own{distribution_kind::decaying, s.intrinsic_dimension};
    const std::vector<setting_value> dimension = {s.dimension};
    if (own_values(config, "dimension") == dimension &&
        config.axes.distributions == std::vector{own}) {
      continue;
    }
    fail(
        fmt::format("{} has vectors of dimension {} and is alone with them: write \"dimension\": "
                    "{}, \"distribution\": \"{}\"",
                    s.name, s.dimension, s.dimension, to_string(own)));
  }
}

}  // namespace kselect::search
