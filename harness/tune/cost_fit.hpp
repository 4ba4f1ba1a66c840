#pragma once
// Learns a cost table from measured times.
//
// For each member, a least-squares fit of relative errors gives nonnegative costs of its cost_terms
// (NNLS: Lawson & Hanson 1974, ch. 23). Kriging with a compact kernel then interpolates the
// remaining logarithms of its times between the measured problems (Rasmussen & Williams 2006, ch.
// 2). Cross-validation sets the kernel's reach and the share of noise (eq. 5.10-5.12).
// reach, and how much of what remains is taken for noise, is what predicts left-out points best.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "algorithms/auto_select/cost_table.hpp"
#include "harness/tune/tuning_data.hpp"

namespace kselect::harness::tune {

// Owns the arrays that a cost_table points into.
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

// A cost_table over `from`, valid until `from` ends or moves. Tests need no compiled-in table.
class table_view {
 public:
  explicit table_view(const learned_table& from);
  const cost_table& operator*() const { return view_; }
  const cost_table* operator->() const { return &view_; }

 private:
  std::vector<std::string_view> members_;
  cost_table view_;
};

// A member with times of fewer problems is left out of the table.
inline constexpr std::size_t fewest_times = 6;

// How far corrections reach along each axis, and the variance of noise as a share of the variance
// of the residuals. With 0 the corrections pass through the times; with more they are smoothed.
struct smoothing {
  cost_point reach{};
  double noise = 1e-2;
};

// Chooses the smoothing by cross-validation: predict each time from the others, and score the
// regret of the choices first, the prediction error second. Searches one axis at a time.
smoothing best_smoothing(const tuning_data& data);

// Throws error(failure::input) if no member has enough times, or more have than a table holds.
learned_table learn(const tuning_data& data, const smoothing& how);

// Minimises |A x - b| over x >= 0. `a` holds A as rows of `columns` numbers.
std::vector<double> nonnegative_least_squares(std::span<const double> a, std::size_t columns,
                                              std::span<const double> b);

}  // namespace kselect::harness::tune
