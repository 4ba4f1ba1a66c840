#include "search/task/float64_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace kselect::search {
namespace {

// A float32 distance against its float64 value: one rounding, and what a GPU's sum may lose.
constexpr double distance_tolerance = 0x1p-21;

}  // namespace

float64_check::float64_check(const vector_set& base, const vector_set& queries, metric of,
                             bool graph, bool exact, std::int64_t most, int threads)
    : base_(base),
      queries_(queries),
      metric_(of),
      graph_(graph),
      exact_(exact),
      threads_(threads),
      images_(images_of(base.data.data(), base.count, base.dimension, of, threads)) {
  const std::int64_t count = std::min(most, queries.count);
  for (std::int64_t i = 0; i < count; ++i) {
    checked_.push_back(count == 1 ? 0 : i * (queries.count - 1) / (count - 1));
  }
}

std::string float64_check::disprove(const neighbours& answer) const {
  std::vector<std::string> wrong(checked_.size());
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::size_t i = 0; i < checked_.size(); ++i) wrong[i] = disprove(answer, checked_[i]);
  const auto first = std::ranges::find_if(wrong, [](const std::string& w) { return !w.empty(); });
  return first == wrong.end() ? std::string() : *first;
}

std::string float64_check::disprove(const neighbours& answer, std::int64_t query) const {
  const std::int64_t d = base_.dimension;
  const float* const x = queries_.data.data() + query * d;
  const image of_x = image_of(x, d, metric_);
  const auto ranked = [&](std::int64_t j) {
    return ranked_distance(metric_, x, of_x, base_.data.data() + j * d,
                           images_[static_cast<std::size_t>(j)], d);
  };
  const bool products = metric_ == metric::inner_product;
  // What rounding may change of a ranked distance: relative to it, but to |x| |y| of products.
  const auto slack = [&](std::int64_t j, double value) {
    const double norms = of_x.square * images_[static_cast<std::size_t>(j)].square;
    return static_cast<double>(d + 3) * 0x1p-51 * (products ? std::sqrt(norms) : value);
  };
  const auto fail = [&](const std::string& what) {
    return fmt::format("query {}: {}, by float64 distances", query, what);
  };
  const auto at = static_cast<std::size_t>(query * answer.k);
  std::vector<bool> chosen(static_cast<std::size_t>(base_.count));
  double last = -std::numeric_limits<double>::infinity(), allowed = 0;
  std::int64_t last_index = -1;
  for (std::int64_t j = 0; j < answer.k; ++j) {
    const std::int64_t index = answer.indices[at + static_cast<std::size_t>(j)];
    if (index < 0 || index >= base_.count || (graph_ && index == query)) {
      return fail(fmt::format("neighbour {} is vector {}", j, index));
    }
    if (chosen[static_cast<std::size_t>(index)]) {
      return fail(fmt::format("vector {} is named twice", index));
    }
    chosen[static_cast<std::size_t>(index)] = true;
    const double mine = ranked(index);
    if (!exact_) allowed = std::max(allowed, slack(index, mine));
    if (mine < last - allowed || (exact_ && mine == last && index < last_index)) {
      return fail(fmt::format("neighbour {} is before its place", j));
    }
    const double distance = distance_of(mine, metric_);
    const double given = answer.distances[at + static_cast<std::size_t>(j)];
    const double rounding = products ? slack(index, mine) : 0;
    if (!(std::abs(given - distance) <=
          distance_tolerance * std::abs(distance) + rounding + 0x1p-126)) {
      return fail(fmt::format("vector {} is at {:.9g}, not {:.9g}", index, distance, given));
    }
    last = std::max(last, mine);
    last_index = index;
  }
  for (std::int64_t j = 0; j < base_.count; ++j) {
    if (chosen[static_cast<std::size_t>(j)] || (graph_ && j == query)) continue;
    const double other = ranked(j);
    const double near = exact_ ? 0 : std::max(allowed, slack(j, last));
    if (other < last - near || (exact_ && other == last && j < last_index)) {
      return fail(fmt::format("vector {} is nearer than neighbour {}", j, answer.k - 1));
    }
  }
  return {};
}

}  // namespace kselect::search
