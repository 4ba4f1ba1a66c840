#include "search/metric/answers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "runtime/copy_by_threads.hpp"

namespace kselect::search::metric_space {
namespace {

// Entries [first, end) of an answer by distance, then by object.
void sort_hits(range_answer& answer, std::size_t first, std::size_t end) {
  raw_vector<entry> all(end - first);
  for (std::size_t h = first; h < end; ++h) {
    all[h - first] = make_entry(answer.distances[h], answer.objects[h]);
  }
  std::ranges::sort(all);
  for (std::size_t h = first; h < end; ++h) {
    answer.objects[h] = object_of(all[h - first]);
    answer.distances[h] = distance_of(all[h - first]);
  }
}

}  // namespace

std::vector<std::int64_t> starts_of(std::span<const std::uint32_t> counts) {
  std::vector<std::int64_t> starts(counts.size() + 1, 0);
  std::inclusive_scan(counts.begin(), counts.end(), starts.begin() + 1, std::plus<>(),
                      std::int64_t{0});
  return starts;
}

void append_hits(const found_on_device& found, std::span<const std::int64_t> starts,
                 std::int64_t sorted, int threads, range_answer& answer) {
  const std::size_t before = answer.objects.size();
  const auto count = static_cast<std::size_t>(starts.back());
  answer.objects.resize(before + count);
  answer.distances.resize(before + count);
  found.objects.download(std::span(answer.objects).subspan(before));
  found.distances.download(std::span(answer.distances).subspan(before));
  const auto place = [&](std::size_t q) { return before + static_cast<std::size_t>(starts[q]); };
  std::vector<std::size_t> unsorted;
  for (std::size_t q = 0; q + 1 < starts.size(); ++q) {
    if (starts[q + 1] - starts[q] > sorted) unsorted.push_back(q);
    answer.starts.push_back(static_cast<std::int64_t>(place(q + 1)));
  }
  const int team = moving_threads(threads);
#pragma omp parallel for num_threads(team) schedule(dynamic, 1) if (unsorted.size() > 1)
  for (const std::size_t q : unsorted) sort_hits(answer, place(q), place(q + 1));
}

}  // namespace kselect::search::metric_space
