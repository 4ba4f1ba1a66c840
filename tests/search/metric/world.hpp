#pragma once
// A space with objects, queries and indexes, for tests.

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/backend/host_backend.hpp"
#include "search/metric/sets.hpp"
#include "search/metric/space.hpp"
#include "tests/search/metric/objects.hpp"

namespace kselect::search::metric_space {

inline std::unique_ptr<backend> fibers_in_order(simt::schedule order, std::uint64_t seed) {
  simt::fiber_options fiber;
  fiber.order = order;
  fiber.seed = seed;
  return open_host_backend(executor_kind::fiber, 2, fiber);
}

struct world {
  const space& in;
  std::unique_ptr<object_set> objects, queries;

  static world of(std::string_view metric, std::int64_t count, std::int64_t queries) {
    if (metric == "euclidean") return make<euclidean>(count, queries);
    if (metric == "levenshtein_table") return make<levenshtein_table>(count, queries);
    return make<levenshtein>(count, queries);
  }
  template <class M>
  static world make(std::int64_t count, std::int64_t queries) {
    return make<M>(test_objects<M>(count, 1), queries);
  }
  template <class M>
  static world make(typename M::set objects, std::int64_t queries) {
    world w{find_space(M::name), std::make_unique<set_holder<M>>(std::move(objects)),
            std::make_unique<set_holder<M>>(test_objects<M>(queries, 2))};
    w.in.adapt(*w.queries, *w.objects);
    return w;
  }

  index_data build(index_kind kind, backend& place, std::int64_t cluster_size = 8) const {
    index_data index{.kind = kind, .clusters = {}, .pivots = {}};
    if (kind == index_kind::list_of_clusters) {
      index.clusters = in.build_clusters(*objects, cluster_size, place);
      validate(index.clusters, objects->count());
    }
    if (kind == index_kind::sss) {
      index.pivots = in.build_pivots(*objects, {.alpha = 0.45}, place);
      validate(index.pivots, objects->count());
    }
    return index;
  }

  // A radius within which object 0 has about half of the others.
  float middle_radius() const {
    std::vector<float> row(static_cast<std::size_t>(objects->count()));
    in.distances(*objects, *objects, 0, row);
    std::ranges::sort(row);
    return std::max(row[row.size() / 2], 0.5F);
  }
  index_data build_within(float radius, backend& place) const {
    index_data index{.kind = index_kind::list_of_clusters, .clusters = {}, .pivots = {}};
    index.clusters = in.build_clusters_within(*objects, radius, place);
    validate(index.clusters, objects->count());
    return index;
  }
};

}  // namespace kselect::search::metric_space
