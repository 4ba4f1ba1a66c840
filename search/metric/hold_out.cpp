#include "search/metric/hold_out.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

split hold_out(std::int64_t count, double share, std::uint64_t seed) {
  const auto held =
      share > 0 && share < 1 ? std::llround(share * static_cast<double>(count)) : std::int64_t{0};
  if (held < 1 || held >= count) {
    throw error(failure::usage, fmt::format("cannot hold out a share of {} of {} and keep some",
                                            share, runtime::amount_of(count, "object")));
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  // A Fisher-Yates shuffle, because std::shuffle differs between standard libraries.
  std::mt19937_64 random(seed);
  for (std::size_t i = numbers.size() - 1; i > 0; --i) {
    std::swap(numbers[i], numbers[random() % (i + 1)]);
  }
  split parts;
  parts.held_out.assign(numbers.begin(), numbers.begin() + held);
  parts.kept.assign(numbers.begin() + held, numbers.end());
  std::ranges::sort(parts.held_out);
  std::ranges::sort(parts.kept);
  return parts;
}

}  // namespace kselect::search::metric_space
