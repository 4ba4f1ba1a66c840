#include "search/metric/stand_ins.hpp"

#include <cmath>
#include <span>

#include "harness/workload/rows.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {
namespace {

std::vector<float> rows(const distribution& of, std::int64_t count, std::int64_t dimension,
                        std::uint64_t seed, int threads) {
  workload p;
  p.n = dimension;
  p.q = count;
  p.k = 1;
  p.distribution = of;
  p.seed = seed;
  std::vector<float> data(static_cast<std::size_t>(p.input_elements()));
  generate_rows(p, std::as_writable_bytes(std::span(data)), threads);
  return data;
}

}  // namespace

std::vector<float> generate(const stand_in& what, std::int64_t count, std::uint64_t seed,
                            int threads) {
  const std::int64_t dimension = what.dimension;
  std::vector<float> data = rows({distribution_kind::decaying, what.intrinsic_dimension}, count,
                                 dimension, seed, threads);
  const auto outliers_before = [&](std::int64_t i) {
    return static_cast<std::int64_t>(static_cast<double>(i) * what.outliers);
  };
  const std::vector<float> directions =
      rows({distribution_kind::normal}, outliers_before(count), dimension, ~seed, threads);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = outliers_before(i);
    if (outliers_before(i + 1) == at) continue;
    const auto direction =
        std::span(directions)
            .subspan(static_cast<std::size_t>(at * dimension), static_cast<std::size_t>(dimension));
    double squares = 0;
    for (const float x : direction) squares += static_cast<double>(x) * static_cast<double>(x);
    const double scale = what.outlier_norm / std::sqrt(squares);
    for (std::int64_t c = 0; c < dimension; ++c) {
      data[static_cast<std::size_t>(i * dimension + c)] =
          static_cast<float>(static_cast<double>(direction[static_cast<std::size_t>(c)]) * scale);
    }
  }
  return data;
}

}  // namespace kselect::search::metric_space
