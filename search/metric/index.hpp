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

// List of Clusters. A cluster is a centre and objects near it among those in no earlier cluster. So
// an object is in the first cluster whose ball contains it. There are two forms:
//
//   fixed size    the `cluster_size` nearest objects; all clusters but the last are full
//   fixed radius  all objects at most `covering_radius` away, often none
struct cluster_list {
  std::int64_t cluster_size = 0;      // 0: the radius is fixed
  float covering_radius = 0;          // 0 if the size is fixed
  std::vector<std::int64_t> centres;  // [clusters]
  // [clusters]: greatest distance of a member, 0 if there is none; or the covering radius.
  std::vector<float> radii;
  std::vector<std::int64_t> members;  // cluster after cluster, each by distance, then number
  std::vector<std::int64_t> starts;   // [clusters + 1] in `members`; empty if the size is fixed

  std::int64_t clusters() const { return static_cast<std::int64_t>(centres.size()); }
  bool has_fixed_size() const { return cluster_size != 0; }
  // The place of a cluster's first member in `members`. `cluster` may be clusters().
  std::int64_t start_of(std::int64_t cluster) const;
  std::span<const std::int64_t> of(std::int64_t cluster) const;
  bool operator==(const cluster_list&) const = default;
};

// How the pivots of an SSS-Index are chosen.
struct pivot_rule {
  double alpha = 0;
  float diameter = 0;     // M; 0: estimated (search/metric/cpu/build.hpp)
  std::int64_t most = 0;  // takes this many of the selected pivots, in order; 0: all
};

// SSS-Index: pivots, and the distances between them and all objects.
struct pivot_table {
  double alpha = 0;
  float diameter = 0;                // M: an estimate of the greatest distance between two objects
  std::int64_t most = 0;             // as in pivot_rule
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
