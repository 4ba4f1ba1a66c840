#pragma once
// Learns a cost table from times.
//
// For each member: costs of its cost_terms by least squares of relative errors, none negative
// (Lawson & Hanson 1974, ch. 23, the problem NNLS); then what remains of the logarithms of its
// times is interpolated between the problems measured by kriging with a compact kernel (Rasmussen &
// Williams 2006, ch. 2, and eq. 5.10-5.12 for predictions of points left out). How far points
// reach, and how much of what remains is taken for noise, is what predicts left-out points best.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "algorithms/auto_select/cost_table.hpp"
#include "harness/tune/tuning_data.hpp"

namespace kselect::harness::tune {

// Owns what a cost_table looks at.
struct learned_table {
  tuned_device device;
  std::string source;
  nlohmann::ordered_json sources;
  std::vector<std::string> members;
  std::vector<double> costs;  // as in cost_table
  std::vector<cost_point> points;
  cost_point reach{};
  std::vector<double> corrections;
};

// Valid as long as the table is, unmoved. Times of tests need no compiled-in table.
class table_view {
 public:
  explicit table_view(const learned_table& from);
  const cost_table& operator*() const { return view_; }
  const cost_table* operator->() const { return &view_; }

 private:
  std::vector<std::string_view> members_;
  cost_table view_;
};

// A member needs times of that many problems to be learned; others are left out.
inline constexpr std::size_t fewest_times = 6;

// What decides how far corrections reach, and whether they pass through the times (0) or are
// smoothed: the variance of noise as a share of that of the residuals.
struct smoothing {
  cost_point reach{};
  double noise = 1e-2;
};

// By which choices among left-out times cost least and their predictions are nearest, of those that
// a search along each axis in turn comes by.
smoothing best_smoothing(const tuning_data& data);

// Throws error(failure::input) if no member has enough times.
learned_table learn(const tuning_data& data, const smoothing& how);

// min |A x - b| over x >= 0. A: rows of `columns` numbers.
std::vector<double> nonnegative_least_squares(std::span<const double> a, std::size_t columns,
                                              std::span<const double> b);

}  // namespace kselect::harness::tune
