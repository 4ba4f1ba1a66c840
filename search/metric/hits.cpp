#include "search/metric/hits.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/copy_by_threads.hpp"

namespace kselect::search::metric_space {
namespace {

// Few hits take one thread less time than a team needs to begin. A larger team than that of the
// copies would have to be started again for every batch (runtime/copy_by_threads.hpp).
int team_for(std::int64_t hits, int threads) {
  constexpr std::int64_t worthwhile = 1 << 15;
  return hits < worthwhile ? 1 : runtime::moving_threads(threads);
}

// A team shares the hits in parts, and each part has a counter for every query. If there are
// several parts, a counter stands for at least four hits.
std::int64_t parts_of(std::int64_t hits, std::int64_t queries, int team) {
  return std::clamp<std::int64_t>(hits / std::max<std::int64_t>(4 * queries, 1), 1, team);
}

// Where each part's next hit of each query goes.
class places {
 public:
  places(std::span<const std::uint32_t> owners, std::int64_t queries, int team)
      : owners_(owners),
        queries_(queries),
        team_(team),
        parts_(parts_of(static_cast<std::int64_t>(owners.size()), queries, team)),
        next_(static_cast<std::size_t>(parts_ * queries), 0) {
    each([&](std::int64_t& next, std::size_t) { ++next; });
  }

  // Turns numbers of hits into places, of which the first is 0. starts[q + 1]: where query q ends.
  void begin(std::span<std::int64_t> starts) {
    std::int64_t sum = 0;
    for (std::int64_t q = 0; q < queries_; ++q) {
      for (std::int64_t p = 0; p < parts_; ++p) {
        sum += std::exchange(next_[static_cast<std::size_t>(p * queries_ + q)], sum);
      }
      starts[static_cast<std::size_t>(q + 1)] = starts[0] + sum;
    }
  }

  // Calls f(counter of its query in its part, h) for each hit.
  template <class F>
  void each(const F& f) {
    const std::size_t all = owners_.size(), parts = static_cast<std::size_t>(parts_);
#pragma omp parallel for num_threads(team_) schedule(static, 1) if (team_ > 1)
    for (std::size_t p = 0; p < parts; ++p) {
      std::int64_t* const own = next_.data() + static_cast<std::int64_t>(p) * queries_;
      for (std::size_t h = all * p / parts; h < all * (p + 1) / parts; ++h) f(own[owners_[h]], h);
    }
  }

 private:
  std::span<const std::uint32_t> owners_;
  std::int64_t queries_;
  int team_;
  std::int64_t parts_;
  std::vector<std::int64_t> next_;  // [parts][queries]
};

}  // namespace

void append_hits(range_answer& answer, std::int64_t count, const unordered_hits& hits,
                 int threads) {
  const std::size_t before = answer.objects.size(), first = answer.starts.size() - 1;
  answer.starts.resize(first + static_cast<std::size_t>(count) + 1);
  const std::span<std::int64_t> starts = std::span(answer.starts).subspan(first);
  const int team = team_for(static_cast<std::int64_t>(hits.entries.size()), threads);
  places to(hits.queries, count, team);
  to.begin(starts);
  raw_vector<entry> ordered(hits.entries.size());
  to.each([&](std::int64_t& next, std::size_t h) {
    ordered[static_cast<std::size_t>(next++)] = hits.entries[h];
  });
  answer.objects.resize(before + ordered.size());
  answer.distances.resize(before + ordered.size());
#pragma omp parallel for num_threads(team) schedule(dynamic, 16) if (team > 1)
  for (std::int64_t q = 0; q < count; ++q) {
    const auto begin = static_cast<std::size_t>(starts[static_cast<std::size_t>(q)]);
    const auto end = static_cast<std::size_t>(starts[static_cast<std::size_t>(q) + 1]);
    std::sort(ordered.begin() + static_cast<std::ptrdiff_t>(begin - before),
              ordered.begin() + static_cast<std::ptrdiff_t>(end - before));
    for (std::size_t h = begin; h < end; ++h) {
      answer.objects[h] = object_of(ordered[h - before]);
      answer.distances[h] = distance_of(ordered[h - before]);
    }
  }
}

}  // namespace kselect::search::metric_space
