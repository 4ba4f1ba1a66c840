#include "search/metric/index_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kselect::search::metric_space {

nlohmann::ordered_json index_json(const indexed_objects& x) {
  nlohmann::ordered_json index = {
      {"kind", to_string(x.index.kind)},    {"metric", x.in->metric_name()},
      {"objects", x.objects->count()},      {"source", x.source},
      {"source_hash", x.in->source_hash()}, {"hash", fmt::format("{:016x}", x.objects->hash())}};
  if (x.index.kind == index_kind::list_of_clusters) {
    const cluster_list& list = x.index.clusters;
    if (list.has_fixed_size()) {
      index["cluster_size"] = list.cluster_size;
    } else {
      index["cluster_radius"] = list.covering_radius;
    }
    index["clusters"] = list.clusters();
  }
  if (x.index.kind == index_kind::sss) {
    index["alpha"] = x.index.pivots.alpha;
    index["pivots"] = x.index.pivots.count();
    if (x.index.pivots.most != 0) index["most_pivots"] = x.index.pivots.most;
    index["diameter"] = x.index.pivots.diameter;
  }
  return index;
}

}  // namespace kselect::search::metric_space
