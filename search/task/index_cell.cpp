#include "search/task/index_cell.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "search/metric/index_bytes.hpp"
#include "search/task/settings.hpp"

namespace kselect::search::metric_space {
namespace {

bool is_set_to(const cell& c, std::string_view axis, std::string_view value) {
  const auto* const setting = find_setting(c.of_entry, axis);
  return setting != nullptr && std::get<std::string>(*setting) == value;
}

}  // namespace

const space& space_of_cell(const cell& c) {
  return find_space(value_of<std::string>(c.of_problem, "metric"));
}

wanted wanted_of(const cell& c) {
  return {c.problem.k, value_of<double>(c.of_problem, "radius"),
          value_of<double>(c.of_problem, "share")};
}

search_options options_of(const cell& c) {
  search_options o;
  if (const auto* const rule = find_setting(c.of_entry, "radius_rule")) {
    o.radius = parse<radius_rule>(std::get<std::string>(*rule)).value();
  }
  if (const auto* const rule = find_setting(c.of_entry, "walk")) {
    o.walk = parse<walk_rule>(std::get<std::string>(*rule)).value();
  }
  if (const auto* const rule = find_setting(c.of_entry, "distribution_rule")) {
    o.distribution = parse<distribution_rule>(std::get<std::string>(*rule)).value();
  }
  o.batch = value_of<std::int64_t>(c.of_entry, "batch");
  o.block_threads = static_cast<int>(value_of<std::int64_t>(c.of_entry, "block_threads"));
  return o;
}

std::string why_not(const cell& c) {
  const wanted what = wanted_of(c);
  const bool on_cpu = c.executor == executor_kind::cpu;
  const bool other_walk = is_set_to(c, "walk", "clusters") || is_set_to(c, "walk", "groups");
  if (may_contain_nan(c.problem.distribution) || may_contain_infinities(c.problem.distribution)) {
    return "the components of vectors must be finite";
  }
  if (c.problem.n > most_objects) return fmt::format("more than {} objects", most_objects);
  if (on_cpu && is_set_to(c, "distribution_rule", "groups")) {
    return "groups of queries are of kernels, this is executor cpu";
  }
  if (other_walk && is_set_to(c, "radius_rule", "decreasing")) {
    return "a decreasing radius goes through the members, by no other walk";
  }
  if (other_walk && on_cpu) return "the walk is one of kernels, this is executor cpu";
  if (!on_cpu && value_of<std::int64_t>(c.of_entry, "threads") != 0) {
    return fmt::format("threads are for executor cpu, this is {}", to_string(c.executor));
  }
  if (what.radius > 0 && what.share > 0) return "give either a radius or a share";
  return {};
}

namespace {

// Of a cell's search beside its queries and answers, if groups of queries search.
std::int64_t scratch_bytes(const cell& c, const index_extent& of) {
  const search_options how = options_of(c);
  const bool by_groups =
      of.kind == index_kind::list_of_clusters
          ? how.walk == walk_rule::groups
          : of.kind == index_kind::sss && of.distribution == distribution_rule::groups;
  if (!by_groups) return 0;
  return group_bytes(of.kind, how.batch == 0 ? c.problem.q : std::min(how.batch, c.problem.q),
                     of.parts);
}

}  // namespace

std::size_t bytes_of(const cell& c) {
  constexpr std::int64_t word_bytes = 64;  // of objects without a dimension, about
  const workload& p = c.problem;
  const std::int64_t each = std::max<std::int64_t>(
      value_of<std::int64_t>(c.of_problem, "dimension") * std::int64_t{sizeof(float)}, word_bytes);
  index_extent extent{.kind = parse<index_kind>(c.entry->algorithm->name).value(),
                      .distribution = options_of(c).distribution,
                      .objects = p.n,
                      .object_bytes = each,
                      .parts = 1};
  if (extent.kind == index_kind::list_of_clusters) {
    extent.has_starts = value_of<double>(c.of_entry, "cluster_radius") > 0;
    const auto size = value_of<std::int64_t>(c.of_entry, "cluster_size");
    if (!extent.has_starts) extent.parts = clusters_of(p.n, size);
  } else if (extent.kind == index_kind::sss) {
    extent.parts = std::max<std::int64_t>(value_of<std::int64_t>(c.of_entry, "pivots"), 1);
  }
  const double answer = wanted_of(c).is_range() ? 0 : 12 * static_cast<double>(p.k);
  const double bytes = static_cast<double>(index_bytes(extent) + scratch_bytes(c, extent)) +
                       static_cast<double>(p.q) * (static_cast<double>(each) + answer);
  return static_cast<std::size_t>(std::min(bytes, 0x1p60));
}

}  // namespace kselect::search::metric_space
