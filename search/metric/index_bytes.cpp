#include "search/metric/index_bytes.hpp"

#include <algorithm>

namespace kselect::search::metric_space {
namespace {

constexpr std::int64_t number_bytes = sizeof(std::uint32_t), distance_bytes = sizeof(float);

std::int64_t bytes_of_clusters(const index_extent& x) {
  const std::int64_t starts = x.has_starts ? (x.parts + 1) * number_bytes : 0;
  return x.objects * (x.object_bytes + number_bytes) + x.parts * distance_bytes + starts;
}

std::int64_t bytes_of_pivots(const index_extent& x) {
  const std::int64_t bytes =
      (x.objects + x.parts) * x.object_bytes + x.parts * x.objects * distance_bytes;
  if (x.distribution != distribution_rule::groups) return bytes;
  return bytes + (x.objects + x.parts + 1) * number_bytes;
}

}  // namespace

std::int64_t index_bytes(const index_extent& of) {
  switch (of.kind) {
    case index_kind::list_of_clusters:
      return bytes_of_clusters(of);
    case index_kind::sss:
      return bytes_of_pivots(of);
    default:
      return of.objects * of.object_bytes;
  }
}

std::int64_t distances_kept(std::int64_t queries, std::int64_t centres) {
  constexpr std::int64_t most = 1 << 26;  // 256 MiB
  const std::int64_t all = queries * centres;
  return all <= most ? all : 0;
}

std::int64_t bins_of_centre(index_kind kind, std::int64_t centres) {
  constexpr std::int64_t most = 2048;  // of all centres: a few queries a bin
  return kind == index_kind::sss ? std::max<std::int64_t>(1, most / centres) : 1;
}

std::int64_t group_bytes(index_kind kind, std::int64_t queries, std::int64_t centres) {
  // Radius; bin, rank, place. And how many queries a bin has.
  const std::int64_t of_a_query = distance_bytes + 3 * number_bytes;
  return distances_kept(queries, centres) * distance_bytes + queries * of_a_query +
         centres * bins_of_centre(kind, centres) * number_bytes;
}

}  // namespace kselect::search::metric_space
