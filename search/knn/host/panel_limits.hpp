#pragma once
// The comparison of products with the queries' thresholds.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "search/knn/host/packed.hpp"
#include "search/knn/host/prepared_corpus.hpp"
#include "search/knn/host/products.hpp"

namespace kselect::search {

// The largest w |y|^2 / 2 - x.y, in T and in scaled units, at which y may still be below a query's
// threshold. w is the weight of squares: 0 for the inner product, else 1.
template <class T>
class panel_limits {
 public:
  panel_limits(double scale, double weight, std::int64_t queries)
      : unit_(scale * scale),
        weight_(weight),
        limits_(static_cast<std::size_t>(in_groups(queries))) {}

  // For vectors whose squares are at most `largest`.
  void set(double largest, const product_error& error, std::span<const double> thresholds,
           const double* norms, const double* of_queries) {
    const double longest = std::sqrt(largest);
    // Of T, whose halves and differences are rounded, and of the limit itself.
    const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::size_t q = 0; q < thresholds.size(); ++q) {
      const double exact = thresholds[q] - weight_ * of_queries[q] + error.of(norms[q], longest) +
                           2 * rounding * (weight_ * largest + norms[q] * longest);
      const double limit = exact * unit_ / 2;
      limits_[q] = static_cast<T>(limit + std::abs(limit) * 4 * rounding);
    }
  }

  // Columns from `count` on are beyond any limit but an infinite one.
  void begin_panel(const double* squares, std::int64_t count) {
    std::fill(halves_ + count, halves_ + panel_columns<T>, std::numeric_limits<T>::infinity());
    const double half = weight_ * unit_ / 2;
    for (std::int64_t j = 0; j < count; ++j) halves_[j] = static_cast<T>(squares[j] * half);
  }

  // Calls accept(j) for each column that is not beyond the query's limit.
  template <class Accept>
  void pass(std::int64_t query, const T* products, Accept&& accept) const {
    std::uint32_t columns =
        columns_at_most(halves_, products, limits_[static_cast<std::size_t>(query)]);
    for (; columns != 0; columns &= columns - 1) accept(std::countr_zero(columns));
  }

 private:
  double unit_, weight_;
  T halves_[panel_columns<T>] = {};
  std::vector<T> limits_;
};

}  // namespace kselect::search
