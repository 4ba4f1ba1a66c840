#include "search/task/float64_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "search/sampled_queries.hpp"

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
      images_(images_of(base.data.data(), base.count, base.dimension, of, threads)),
      checked_(sampled_queries(queries.count, most)) {}

std::string float64_check::disprove(const neighbours& answer) const {
  std::vector<std::string> wrong(checked_.size());
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::size_t i = 0; i < checked_.size(); ++i) wrong[i] = disprove(answer, checked_[i]);
  const auto first = std::ranges::find_if(wrong, [](const std::string& w) { return !w.empty(); });
  return first == wrong.end() ? std::string() : *first;
}

// One query's answer, neighbour by neighbour, and then the vectors that it leaves out.
class float64_check::one_query {
 public:
  one_query(const float64_check& check, std::int64_t query)
      : check_(check),
        query_(query),
        x_(check.queries_.data.data() + query * check.base_.dimension),
        of_x_(image_of(x_, check.base_.dimension, check.metric_)),
        chosen_(static_cast<std::size_t>(check.base_.count)) {}

  // What is wrong with the j-th neighbour; empty if nothing is.
  std::string next(std::int64_t j, std::int64_t index, double given) {
    if (index < 0 || index >= check_.base_.count || (check_.graph_ && index == query_)) {
      return fmt::format("neighbour {} is vector {}", j, index);
    }
    if (chosen_[static_cast<std::size_t>(index)]) {
      return fmt::format("vector {} is named twice", index);
    }
    chosen_[static_cast<std::size_t>(index)] = true;
    const double mine = ranked(index);
    if (!check_.exact_) allowed_ = std::max(allowed_, slack(index, mine));
    if (mine < last_ - allowed_ || (check_.exact_ && mine == last_ && index < last_index_)) {
      return fmt::format("neighbour {} is before its place", j);
    }
    const double distance = distance_of(mine, check_.metric_);
    const double rounding = products() ? slack(index, mine) : 0;
    if (!(std::abs(given - distance) <=
          distance_tolerance * std::abs(distance) + rounding + 0x1p-126)) {
      return fmt::format("vector {} is at {:.9g}, not {:.9g}", index, distance, given);
    }
    last_ = std::max(last_, mine);
    last_index_ = index;
    return {};
  }

  // The vector that is nearer than the last of k neighbours, and was left out; empty if none is.
  std::string left_out(std::int64_t k) const {
    for (std::int64_t j = 0; j < check_.base_.count; ++j) {
      if (chosen_[static_cast<std::size_t>(j)] || (check_.graph_ && j == query_)) continue;
      const double other = ranked(j);
      const double near = check_.exact_ ? 0 : std::max(allowed_, slack(j, last_));
      if (other < last_ - near || (check_.exact_ && other == last_ && j < last_index_)) {
        return fmt::format("vector {} is nearer than neighbour {}", j, k - 1);
      }
    }
    return {};
  }

 private:
  bool products() const { return check_.metric_ == metric::inner_product; }
  double ranked(std::int64_t j) const {
    const std::int64_t d = check_.base_.dimension;
    return ranked_distance(check_.metric_, x_, of_x_, check_.base_.data.data() + j * d,
                           check_.images_[static_cast<std::size_t>(j)], d);
  }
  // What rounding may change of a ranked distance: relative to it, but to |x| |y| of products.
  double slack(std::int64_t j, double value) const {
    const double norms = of_x_.square * check_.images_[static_cast<std::size_t>(j)].square;
    return static_cast<double>(check_.base_.dimension + 3) * 0x1p-51 *
           (products() ? std::sqrt(norms) : value);
  }

  const float64_check& check_;
  std::int64_t query_;
  const float* x_;
  image of_x_;
  std::vector<bool> chosen_;
  double last_ = -std::numeric_limits<double>::infinity(), allowed_ = 0;
  std::int64_t last_index_ = -1;
};

std::string float64_check::disprove(const neighbours& answer, std::int64_t query) const {
  one_query asked(*this, query);
  const auto first = static_cast<std::size_t>(query * answer.k);
  std::string wrong;
  for (std::int64_t j = 0; j < answer.k && wrong.empty(); ++j) {
    const auto at = first + static_cast<std::size_t>(j);
    wrong = asked.next(j, answer.indices[at], answer.distances[at]);
  }
  if (wrong.empty()) wrong = asked.left_out(answer.k);
  if (wrong.empty()) return {};
  return fmt::format("query {}: {}, by float64 distances", query, wrong);
}

}  // namespace kselect::search
