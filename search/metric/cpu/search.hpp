#pragma once
// Sequential searches on the host, one query at a time. A GPU's speed-up is measured against them,
// so they are as fast as we could make them. Threads take different queries (host_searcher.hpp).
//
// A search stores its objects in the order in which it visits them. k-NN shrinks the radius with
// each object that it finds, which suits a sequential search best (Barrientos 2011, Sec. 3.2.1). It
// starts with the distances to centres or pivots, which it needs anyway.

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "search/metric/cpu/heap.hpp"
#include "search/metric/index.hpp"

namespace kselect::search::metric_space {

// Every search has
//   range(ready, radius, scratch, hits): appends every object at most `radius` away
//   knn(ready, scratch, heap): offers `heap` at least its k nearest
// and returns its work. Threads share a search; each thread has its own scratch.
struct scratch {
  std::vector<float> measured;  // distances to centres or pivots
};

template <metric M>
class exhaustive_search {
 public:
  using probe = typename M::probe;

  // Keeps a reference to the objects.
  explicit exhaustive_search(const typename M::set& objects) : objects_(objects) {}

  work range(const probe& ready, float radius, scratch&, std::vector<entry>& hits) const {
    for (std::int64_t i = 0; i < objects_.count(); ++i) {
      const float d = M::distance(objects_, i, ready);
      if (d <= radius) hits.push_back(make_entry(d, i));
    }
    return {.distances = objects_.count()};
  }
  work knn(const probe& ready, scratch&, nearest_heap& heap) const {
    for (std::int64_t i = 0; i < objects_.count(); ++i) {
      heap.offer(M::distance(objects_, i, ready), i);
    }
    return {.distances = objects_.count()};
  }

 private:
  const typename M::set& objects_;
};

// List of Clusters: Barrientos 2011, Alg. 4. range() is its search, with a loop for the recursion
// of line 14. knn() has the decreasing radius of Sec. 2.1.1.
template <metric M>
class cluster_search {
 public:
  using probe = typename M::probe;

  cluster_search(const typename M::set& objects, const cluster_list& list)
      : list_(list),
        centres_(objects.gather(list.centres)),
        members_(objects.gather(list.members)),
        slack_(M::tolerance_of(objects)) {}

  work range(const probe& ready, float radius, scratch&, std::vector<entry>& hits) const {
    work done;
    const auto hit = [&](float d, std::int64_t object) {
      if (d <= radius) hits.push_back(make_entry(d, object));
    };
    for (std::int64_t c = 0; c < list_.clusters(); ++c) {
      const float d = M::distance(centres_, c, ready);
      ++done.distances;
      hit(d, list_.centres[static_cast<std::size_t>(c)]);
      if (!separated(d, radius_of(c), radius, slack_)) visit(c, ready, hit, done);
      if (separated(radius_of(c), d, radius, slack_)) break;
    }
    done.pruned = spared(done);
    return done;
  }

  // Visits the centres first, then the cluster whose ball is nearest, which gives a small radius
  // early, then the other clusters in the order of the list.
  work knn(const probe& ready, scratch& own, nearest_heap& heap) const {
    work done;
    measure_centres(ready, own, heap, done);
    const auto offer = [&](float d, std::int64_t object) { heap.offer(d, object); };
    const auto look = [&](std::int64_t c) {
      const float d = own.measured[static_cast<std::size_t>(c)];
      if (!separated(d, radius_of(c), heap.radius(), slack_)) visit(c, ready, offer, done);
      return !separated(radius_of(c), d, heap.radius(), slack_);
    };
    const std::int64_t nearest = nearest_cluster(own);
    const bool beyond = look(nearest);
    const std::int64_t end = beyond ? list_.clusters() : nearest;
    for (std::int64_t c = 0; c < end; ++c) {
      if (c != nearest && !look(c)) break;
    }
    done.pruned = spared(done);
    return done;
  }

 private:
  float radius_of(std::int64_t c) const { return list_.radii[static_cast<std::size_t>(c)]; }

  void measure_centres(const probe& ready, scratch& own, nearest_heap& heap, work& done) const {
    own.measured.resize(list_.centres.size());
    for (std::size_t c = 0; c < list_.centres.size(); ++c) {
      own.measured[c] = M::distance(centres_, static_cast<std::int64_t>(c), ready);
      heap.offer(own.measured[c], list_.centres[c]);
    }
    done.distances += list_.clusters();
  }

  std::int64_t nearest_cluster(const scratch& own) const {
    std::int64_t nearest = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t c = 0; c < own.measured.size(); ++c) {
      const float gap = own.measured[c] - list_.radii[c];
      if (gap < least) {
        least = gap;
        nearest = static_cast<std::int64_t>(c);
      }
    }
    return nearest;
  }

  template <class F>
  void visit(std::int64_t c, const probe& ready, const F& f, work& done) const {
    const std::span<const std::int64_t> numbers = list_.of(c);
    std::int64_t at = list_.start_of(c);
    for (const std::int64_t object : numbers) f(M::distance(members_, at++, ready), object);
    ++done.clusters;
    done.distances += static_cast<std::int64_t>(numbers.size());
  }

  // Includes the centres of clusters that a range search never came to.
  std::int64_t spared(const work& done) const {
    return centres_.count() + members_.count() - done.distances;
  }

  const cluster_list& list_;
  typename M::set centres_, members_;
  tolerance slack_;
};

// SSS-Index: Barrientos 2011, Alg. 2. Objects are filtered a few hundred at a time, pivot by pivot.
// So the table's rows are read in order and compared by vector instructions.
template <metric M>
class pivot_search {
 public:
  using probe = typename M::probe;

  // Keeps references to both.
  pivot_search(const typename M::set& objects, const pivot_table& table)
      : objects_(objects),
        table_(table),
        pivots_(objects.gather(table.pivots)),
        slack_(M::tolerance_of(objects)) {}

  work range(const probe& ready, float radius, scratch& own, std::vector<entry>& hits) const {
    return filter(
        ready, own, [&] { return radius; },
        [&](float d, std::int64_t object) {
          if (d <= radius) hits.push_back(make_entry(d, object));
        });
  }
  work knn(const probe& ready, scratch& own, nearest_heap& heap) const {
    return filter(
        ready, own, [&] { return heap.radius(); },
        [&](float d, std::int64_t object) { heap.offer(d, object); });
  }

 private:
  static constexpr std::int64_t block = 256, ahead = 8;

  void prefetch(std::int64_t i) const {
    if constexpr (requires { M::prefetch(objects_, i); }) M::prefetch(objects_, i);
  }

  template <class Radius, class F>
  work filter(const probe& ready, scratch& own, const Radius& radius, const F& f) const {
    const std::int64_t n = objects_.count();
    own.measured.resize(table_.pivots.size());
    for (std::size_t p = 0; p < table_.pivots.size(); ++p) {
      own.measured[p] = M::distance(pivots_, static_cast<std::int64_t>(p), ready);
      f(own.measured[p], table_.pivots[p]);
    }
    work done{.distances = table_.count()};
    auto next_pivot = table_.pivots.begin();  // skipped: pivots have been measured
    std::int32_t out[block];
    std::int64_t left[block];
    for (std::int64_t first = 0; first < n; first += block) {
      const std::int64_t size = std::min(block, n - first);
      rule_out(own, first, size, radius(), out);
      while (next_pivot != table_.pivots.end() && *next_pivot < first + size) {
        out[*next_pivot++ - first] = 1;
      }
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < size; ++j) {
        left[count] = first + j;
        count += out[j] == 0 ? 1 : 0;
      }
      for (std::int64_t at = 0; at < count; ++at) {
        prefetch(left[std::min(at + ahead, count - 1)]);
        f(M::distance(objects_, left[at], ready), left[at]);
      }
      done.distances += count;
    }
    done.pruned = n - done.distances;
    return done;
  }

  void rule_out(const scratch& own, std::int64_t first, std::int64_t size, float radius,
                std::int32_t* out) const {
    std::fill_n(out, size, 0);
    if (radius == std::numeric_limits<float>::infinity()) return;
    const std::int64_t n = objects_.count();
    for (std::int64_t p = 0; p < table_.count(); ++p) {
      const float to_query = own.measured[static_cast<std::size_t>(p)];
      const float* const row = table_.distances.data() + p * n + first;
      for (std::int64_t j = 0; j < size; ++j) {
        out[j] |= static_cast<std::int32_t>(separated(to_query, row[j], radius, slack_)) |
                  static_cast<std::int32_t>(separated(row[j], to_query, radius, slack_));
      }
      const bool some_left = std::find(out, out + size, 0) != out + size;
      if (!some_left) return;
    }
  }

  const typename M::set& objects_;
  const pivot_table& table_;
  typename M::set pivots_;
  tolerance slack_;
};

}  // namespace kselect::search::metric_space
