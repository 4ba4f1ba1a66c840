#include "search/metric/stand_ins.hpp"

#include <cmath>
#include <span>

#include "harness/workload/rows.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

std::vector<float> generate(const stand_in& what, std::int64_t count, std::uint64_t seed,
                            int threads) {
  workload p;
  p.n = what.dimension;
  p.q = count;
  p.k = 1;
  p.distribution.kind = distribution_kind::normal;
  p.seed = seed;
  std::vector<float> data(static_cast<std::size_t>(p.input_elements()));
  generate_rows(p, std::as_writable_bytes(std::span(data)), threads);
  const double ratio = (what.intrinsic_dimension - 1) / (what.intrinsic_dimension + 1);
  std::vector<float> deviations;
  double variance = 1;
  for (std::int64_t j = 0; j < what.dimension; ++j, variance *= ratio) {
    deviations.push_back(static_cast<float>(std::sqrt(variance)));
  }
  for (std::size_t at = 0; at < data.size(); ++at) data[at] *= deviations[at % deviations.size()];
  return data;
}

}  // namespace kselect::search::metric_space
