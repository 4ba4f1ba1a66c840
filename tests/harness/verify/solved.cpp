#include "solved.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace kselect::harness::testing_answers {

std::vector<std::int64_t> sample::ranking(std::int64_t row) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(what.n));
  std::iota(columns.begin(), columns.end(), 0);
  std::stable_sort(columns.begin(), columns.end(), [&](std::int64_t a, std::int64_t b) {
    return selection_key(element(row, a), what.direction) <
           selection_key(element(row, b), what.direction);
  });
  return columns;
}

sample solved(const shape& of, payload asked) {
  sample made;
  made.what.n = of.n;
  made.what.q = of.q;
  made.what.k = of.k;
  made.what.layout = of.layout;
  made.what.pitch = of.pitch;
  made.what.payload = asked;
  made.what.index = index_type::int64;
  made.promises.ordering = output_ordering::stable_sorted;
  made.promises.tie_break = tie_break::prefer_smaller_index;
  made.input.resize(static_cast<std::size_t>(made.what.input_elements()));
  std::mt19937 random(11);
  // Some keys of a row are equal, so that there are ties at the cut and elsewhere.
  std::uniform_int_distribution<std::int64_t> key(0, 20 * of.n);
  for (float& element : made.input) element = static_cast<float>(key(random) / 20);
  made.values.resize(static_cast<std::size_t>(of.q * made.what.outputs_per_row()));
  made.indices.resize(static_cast<std::size_t>(of.q * of.k));
  for (std::int64_t row = 0; row < of.q; ++row) {
    const auto ranking = made.ranking(row);
    if (asked == payload::kth_value) {
      made.choose(row, 0, ranking[static_cast<std::size_t>(of.k - 1)]);
      continue;
    }
    for (std::int64_t j = 0; j < of.k; ++j) {
      made.choose(row, j, ranking[static_cast<std::size_t>(j)]);
    }
  }
  return made;
}

}  // namespace kselect::harness::testing_answers
