#include "search/metric/space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <xxhash.h>

#include "kselect/simt/device_size.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "search/metric/cpu/build.hpp"
#include "search/metric/device_groups.hpp"
#include "search/metric/device_memory.hpp"
#include "search/metric/sets.hpp"
#include "search/metric/space_of.hpp"

namespace kselect::search::metric_space {

std::uint64_t object_set::hash() const {
  sections parts;
  write(parts);
  std::uint64_t hash = 0;
  for (const section& s : parts) hash = XXH3_64bits_withSeed(s.bytes.data(), s.bytes.size(), hash);
  return hash;
}

const space& find_space(std::string_view metric_name) {
  std::string known;
  for (const space* s : spaces()) {
    if (s->metric_name() == metric_name) return *s;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", s->metric_name());
  }
  throw error(failure::usage, fmt::format("unknown metric '{}'; there are {}", metric_name, known));
}

void wrong_space(std::string_view wanted) {
  throw error(failure::usage, fmt::format("the objects are not those of metric {}", wanted));
}

void require_k(std::int64_t k, std::int64_t objects) {
  if (k >= 1 && k <= objects) return;
  throw error(failure::usage,
              fmt::format("k = {} is not in 1 .. {}, the number of objects", k, objects));
}

void require_radius(float radius) {
  if (radius >= 0) return;
  throw error(failure::usage, fmt::format("radius {} is not a distance; give 0 or more", radius));
}

void require_few_pivots(std::int64_t pivots, double alpha) {
  if (pivots <= most_pivots) return;
  throw error(failure::usage,
              fmt::format("alpha = {} makes more than {} pivots; raise it", alpha, most_pivots));
}

void require_buildable(std::int64_t objects, std::int64_t cluster_size) {
  if (objects < 1 || objects > most_objects) {
    throw error(failure::usage,
                fmt::format("an index takes 1 to {} objects, not {}", most_objects, objects));
  }
  if (cluster_size < 1 || cluster_size > most_objects) {
    throw error(failure::usage,
                fmt::format("cluster size {} is not in 1 .. {}", cluster_size, most_objects));
  }
}

void require_buildable(std::int64_t objects, float covering_radius) {
  require_buildable(objects, std::int64_t{1});
  if (covering_radius > 0 && std::isfinite(covering_radius)) return;
  throw error(failure::usage,
              fmt::format("cluster radius {} is not a finite distance above 0", covering_radius));
}

void require_buildable(std::int64_t objects, const pivot_rule& rule) {
  require_buildable(objects, std::int64_t{1});
  if (!(rule.alpha > 0 && rule.alpha <= 1)) {
    throw error(failure::usage, fmt::format("alpha = {} is not in (0, 1]", rule.alpha));
  }
  if (rule.most < 0 || rule.most > most_pivots) {
    throw error(failure::usage,
                fmt::format("{} pivots: give 1 to {}, or 0 for all", rule.most, most_pivots));
  }
  if (rule.diameter >= 0 && std::isfinite(rule.diameter)) return;
  throw error(
      failure::usage,
      fmt::format("diameter {} is not a distance; give 0 to have it estimated", rule.diameter));
}

void require_useful(const cluster_list& list, std::int64_t objects) {
  // Two objects have no other lists.
  if (objects <= 2) return;
  if (list.clusters() == objects) {
    throw error(failure::usage, fmt::format("within {} of an object there is no other: each of the "
                                            "{} objects would be a cluster; raise the radius",
                                            list.covering_radius, objects));
  }
  if (list.clusters() == 1) {
    throw error(failure::usage,
                fmt::format("all {} objects are within {} of the first: one cluster "
                            "would hold them all; lower the radius",
                            objects, list.covering_radius));
  }
}

void require_as_many_pivots(std::int64_t pivots, const pivot_rule& rule) {
  if (pivots >= rule.most) return;
  throw error(failure::usage,
              fmt::format("alpha = {} selects {}, fewer than {}; lower it", rule.alpha,
                          runtime::amount_of(pivots, "pivot"), rule.most));
}

void require_options(const search_options& o, index_kind kind, bool native) {
  if (o.batch < 0) throw error(failure::usage, fmt::format("batch {} is negative", o.batch));
  if (o.block_threads < 32 || o.block_threads > 1024 || o.block_threads % 32 != 0) {
    throw error(failure::usage, fmt::format("{} threads a block: give a multiple of 32 up to 1024",
                                            o.block_threads));
  }
  if (native) return;
  if (o.radius == radius_rule::decreasing && kind == index_kind::sss) {
    throw error(failure::unsupported,
                "a decreasing radius is for the List of Clusters; an SSS-Index's increases");
  }
  if (o.distribution != distribution_rule::elements && kind != index_kind::sss) {
    throw error(failure::unsupported, "only an SSS-Index has pivots to distribute");
  }
}

range_answer collected(const std::vector<std::vector<entry>>& hits) {
  range_answer answer;
  answer.starts = {0};
  for (const std::vector<entry>& of_query : hits) {
    answer.starts.push_back(answer.starts.back() + static_cast<std::int64_t>(of_query.size()));
  }
  answer.objects.resize(static_cast<std::size_t>(answer.starts.back()));
  answer.distances.resize(answer.objects.size());
  std::size_t at = 0;
  for (const std::vector<entry>& of_query : hits) {
    for (const entry e : of_query) {
      answer.objects[at] = object_of(e);
      answer.distances[at++] = distance_of(e);
    }
  }
  return answer;
}

std::vector<std::uint32_t> narrowed(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

void require_ok(const status& result) {
  if (result.ok()) return;
  throw error(result.code == status_code::out_of_memory ? failure::resources : failure::unsupported,
              result.message);
}

void require_shared(const device& where, std::size_t bytes, const std::string& what_to_do) {
  if (bytes <= where.shared_bytes) return;
  throw error(failure::unsupported,
              fmt::format("a block would need {} bytes of shared memory and has {}; {}", bytes,
                          where.shared_bytes, what_to_do));
}

cluster_list arranged(float radius, std::vector<std::int64_t> centres,
                      const std::vector<int>& owner, const std::vector<float>& away) {
  std::vector<std::vector<entry>> members(centres.size());
  for (std::size_t i = 0; i < owner.size(); ++i) {
    const auto cluster = static_cast<std::size_t>(owner[i]);
    const auto object = static_cast<std::int64_t>(i);
    if (centres[cluster] != object) members[cluster].push_back(make_entry(away[i], object));
  }
  cluster_list list;
  list.covering_radius = radius;
  list.radii.assign(centres.size(), radius);
  list.centres = std::move(centres);
  list.starts = {0};
  for (std::vector<entry>& of_cluster : members) {
    std::ranges::sort(of_cluster);
    for (const entry e : of_cluster) list.members.push_back(object_of(e));
    list.starts.push_back(static_cast<std::int64_t>(list.members.size()));
  }
  return list;
}

std::int64_t resident_blocks(const device& where, int threads, std::int64_t pieces) {
  return std::clamp<std::int64_t>(pieces, 1, simt::resident_blocks(where, threads));
}

namespace {

// The training objects are every hundredth object, at least 32. Returns the distance of each to its
// k-th nearest other object, in ascending order. Needs k < objects.
std::vector<float> training_distances(const space& in, const object_set& objects,
                                      const index_data& index, std::int64_t k, int threads) {
  const std::int64_t n = objects.count();
  const std::int64_t wanted = std::clamp<std::int64_t>(n / 100, std::min<std::int64_t>(n, 32), n);
  std::vector<std::int64_t> numbers;
  for (std::int64_t t = 0; t < wanted; ++t) numbers.push_back(t * n / wanted);
  const auto training = objects.gather(numbers);
  const auto place = open_host_backend(executor_kind::cpu, threads);
  search_report ignored;
  // k + 1, because the nearest object is the training object itself.
  const knn_answer nearest =
      in.open(objects, index, *place, {})->knn(*training, k + 1, {}, ignored);
  std::vector<float> samples;
  for (std::int64_t t = 0; t < wanted; ++t) {
    samples.push_back(nearest.distances[static_cast<std::size_t>((t + 1) * (k + 1) - 1)]);
  }
  std::ranges::sort(samples);
  return samples;
}

}  // namespace

radius_plan train_radius(const space& in, const object_set& objects, const index_data& index,
                         std::int64_t k, int threads) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (k >= objects.count()) return {infinity, infinity};
  const std::vector<float> samples = training_distances(in, objects, index, k, threads);
  const auto percentile = [&](std::size_t p) { return samples[(samples.size() - 1) * p / 100]; };
  const float first = percentile(60);
  // The least step that changes the radius.
  const float least = std::max(first * 0x1p-10F, std::numeric_limits<float>::min());
  return {first, std::max(percentile(95) - first, least)};
}

float radius_of_share(const space& in, const object_set& objects, const index_data& index,
                      double share, int threads) {
  const std::int64_t n = objects.count();
  if (!(share > 0 && share <= 1)) {
    throw error(failure::usage, fmt::format("a share of {} is not in (0, 1]", share));
  }
  if (n < 2) throw error(failure::usage, "one object alone has no distances to others");
  const auto k = std::clamp<std::int64_t>(std::llround(share * static_cast<double>(n)), 1, n - 1);
  const std::vector<float> samples = training_distances(in, objects, index, k, threads);
  return samples[samples.size() / 2];
}

distance_histogram sample_distances(const space& in, const object_set& objects, std::int64_t pairs,
                                    std::uint64_t seed) {
  distance_histogram histogram;
  const std::int64_t n = objects.count();
  if (n < 2 || pairs < 1) return histogram;
  // Each prepared query is measured against a few partners, because preparing takes time.
  constexpr std::int64_t partners = 8;
  std::mt19937_64 random(seed);
  const auto draw = [&] {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  double sum = 0, squares = 0;
  std::int64_t count = 0;
  std::vector<float> distances(static_cast<std::size_t>(partners));
  while (count < pairs) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t p = 0; p < partners; ++p) numbers.push_back(draw());
    const std::int64_t own = draw();
    const auto sample = objects.gather(numbers);
    const auto query = objects.gather(std::span(&own, 1));
    in.distances(*sample, *query, 0, distances);
    for (std::size_t p = 0; p < distances.size() && count < pairs; ++p) {
      if (numbers[p] == own) continue;
      const double d = static_cast<double>(distances[p]);
      sum += d;
      squares += d * d;
      histogram.greatest = std::max(histogram.greatest, d);
      ++count;
    }
  }
  const auto total = static_cast<double>(count);
  histogram.mean = sum / total;
  histogram.variance = std::max(squares / total - histogram.mean * histogram.mean, 0.0);
  return histogram;
}

}  // namespace kselect::search::metric_space
