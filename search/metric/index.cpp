#include "search/metric/index.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "search/metric/section_io.hpp"

namespace kselect::search::metric_space {
namespace {

void require(bool holds, const char* wrong) {
  if (!holds) throw std::invalid_argument(wrong);
}

bool in_range(std::span<const std::int64_t> objects, std::int64_t n) {
  return std::ranges::all_of(objects, [n](std::int64_t i) { return i >= 0 && i < n; });
}

bool are_distances(std::span<const float> values) {
  return std::ranges::all_of(values, [](float d) { return d >= 0; });
}

void validate_fixed_size(const cluster_list& list, std::int64_t n) {
  // The bound keeps products of sizes within 64 bits.
  require(list.cluster_size >= 1 && list.cluster_size <= most_objects,
          "the cluster size is not possible");
  require(list.covering_radius == 0 && list.starts.empty(),
          "clusters of a fixed size have a covering radius");
  require(list.clusters() == clusters_of(n, list.cluster_size), "the number of clusters is wrong");
}

void validate_fixed_radius(const cluster_list& list) {
  require(list.cluster_size == 0, "clusters of a fixed radius have a size");
  require(std::isfinite(list.covering_radius) && list.covering_radius > 0,
          "the covering radius is not positive");
  require(std::ranges::all_of(list.radii, [&](float r) { return r == list.covering_radius; }),
          "a radius is not the covering radius");
  require(static_cast<std::int64_t>(list.starts.size()) == list.clusters() + 1 &&
              list.starts.front() == 0 && std::ranges::is_sorted(list.starts) &&
              list.starts.back() == static_cast<std::int64_t>(list.members.size()),
          "the clusters' starts do not divide the members");
}

}  // namespace

std::int64_t cluster_list::start_of(std::int64_t cluster) const {
  if (!has_fixed_size()) return starts[static_cast<std::size_t>(cluster)];
  return std::min(cluster * cluster_size, static_cast<std::int64_t>(members.size()));
}

std::span<const std::int64_t> cluster_list::of(std::int64_t cluster) const {
  const std::int64_t first = start_of(cluster), last = start_of(cluster + 1);
  return std::span(members).subspan(static_cast<std::size_t>(first),
                                    static_cast<std::size_t>(last - first));
}

void validate(const cluster_list& list, std::int64_t n) {
  require(list.radii.size() == list.centres.size(), "centres and radii differ in number");
  if (list.starts.empty()) {
    validate_fixed_size(list, n);
  } else {
    validate_fixed_radius(list);
  }
  require(static_cast<std::int64_t>(list.members.size()) == n - list.clusters(),
          "centres and members are not all objects");
  require(in_range(list.centres, n) && in_range(list.members, n), "an object is out of range");
  std::vector<bool> seen(static_cast<std::size_t>(n));
  for (const auto* part : {&list.centres, &list.members}) {
    for (const std::int64_t i : *part) {
      require(!seen[static_cast<std::size_t>(i)], "an object is in two clusters");
      seen[static_cast<std::size_t>(i)] = true;
    }
  }
  require(are_distances(list.radii), "a radius is negative or NaN");
}

void validate(const pivot_table& table, std::int64_t n) {
  require(table.alpha > 0 && table.alpha <= 1, "alpha is not in (0, 1]");
  require(table.diameter >= 0, "the diameter is negative or NaN");
  require(n == 0 || table.count() >= 1, "there is no pivot");
  require(table.most == 0 || table.most == table.count(), "the number of pivots is wrong");
  require(in_range(table.pivots, n), "a pivot is out of range");
  require(std::ranges::is_sorted(table.pivots, std::less_equal<>()) || table.count() <= 1,
          "pivots are out of order");
  require(static_cast<std::int64_t>(table.distances.size()) == table.count() * n,
          "the table of distances has the wrong size");
  require(are_distances(table.distances), "a distance is negative or NaN");
}

void write_index(const cluster_list& list, sections& out) {
  append_section(out, "clusters.size", std::array{list.cluster_size});
  append_section(out, "clusters.centres", list.centres);
  append_section(out, "clusters.radii", list.radii);
  append_section(out, "clusters.members", list.members);
  if (list.has_fixed_size()) return;
  append_section(out, "clusters.covering_radius", std::array{list.covering_radius});
  append_section(out, "clusters.starts", list.starts);
}

void write_index(const pivot_table& table, sections& out) {
  append_section(out, "pivots.alpha", std::array{table.alpha});
  append_section(out, "pivots.diameter", std::array{table.diameter});
  if (table.most != 0) append_section(out, "pivots.most", std::array{table.most});
  append_section(out, "pivots", table.pivots);
  append_section(out, "pivots.distances", table.distances);
}

cluster_list read_cluster_list(const sections& from) {
  cluster_list list;
  const auto size = section_values<std::int64_t>(from, "clusters.size");
  require(size.size() == 1, "section clusters.size is not one number");
  list.cluster_size = size[0];
  list.centres = section_values<std::int64_t>(from, "clusters.centres");
  list.radii = section_values<float>(from, "clusters.radii");
  list.members = section_values<std::int64_t>(from, "clusters.members");
  if (!has_section(from, "clusters.starts")) return list;
  const auto radius = section_values<float>(from, "clusters.covering_radius");
  require(radius.size() == 1, "section clusters.covering_radius is not one number");
  list.covering_radius = radius[0];
  list.starts = section_values<std::int64_t>(from, "clusters.starts");
  require(!list.starts.empty(), "section clusters.starts is empty");
  return list;
}

pivot_table read_pivot_table(const sections& from) {
  pivot_table table;
  const auto alpha = section_values<double>(from, "pivots.alpha");
  const auto diameter = section_values<float>(from, "pivots.diameter");
  require(alpha.size() == 1 && diameter.size() == 1, "the pivots' parameters are not one each");
  table.alpha = alpha[0];
  table.diameter = diameter[0];
  if (has_section(from, "pivots.most")) {
    const auto most = section_values<std::int64_t>(from, "pivots.most");
    require(most.size() == 1, "section pivots.most is not one number");
    table.most = most[0];
  }
  table.pivots = section_values<std::int64_t>(from, "pivots");
  table.distances = section_values<float>(from, "pivots.distances");
  return table;
}

}  // namespace kselect::search::metric_space
