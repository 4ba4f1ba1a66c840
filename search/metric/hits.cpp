#include "search/metric/hits.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace kselect::search::metric_space {
namespace {

// Threads share the hits in as many parts, and each has a counter for every query. If there are
// several parts, a counter stands for at least four hits.
std::int64_t parts_of(std::int64_t hits, std::int64_t queries, int threads) {
  constexpr std::int64_t worthwhile = 1 << 14;  // hits of a part
  const std::int64_t each = std::max(worthwhile, 4 * queries);
  return std::clamp<std::int64_t>(hits / each, 1, threads);
}

// Where each part's next hit of each query goes.
class places {
 public:
  places(std::span<const std::uint32_t> owners, std::int64_t queries, int threads)
      : owners_(owners),
        queries_(queries),
        parts_(parts_of(static_cast<std::int64_t>(owners.size()), queries, threads)),
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
    const auto threads = static_cast<int>(parts_);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (std::size_t p = 0; p < parts; ++p) {
      std::int64_t* const own = next_.data() + static_cast<std::int64_t>(p) * queries_;
      for (std::size_t h = all * p / parts; h < all * (p + 1) / parts; ++h) f(own[owners_[h]], h);
    }
  }

 private:
  std::span<const std::uint32_t> owners_;
  std::int64_t queries_, parts_;
  std::vector<std::int64_t> next_;  // [parts][queries]
};

}  // namespace

void append_hits(range_answer& answer, std::int64_t count, const unordered_hits& hits,
                 int threads) {
  const std::size_t before = answer.objects.size(), first = answer.starts.size() - 1;
  answer.starts.resize(first + static_cast<std::size_t>(count) + 1);
  const std::span<std::int64_t> starts = std::span(answer.starts).subspan(first);
  places to(hits.queries, count, threads);
  to.begin(starts);
  raw_vector<entry> ordered(hits.entries.size());
  to.each([&](std::int64_t& next, std::size_t h) {
    ordered[static_cast<std::size_t>(next++)] = hits.entries[h];
  });
  answer.objects.resize(before + ordered.size());
  answer.distances.resize(before + ordered.size());
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
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
