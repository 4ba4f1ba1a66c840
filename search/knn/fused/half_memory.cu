#include <array>
#include <numeric>

#include "search/knn/fused/certain.cuh"
#include "search/knn/fused/half.cuh"
#include "search/knn/fused/search_memory.hpp"

namespace kselect::search::fused {

void half_memory::begin(backend& place, const prepared_corpus& corpus,
                        global<std::uint32_t> unproven) const {
  start<half_start_kernel>(
      place, blocks_for(padded, half_start_kernel::max_threads),
      {corpus.vectors(), corpus.count(), padded, corpus.facts(),
       sum_error(corpus.dimension(), corpus.factors(), 2), view<corpus_facts>(facts),
       view<float>(given.starts), view<double>(given.offsets), view<std::uint32_t>(counts),
       unproven, buckets()});
}

// In the order of positions within a bucket, so that the places follow from the limits alone.
void half_memory::give_places(backend& place) {
  const auto count = static_cast<std::size_t>(places.size() / sizeof(std::uint32_t));
  limits_of_all.resize(count);
  place.to_host(std::as_writable_bytes(std::span(limits_of_all)), given.limits.data());
  std::array<std::uint32_t, 2> extremes{};
  place.to_host(std::as_writable_bytes(std::span(extremes)), range.data());
  std::vector<std::uint32_t> next(limit_buckets::count + 1), bucket(count);
  for (std::size_t i = 0; i < count; ++i) {
    bucket[i] = static_cast<std::uint32_t>(
        limit_buckets::bucket_of(limits_of_all[i], extremes[0], extremes[1]));
    ++next[bucket[i] + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::uint32_t& b : bucket) b = next[b]++;
  place.to_device(places.data(), std::as_bytes(std::span(bucket)));
}

void half_memory::order(backend& place, const prepared_corpus& corpus) {
  const std::int64_t count = corpus.count();
  const auto of = [](const sides& s, const rounded& vectors) {
    return pair_sides{vectors, view<float>(s.starts), view<float>(s.limits),
                      view<double>(s.offsets)};
  };
  start<half_limit_kernel>(
      place, blocks_for(padded, half_limit_kernel::max_threads),
      {view<const float>(given.starts), view<float>(given.limits), padded, count, buckets()});
  start<count_limits_kernel>(place, blocks_for(count, count_limits_kernel::max_threads),
                             {view<const float>(given.limits), count, buckets()});
  start<place_buckets_kernel>(place, 1, {buckets()});
  const bool shared = places.size() != 0;
  if (shared) give_places(place);
  start<order_by_limits_kernel>(
      place, blocks_for(padded, order_by_limits_kernel::warps),
      {of(given, corpus.vectors()),
       of(ordered, vectors()),
       {view<std::int32_t>(ids), view<float>(bounds)},
       corpus.order(),
       padded,
       count,
       slabs,
       buckets(),
       shared ? view<const std::uint32_t>(places) : global<const std::uint32_t>{}});
}

std::span<const float> fused_search::limits_of_pairs() const {
  return memory_->half->limits_of_all;
}

void fused_search::count_certain(const answers& from, global<std::int32_t> counts) {
  start<count_certain_kernel>(
      place_, blocks_for(counts.size, count_certain_kernel::max_threads),
      {view<const double>(memory_->certain), from.exact, counts.size, from.k, counts});
}

}  // namespace kselect::search::fused
