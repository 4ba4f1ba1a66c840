#pragma once
// The space of one metric: implements search/metric/space.hpp for the metric's struct.

#include "search/metric/cpu/build.hpp"
#include "search/metric/device_build_within.hpp"
#include "search/metric/device_searcher.hpp"
#include "search/metric/host_searcher.hpp"
#include "search/metric/sets.hpp"

namespace kselect::search::metric_space {

// Checks that do not depend on the metric. All throw failure::usage or failure::unsupported.
void require_buildable(std::int64_t objects, std::int64_t cluster_size);
void require_buildable(std::int64_t objects, float covering_radius);
void require_buildable(std::int64_t objects, const pivot_rule& rule);
// A radius that leaves every object alone, or none out, makes an index that spares no distance.
void require_useful(const cluster_list& list, std::int64_t objects);
void require_options(const search_options& options, index_kind kind, bool native);

template <metric M>
class space_of final : public space {
 public:
  explicit space_of(std::string_view source_hash) : source_hash_(source_hash) {}

  std::string_view source_hash() const override { return source_hash_; }
  std::string_view metric_name() const override { return M::name; }
  std::string_view objects_name() const override { return M::objects; }

  std::unique_ptr<object_set> load(const std::string& file) const override {
    return std::make_unique<set_holder<M>>(M::load(file));
  }
  std::unique_ptr<object_set> read(const sections& from) const override {
    return std::make_unique<set_holder<M>>(M::read(from));
  }
  void adapt(object_set& queries, const object_set& objects) const override {
    auto* const own = dynamic_cast<set_holder<M>*>(&queries);
    if (own == nullptr) wrong_space(M::name);
    M::adapt(own->get(), set_of<M>(objects));
  }

  cluster_list build_clusters(const object_set& objects, std::int64_t cluster_size, backend& place,
                              job_watch* watch) const override {
    require_buildable(objects.count(), cluster_size);
    const typename M::set& set = set_of<M>(objects);
    if (is_native(place)) {
      return metric_space::build_clusters<M>(set, cluster_size, place.description().threads, watch);
    }
    return cluster_builder<M>(place, set, cluster_size).build(watch);
  }

  cluster_list build_clusters_within(const object_set& objects, float radius, backend& place,
                                     job_watch* watch) const override {
    require_buildable(objects.count(), radius);
    const typename M::set& set = set_of<M>(objects);
    cluster_list list = is_native(place) ? metric_space::build_clusters_within<M>(
                                               set, radius, place.description().threads, watch)
                                         : build_clusters_within_on<M>(place, set, radius, watch);
    require_useful(list, set.count());
    return list;
  }

  pivot_table build_pivots(const object_set& objects, pivot_rule rule, backend& place,
                           job_watch* watch) const override {
    require_buildable(objects.count(), rule);
    const typename M::set& set = set_of<M>(objects);
    const int threads = place.description().threads;
    if (rule.diameter == 0) rule.diameter = estimate_diameter<M>(set, threads);
    if (is_native(place)) return metric_space::build_pivots<M>(set, rule, threads, watch);
    return build_pivots_on<M>(place, set, rule, watch);
  }

  std::unique_ptr<searcher> open(const object_set& objects, const index_data& index, backend& place,
                                 const search_options& options) const override {
    const typename M::set& set = set_of<M>(objects);
    require_options(options, index.kind, is_native(place));
    if (!is_native(place)) {
      return std::make_unique<device_searcher<M>>(set, index, place, options);
    }
    const auto native = [&]<class Search>(Search search) -> std::unique_ptr<searcher> {
      return std::make_unique<host_searcher<M, Search>>(std::move(search), set.count(),
                                                        place.description().threads, options.watch);
    };
    switch (index.kind) {
      case index_kind::list_of_clusters:
        return native(cluster_search<M>(set, index.clusters));
      case index_kind::sss:
        return native(pivot_search<M>(set, index.pivots));
      default:
        return native(exhaustive_search<M>(set));
    }
  }

  void distances(const object_set& objects, const object_set& queries, std::int64_t q,
                 std::span<float> out) const override {
    const typename M::set& set = set_of<M>(objects);
    const auto ready = M::prepare(set_of<M>(queries), q);
    for (std::int64_t i = 0; i < set.count(); ++i) {
      out[static_cast<std::size_t>(i)] = M::distance(set, i, ready);
    }
  }

 private:
  static bool is_native(const backend& place) {
    return place.description().kind == executor_kind::cpu;
  }

  std::string_view source_hash_;
};

}  // namespace kselect::search::metric_space
