#pragma once
// Searches in native host code, each query by one thread (search/metric/cpu/search.hpp).

#include <omp.h>

#include "search/metric/cpu/search.hpp"
#include "search/metric/sets.hpp"
#include "search/metric/space.hpp"
#include "search/metric/watched_queries.hpp"
#include "search/seconds.hpp"

namespace kselect::search::metric_space {

// Search: exhaustive_search, cluster_search or pivot_search of M.
template <metric M, class Search>
class host_searcher final : public searcher {
 public:
  host_searcher(Search search, std::int64_t objects, int threads, job_watch* watch)
      : search_(std::move(search)), objects_(objects), threads_(threads), watch_(watch) {}

  knn_answer knn(const object_set& queries, std::int64_t k, const radius_plan&,
                 search_report& report) override {
    require_k(k, objects_);
    const typename M::set& set = set_of<M>(queries);
    knn_answer answer{.k = k,
                      .objects = answer_vector<std::int64_t>(size_of(set.count() * k)),
                      .distances = answer_vector<float>(size_of(set.count() * k))};
    each_query(set, report, [&](std::int64_t q, const typename M::probe& ready, scratch& own) {
      nearest_heap heap(k);
      const work done = search_.knn(ready, own, heap);
      std::size_t at = size_of(q * k);
      for (const entry e : heap.sort()) {
        answer.objects[at] = object_of(e);
        answer.distances[at++] = distance_of(e);
      }
      return done;
    });
    return answer;
  }

  range_answer range(const object_set& queries, float radius, search_report& report) override {
    require_radius(radius);
    const typename M::set& set = set_of<M>(queries);
    std::vector<std::vector<entry>> hits(size_of(set.count()));
    each_query(set, report, [&](std::int64_t q, const typename M::probe& ready, scratch& own) {
      std::vector<entry>& mine = hits[size_of(q)];
      const work done = search_.range(ready, radius, own, mine);
      std::ranges::sort(mine);
      return done;
    });
    return collected(hits);
  }

 private:
  static std::size_t size_of(std::int64_t x) { return static_cast<std::size_t>(x); }

  template <class F>
  void each_query(const typename M::set& set, search_report& report, const F& answer_one) {
    const seconds_since start;
    std::vector<scratch> scratches(static_cast<std::size_t>(threads_));
    std::vector<work> done(static_cast<std::size_t>(threads_));
    watched_queries watched(watch_);
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::int64_t q = 0; q < set.count(); ++q) {
      if (watched.stopping()) continue;
      const auto self = static_cast<std::size_t>(omp_get_thread_num());
      done[self] += answer_one(q, M::prepare(set, q), scratches[self]);
      watched.finished_one();
    }
    watched.end(set.count());
    report.done = std::accumulate(done.begin(), done.end(), work{},
                                  [](work sum, const work& part) { return sum += part; });
    report.batches = 1;
    report.seconds = start.get();
  }

  Search search_;
  std::int64_t objects_;
  int threads_;
  job_watch* watch_;
};

}  // namespace kselect::search::metric_space
