#include "harness/tune/cost_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::harness::tune {
namespace {

// The times of one member.
struct series {
  std::vector<problem> problems;
  std::vector<std::size_t> places;  // of the problems in tuning_data::problems
  std::vector<double> times;
};

series series_of(const tuning_data& data, std::size_t member) {
  series s;
  for (std::size_t i = 0; i < data.problems.size(); ++i) {
    const double time = data.problems[i].times[member];
    if (std::isnan(time)) continue;
    s.problems.push_back(data.problems[i].problem);
    s.places.push_back(i);
    s.times.push_back(time);
  }
  return s;
}

// The costs of a member, and the logarithms of measured over predicted times.
struct explained {
  std::vector<double> costs;
  std::vector<double> residuals;
};

explained explain_times(const series& s, int multiprocessors) {
  std::vector<double> relative;  // terms as shares of the time, for relative errors
  for (std::size_t i = 0; i < s.times.size(); ++i) {
    for (const double term : cost_terms(s.problems[i], multiprocessors)) {
      relative.push_back(term / s.times[i]);
    }
  }
  const std::vector<double> ones(s.times.size(), 1.0);
  explained e;
  e.costs = nonnegative_least_squares(relative, cost_term_count, ones);
  for (std::size_t i = 0; i < s.times.size(); ++i) {
    double predicted = 0;  // as a share of the measured time
    for (std::size_t j = 0; j < cost_term_count; ++j) {
      predicted += e.costs[j] * relative[i * cost_term_count + j];
    }
    e.residuals.push_back(-std::log(predicted));
  }
  return e;
}

// The Cholesky factor L of a positive definite matrix, lower, row by row.
class factored {
 public:
  factored(std::vector<double> matrix, std::size_t n) : n_(n), l_(std::move(matrix)) {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = at(i, j);
        for (std::size_t m = 0; m < j; ++m) sum -= at(i, m) * at(j, m);
        at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
      }
    }
  }

  std::vector<double> solve(std::vector<double> b) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < i; ++j) b[i] -= at(i, j) * b[j];
      b[i] /= at(i, i);
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t j = i + 1; j < n_; ++j) b[i] -= at(j, i) * b[j];
      b[i] /= at(i, i);
    }
    return b;
  }

  // The diagonal of the inverse of the matrix, from the columns of the inverse of L.
  std::vector<double> inverse_diagonal() const {
    std::vector<double> diagonal(n_), column(n_);
    for (std::size_t c = 0; c < n_; ++c) {
      double squares = 0;
      for (std::size_t i = c; i < n_; ++i) {
        double sum = i == c ? 1 : 0;
        for (std::size_t j = c; j < i; ++j) sum -= at(i, j) * column[j];
        column[i] = sum / at(i, i);
        squares += column[i] * column[i];
      }
      diagonal[c] = squares;
    }
    return diagonal;
  }

 private:
  double& at(std::size_t i, std::size_t j) { return l_[i * n_ + j]; }
  double at(std::size_t i, std::size_t j) const { return l_[i * n_ + j]; }
  std::size_t n_;
  std::vector<double> l_;
};

// The covariance of the residuals between a member's problems, as its factor.
factored covariance(const series& s, const smoothing& how) {
  const std::size_t n = s.problems.size();
  std::vector<cost_point> points;
  for (const problem& p : s.problems) points.push_back(cost_point_of(p));
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      matrix[i * n + j] = reaching(points[i], points[j], how.reach);
    }
    matrix[i * n + i] += how.noise;
  }
  return {std::move(matrix), n};
}

std::vector<std::size_t> members_to_learn(const tuning_data& data) {
  std::vector<std::size_t> learned;
  for (std::size_t m = 0; m < data.members.size(); ++m) {
    if (series_of(data, m).times.size() >= fewest_times) learned.push_back(m);
  }
  if (learned.empty()) {
    throw error(failure::input,
                fmt::format("no member of auto has times of {} problems or more: too few to learn "
                            "a cost table from",
                            fewest_times));
  }
  if (learned.size() > max_table_members) {
    throw error(failure::input, fmt::format("{} members have times, but a table has room for {}",
                                            learned.size(), max_table_members));
  }
  return learned;
}

// Cross-validates a smoothing: predicts each time from all others of its member.
class left_out {
 public:
  explicit left_out(const tuning_data& data) : data_(data) {
    for (const std::size_t m : members_to_learn(data)) {
      all_.push_back(series_of(data, m));
      explanations_.push_back(explain_times(all_.back(), data.device.multiprocessors));
    }
  }

  // The mean logarithm of the choices' regret, plus a little of the prediction error. The error
  // breaks ties: with few problems, many smoothings choose equally well.
  double loss(const smoothing& how) const {
    std::vector<choice_made> made(data_.problems.size());
    double squares = 0;
    double count = 0;
    for (std::size_t m = 0; m < all_.size(); ++m) {
      const factored matrix = covariance(all_[m], how);
      const auto weights = matrix.solve(explanations_[m].residuals);
      const auto diagonal = matrix.inverse_diagonal();
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double missed = weights[i] / diagonal[i];
        squares += missed * missed;
        ++count;
        made[all_[m].places[i]].consider(std::log(all_[m].times[i]), missed);
      }
    }
    double lost = 0;
    for (const choice_made& one : made) lost += one.taken - one.best;
    constexpr double little = 0.05;
    return lost / static_cast<double>(made.size()) + little * std::sqrt(squares / count);
  }

 private:
  // The choice for one problem, in logarithms of times.
  struct choice_made {
    double predicted = 0, taken = 0, best = 0;
    bool any = false;
    void consider(double time, double missed) {
      if (!any || time - missed < predicted) {
        predicted = time - missed;
        taken = time;
      }
      best = any ? std::min(best, time) : time;
      any = true;
    }
  };
  const tuning_data& data_;
  std::vector<series> all_;
  std::vector<explained> explanations_;
};

}  // namespace

table_view::table_view(const learned_table& from)
    : members_(from.members.begin(), from.members.end()) {
  view_.device = from.device.name;
  view_.source = from.source;
  view_.multiprocessors = from.device.multiprocessors;
  view_.compute_capability = from.device.compute_capability;
  view_.members = members_;
  view_.costs = from.costs;
  view_.points = from.points;
  view_.reach = from.reach;
  view_.corrections = from.corrections;
}

// Coordinate descent on the normal equations, with columns scaled to length one. It converges
// slowly, but there are only a dozen columns, and every step keeps x >= 0.
std::vector<double> nonnegative_least_squares(std::span<const double> a, std::size_t columns,
                                              std::span<const double> b) {
  std::vector<double> gram(columns * columns), target(columns), scale(columns), x(columns);
  for (std::size_t row = 0; row < b.size(); ++row) {
    const double* const at = a.data() + row * columns;
    for (std::size_t i = 0; i < columns; ++i) {
      target[i] += at[i] * b[row];
      for (std::size_t j = 0; j < columns; ++j) gram[i * columns + j] += at[i] * at[j];
    }
  }
  for (std::size_t i = 0; i < columns; ++i) scale[i] = std::sqrt(gram[i * columns + i]);
  for (std::size_t i = 0; i < columns; ++i) {
    if (scale[i] == 0) continue;
    target[i] /= scale[i];
    for (std::size_t j = 0; j < columns; ++j) {
      if (scale[j] != 0) gram[i * columns + j] /= scale[i] * scale[j];
    }
  }
  constexpr int most_turns = 20'000;
  double moved = 1;
  for (int turn = 0; turn < most_turns && moved > 1e-10; ++turn) {
    moved = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      if (scale[i] == 0) continue;
      double left = target[i];
      for (std::size_t j = 0; j < columns; ++j) left -= gram[i * columns + j] * x[j];
      const double now = std::max(0.0, x[i] + left);
      moved = std::max(moved, std::abs(now - x[i]));
      x[i] = now;
    }
  }
  for (std::size_t i = 0; i < columns; ++i) x[i] = scale[i] == 0 ? 0 : x[i] / scale[i];
  return x;
}

smoothing best_smoothing(const tuning_data& data) {
  const left_out judge(data);
  smoothing best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const smoothing& how) {
    const double loss = judge.loss(how);
    if (loss >= least) return;
    least = loss;
    best = how;
  };
  constexpr std::array reaches = {6.0, 8.0, 12.0, 16.0, 24.0};
  for (const double reach : reaches) consider({{reach, reach, reach, reach}});
  for (std::size_t axis = 0; axis < best.reach.size(); ++axis) {
    const smoothing start = best;
    for (const double reach : reaches) {
      smoothing how = start;
      how.reach[axis] = reach;
      consider(how);
    }
  }
  const smoothing start = best;
  for (const double noise : {1e-3, 1e-1}) consider({start.reach, noise});
  return best;
}

learned_table learn(const tuning_data& data, const smoothing& how) {
  const auto members = members_to_learn(data);
  learned_table table;
  table.device = data.device;
  table.source = data.source;
  table.sources = data.sources;
  table.reach = how.reach;
  for (const timed_problem& p : data.problems) table.points.push_back(cost_point_of(p.problem));
  table.corrections.resize(table.points.size() * members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const series s = series_of(data, members[m]);
    const explained e = explain_times(s, data.device.multiprocessors);
    table.members.push_back(data.members[members[m]]);
    table.costs.insert(table.costs.end(), e.costs.begin(), e.costs.end());
    const auto weights = covariance(s, how).solve(e.residuals);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      table.corrections[s.places[i] * members.size() + m] = weights[i];
    }
  }
  return table;
}

}  // namespace kselect::harness::tune
