#include "search/metric/prove.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <omp.h>

#include "harness/verify/certificate.hpp"
#include "runtime/format.hpp"
#include "search/metric/watched_queries.hpp"

namespace kselect::search::metric_space {
namespace {

// Calls wrong(q, row) with each query's distances to all objects. Returns the finding of the first
// wrong query; empty if there is none.
template <class F>
std::string first_wrong(const space& in, const object_set& objects, const object_set& queries,
                        int threads, job_watch* watch, const F& wrong) {
  std::vector<std::vector<float>> rows(static_cast<std::size_t>(threads));
  for (auto& row : rows) row.resize(static_cast<std::size_t>(objects.count()));
  std::vector<std::string> findings(static_cast<std::size_t>(threads));
  std::vector<std::int64_t> where(findings.size(), std::numeric_limits<std::int64_t>::max());
  watched_queries watched(watch);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::int64_t q = 0; q < queries.count(); ++q) {
    if (watched.stopping()) continue;
    const auto self = static_cast<std::size_t>(omp_get_thread_num());
    in.distances(objects, queries, q, rows[self]);
    const std::string finding = wrong(q, rows[self]);
    watched.finished_one();
    if (finding.empty() || q > where[self]) continue;
    where[self] = q;
    findings[self] = fmt::format("query {}: {}", q, finding);
  }
  watched.end(queries.count());
  const auto first = std::ranges::min_element(where);
  return findings[static_cast<std::size_t>(first - where.begin())];
}

std::string wrong_neighbours(const knn_answer& answer, std::int64_t q,
                             const std::vector<float>& row) {
  problem p;
  p.n = static_cast<std::int64_t>(row.size());
  p.q = 1;
  p.k = answer.k;
  p.index = index_type::int64;
  contract promised;
  promised.ordering = output_ordering::stable_sorted;
  promised.tie_break = tie_break::prefer_smaller_index;
  // The const_casts are safe: the certificate only reads.
  io buffers;
  buffers.input = row.data();
  buffers.values = const_cast<float*>(answer.distances.data() + q * answer.k);
  buffers.indices = const_cast<std::int64_t*>(answer.objects.data() + q * answer.k);
  const verdict checked = verify(p, promised, buffers, 1);
  if (checked) return {};
  return fmt::format("neighbour {}: {}", checked.first->position, checked.first->detail);
}

// Compares the hits with those of an exhaustive search, one by one.
std::string wrong_hits(const range_answer& answer, float radius, std::int64_t q,
                       const std::vector<float>& row) {
  std::vector<entry> expected;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] <= radius) expected.push_back(make_entry(row[i], static_cast<std::int64_t>(i)));
  }
  std::ranges::sort(expected);
  const std::int64_t first = answer.starts[static_cast<std::size_t>(q)];
  const std::int64_t count = answer.starts[static_cast<std::size_t>(q) + 1] - first;
  if (count != static_cast<std::int64_t>(expected.size())) {
    return fmt::format("{}, of {} within {}", runtime::amount_of(count, "hit"),
                       runtime::amount_of(expected.size(), "object"), radius);
  }
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const auto at = static_cast<std::size_t>(first) + j;
    if (make_entry(answer.distances[at], answer.objects[at]) == expected[j]) continue;
    return fmt::format("hit {} is object {} at {}, but must be object {} at {}", j,
                       answer.objects[at], answer.distances[at], object_of(expected[j]),
                       distance_of(expected[j]));
  }
  return {};
}

}  // namespace

knn_answer part_of(const knn_answer& answer, std::span<const std::int64_t> queries) {
  knn_answer part{.k = answer.k, .objects = {}, .distances = {}};
  for (const std::int64_t q : queries) {
    const auto first = static_cast<std::ptrdiff_t>(q * answer.k);
    const auto last = static_cast<std::ptrdiff_t>((q + 1) * answer.k);
    part.objects.insert(part.objects.end(), answer.objects.begin() + first,
                        answer.objects.begin() + last);
    part.distances.insert(part.distances.end(), answer.distances.begin() + first,
                          answer.distances.begin() + last);
  }
  return part;
}

range_answer part_of(const range_answer& answer, std::span<const std::int64_t> queries) {
  range_answer part;
  part.starts = {0};
  for (const std::int64_t q : queries) {
    for (std::int64_t at = answer.starts[static_cast<std::size_t>(q)];
         at < answer.starts[static_cast<std::size_t>(q) + 1]; ++at) {
      part.objects.push_back(answer.objects[static_cast<std::size_t>(at)]);
      part.distances.push_back(answer.distances[static_cast<std::size_t>(at)]);
    }
    part.starts.push_back(static_cast<std::int64_t>(part.objects.size()));
  }
  return part;
}

std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     const knn_answer& answer, int threads, job_watch* watch) {
  const auto size = static_cast<std::size_t>(queries.count() * answer.k);
  if (answer.objects.size() != size || answer.distances.size() != size) {
    return "the answer has not k neighbours a query";
  }
  return first_wrong(in, objects, queries, threads, watch,
                     [&](std::int64_t q, const std::vector<float>& row) {
                       return wrong_neighbours(answer, q, row);
                     });
}

std::string disprove(const space& in, const object_set& objects, const object_set& queries,
                     float radius, const range_answer& answer, int threads, job_watch* watch) {
  if (static_cast<std::int64_t>(answer.starts.size()) != queries.count() + 1 ||
      answer.objects.size() != answer.distances.size() ||
      answer.starts.back() != static_cast<std::int64_t>(answer.objects.size())) {
    return "the answer's parts do not fit together";
  }
  return first_wrong(in, objects, queries, threads, watch,
                     [&](std::int64_t q, const std::vector<float>& row) {
                       return wrong_hits(answer, radius, q, row);
                     });
}

}  // namespace kselect::search::metric_space
