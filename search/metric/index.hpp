#pragma once
// The metric indexes of Barrientos 2011, Sec. 2.1.3, as data, for any metric. Builders write them,
// and searches read them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kselect/names.hpp"
#include "search/metric/metric.hpp"

namespace kselect::search::metric_space {

enum class index_kind : std::uint8_t {
  none,              // exhaustive search
  list_of_clusters,  // Chavez & Navarro 2000
  sss                // sparse spatial selection of pivots: Brisaboa et al. 2006
};

// List of Clusters. A cluster is a centre and the `cluster_size` objects nearest to it among those
// in no earlier cluster. So an object is in the first cluster whose ball contains it.
struct cluster_list {
  std::int64_t cluster_size = 0;
  std::vector<std::int64_t> centres;  // [clusters]
  std::vector<float> radii;  // [clusters]: greatest distance of a member; 0 if there is none
  // Cluster after cluster, each by distance, then number. All clusters but the last are full.
  std::vector<std::int64_t> members;

  std::int64_t clusters() const { return static_cast<std::int64_t>(centres.size()); }
  std::span<const std::int64_t> of(std::int64_t cluster) const;
  bool operator==(const cluster_list&) const = default;
};

// SSS-Index: pivots, and the distances between them and all objects.
struct pivot_table {
  double alpha = 0;
  float diameter = 0;                // M: an estimate of the greatest distance between two objects
  std::vector<std::int64_t> pivots;  // ascending
  std::vector<float> distances;      // [pivots][objects]

  std::int64_t count() const { return static_cast<std::int64_t>(pivots.size()); }
  bool operator==(const pivot_table&) const = default;
};

// The number of clusters of n objects.
constexpr std::int64_t clusters_of(std::int64_t n, std::int64_t cluster_size) {
  return (n + cluster_size) / (cluster_size + 1);
}

// Throws std::invalid_argument, naming the defect, unless this can be an index of n objects.
void validate(const cluster_list&, std::int64_t n);
void validate(const pivot_table&, std::int64_t n);

void write_index(const cluster_list&, sections& out);
void write_index(const pivot_table&, sections& out);
cluster_list read_cluster_list(const sections& from);
pivot_table read_pivot_table(const sections& from);

constexpr auto names_of(index_kind) {
  return std::to_array<named<index_kind>>({{index_kind::none, "none"},
                                           {index_kind::list_of_clusters, "list_of_clusters"},
                                           {index_kind::sss, "sss"}});
}

}  // namespace kselect::search::metric_space
