#pragma once
// One interface for all metrics: a space's objects, their indexes, and searches on a backend. The
// metrics are in search/metric/metrics/.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kselect/names.hpp"
#include "kselect/simt/counters.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/job_watch.hpp"
#include "search/metric/answer_memory.hpp"
#include "search/metric/cpu/heap.hpp"
#include "search/metric/index.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

// Objects of one space, in host memory.
class object_set {
 public:
  virtual ~object_set() = default;
  virtual std::int64_t count() const = 0;
  virtual std::unique_ptr<object_set> gather(std::span<const std::int64_t> numbers) const = 0;
  // Writes a file that space::load reads. Throws failure::output.
  virtual void save(const std::string& file) const = 0;
  // Object i as readable text; empty if it is a row of numbers.
  virtual std::string text(std::int64_t i) const = 0;
  virtual void write(sections& out) const = 0;
  // Hash of the sections that write() appends.
  std::uint64_t hash() const;
};

// An index with its parameters. `none`: exhaustive search.
struct index_data {
  index_kind kind = index_kind::none;
  cluster_list clusters;
  pivot_table pivots;
};

// How the radius of a k-NN search on a GPU changes. On the host it always decreases.
enum class radius_rule : std::uint8_t { increasing, decreasing };
// What the threads of a GPU take turns at with an SSS-Index: the objects or the pivots, a query a
// block, as in the thesis; or the objects for a group of queries, ours (for k as walk_rule::groups;
// else it is by elements).
enum class distribution_rule : std::uint8_t { elements, pivots, groups };

// What the threads of a GPU take turns at with a List of Clusters: all members, as in the thesis,
// the clusters that are not ruled out, or those that a group of queries needs, once for the group.
// Of k-NN, groups are for k up to 256 and what fits into shared memory; else it is by clusters. A
// decreasing radius always goes through the members.
enum class walk_rule : std::uint8_t { members, clusters, groups };

struct search_options {
  radius_rule radius = radius_rule::increasing;
  distribution_rule distribution = distribution_rule::elements;
  walk_rule walk = walk_rule::members;
  std::int64_t batch = 0;            // queries of one launch; 0: all
  int block_threads = 256;           // of a GPU's block: 32 to 1024, a multiple of 32
  std::int64_t hits_room = 1 << 20;  // room for hits of the first range search; grows as needed
  job_watch* watch = nullptr;        // hears of queries; a search that it ends throws its error
};

// k-NN by increasing radius: the radius of the first turn, and the increase with each turn.
struct radius_plan {
  float first = 0, step = 0;
};

struct search_report {
  double seconds = 0;  // from queries in host memory to answers in host memory
  // Parts of it on fibers and GPUs: copies of the queries, kernels by the backend's own clock, and
  // from the last kernel of a batch to its answers in host memory.
  double upload_seconds = 0, kernel_seconds = 0, answer_seconds = 0;
  std::int64_t batches = 0;
  std::int64_t launches = 0;               // of kernels
  std::int64_t pending = 0;                // queries that needed the second launch
  std::optional<work> done;                // on the host and on fibers; a GPU does not count
  std::optional<simt::counters> counters;  // on fibers: all counters
};

// [Q][k], nearest first, equal distances by ascending number.
struct knn_answer {
  std::int64_t k = 0;
  answer_vector<std::int64_t> objects;
  answer_vector<float> distances;
  bool operator==(const knn_answer&) const = default;
};
// Hits of query q: starts[q] to starts[q + 1] - 1, in the same order.
struct range_answer {
  std::vector<std::int64_t> starts;  // [Q + 1]
  answer_vector<std::int64_t> objects;
  answer_vector<float> distances;
  bool operator==(const range_answer&) const = default;
};

// Searches one set of objects through one index in one place. Keeps references to all three.
class searcher {
 public:
  virtual ~searcher() = default;
  // Both throw failure::usage if k is outside 1 .. objects or the radius is negative or NaN,
  // failure::unsupported if the place cannot do it, and failure::resources. Only an increasing
  // radius uses `plan`.
  virtual knn_answer knn(const object_set& queries, std::int64_t k, const radius_plan& plan,
                         search_report& report) = 0;
  virtual range_answer range(const object_set& queries, float radius, search_report& report) = 0;
};

class space {
 public:
  virtual ~space() = default;
  virtual std::string_view metric_name() const = 0;
  virtual std::string_view objects_name() const = 0;  // "vectors"
  // Hash of the sources of this space: its metric, the indexes and the searches.
  virtual std::string_view source_hash() const = 0;

  virtual std::unique_ptr<object_set> load(const std::string& file) const = 0;
  // Throws std::invalid_argument that names the defect.
  virtual std::unique_ptr<object_set> read(const sections& from) const = 0;
  // Makes queries comparable with the objects; throws failure::usage if that is impossible.
  virtual void adapt(object_set& queries, const object_set& objects) const = 0;

  // Every backend builds the same index. `watch` hears of the objects that are indexed; a build
  // that it ends throws its error.
  virtual cluster_list build_clusters(const object_set& objects, std::int64_t cluster_size,
                                      backend& place, job_watch* watch = nullptr) const = 0;
  // Throws failure::usage for a radius that leaves every object alone or puts all in one cluster.
  virtual cluster_list build_clusters_within(const object_set& objects, float radius,
                                             backend& place, job_watch* watch = nullptr) const = 0;
  // Throws failure::usage if the rule selects too many pivots, or fewer than it is to take.
  virtual pivot_table build_pivots(const object_set& objects, pivot_rule rule, backend& place,
                                   job_watch* watch = nullptr) const = 0;

  virtual std::unique_ptr<searcher> open(const object_set& objects, const index_data& index,
                                         backend& place, const search_options& options) const = 0;
  // Writes the distances of all objects to query q, for proofs.
  virtual void distances(const object_set& objects, const object_set& queries, std::int64_t q,
                         std::span<float> out) const = 0;
};

// All spaces. For an unknown name find_space throws failure::usage that lists them.
std::span<const space* const> spaces();
const space& find_space(std::string_view metric_name);

// Plans the radius of an increasing search for k objects. Every hundredth object, at least 32, is a
// training query; the distance of its k-th nearest other object is a sample. The first radius is
// the samples' 60th percentile, so that two in five queries need a second turn, the share that
// Barrientos 2011, Sec. 3.2.1 reports. The step leads to the 95th percentile. If k is not less than
// the number of objects, the radius is infinite.
radius_plan train_radius(const space& in, const object_set& objects, const index_data& index,
                         std::int64_t k, int threads);

// The radius within which the median training object has `share` of the objects (a selectivity such
// as 0.1 %), at least one beside itself. 0 < share <= 1.
float radius_of_share(const space& in, const object_set& objects, const index_data& index,
                      double share, int threads);

// Intrinsic dimension rho = mu^2 / (2 sigma^2) of the distances between objects (Chavez et al.
// 2001), from `pairs` random pairs of different objects.
struct distance_histogram {
  double mean = 0, variance = 0, greatest = 0;
  double intrinsic_dimension() const { return variance == 0 ? 0 : mean * mean / (2 * variance); }
};
distance_histogram sample_distances(const space& in, const object_set& objects, std::int64_t pairs,
                                    std::uint64_t seed);

constexpr auto names_of(radius_rule) {
  return std::to_array<named<radius_rule>>(
      {{radius_rule::increasing, "increasing"}, {radius_rule::decreasing, "decreasing"}});
}
constexpr auto names_of(walk_rule) {
  return std::to_array<named<walk_rule>>({{walk_rule::members, "members"},
                                          {walk_rule::clusters, "clusters"},
                                          {walk_rule::groups, "groups"}});
}
constexpr auto names_of(distribution_rule) {
  return std::to_array<named<distribution_rule>>({{distribution_rule::elements, "elements"},
                                                  {distribution_rule::pivots, "pivots"},
                                                  {distribution_rule::groups, "groups"}});
}

}  // namespace kselect::search::metric_space
