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

// The check of one query: its answer first, then what the answer leaves out.
class float64_check::one_query {
 public:
  one_query(const float64_check& of, const neighbours& answer, std::int64_t query)
      : of_(of),
        answer_(answer),
        query_(query),
        x_(of.queries_.data.data() + query * of.base_.dimension),
        image_(image_of(x_, of.base_.dimension, of.metric_)),
        chosen_(static_cast<std::size_t>(of.base_.count)) {}

  // Both in this order. Empty, or the defect.
  std::string wrong_answer() {
    for (std::int64_t j = 0; j < answer_.k; ++j) {
      if (std::string defect = wrong_neighbour(j); !defect.empty()) return named(defect);
    }
    return {};
  }
  std::string nearer_vector() const {
    for (std::int64_t j = 0; j < of_.base_.count; ++j) {
      if (chosen_[static_cast<std::size_t>(j)] || is_own(j)) continue;
      const double other = ranked(j);
      const double near = of_.exact_ ? 0 : std::max(allowed_, slack(j, last_));
      if (other < last_ - near || (of_.exact_ && other == last_ && j < last_index_)) {
        return named(fmt::format("vector {} is nearer than neighbour {}", j, answer_.k - 1));
      }
    }
    return {};
  }

 private:
  std::string wrong_neighbour(std::int64_t j) {
    const auto at = static_cast<std::size_t>(query_ * answer_.k + j);
    const std::int64_t index = answer_.indices[at];
    if (index < 0 || index >= of_.base_.count || is_own(index)) {
      return fmt::format("neighbour {} is vector {}", j, index);
    }
    if (chosen_[static_cast<std::size_t>(index)]) {
      return fmt::format("vector {} is named twice", index);
    }
    chosen_[static_cast<std::size_t>(index)] = true;
    const double mine = ranked(index);
    if (!of_.exact_) allowed_ = std::max(allowed_, slack(index, mine));
    if (mine < last_ - allowed_ || (of_.exact_ && mine == last_ && index < last_index_)) {
      return fmt::format("neighbour {} is before its place", j);
    }
    last_ = std::max(last_, mine);
    last_index_ = index;
    return wrong_distance(index, mine, answer_.distances[at]);
  }
  std::string wrong_distance(std::int64_t index, double mine, double given) const {
    const double distance = distance_of(mine, of_.metric_);
    const double rounding = of_products() ? slack(index, mine) : 0;
    const double tolerance = distance_tolerance * std::abs(distance) + rounding + 0x1p-126;
    if (std::abs(given - distance) <= tolerance) return {};
    return fmt::format("vector {} is at {:.9g}, not {:.9g}", index, distance, given);
  }

  bool of_products() const { return of_.metric_ == metric::inner_product; }
  bool is_own(std::int64_t vector) const { return of_.graph_ && vector == query_; }
  double ranked(std::int64_t j) const {
    const std::int64_t d = of_.base_.dimension;
    return ranked_distance(of_.metric_, x_, image_, of_.base_.data.data() + j * d,
                           of_.images_[static_cast<std::size_t>(j)], d);
  }
  // What rounding may change of a ranked distance: relative to it, but to |x| |y| of products.
  double slack(std::int64_t j, double value) const {
    const double norms = image_.square * of_.images_[static_cast<std::size_t>(j)].square;
    return static_cast<double>(of_.base_.dimension + 3) * 0x1p-51 *
           (of_products() ? std::sqrt(norms) : value);
  }
  std::string named(const std::string& defect) const {
    return fmt::format("query {}: {}, by float64 distances", query_, defect);
  }

  const float64_check& of_;
  const neighbours& answer_;
  const std::int64_t query_;
  const float* const x_;
  const image image_;
  std::vector<bool> chosen_;
  double last_ = -std::numeric_limits<double>::infinity(), allowed_ = 0;
  std::int64_t last_index_ = -1;
};

std::string float64_check::disprove(const neighbours& answer, std::int64_t query) const {
  one_query check(*this, answer, query);
  std::string defect = check.wrong_answer();
  return defect.empty() ? check.nearer_vector() : defect;
}

}  // namespace kselect::search
