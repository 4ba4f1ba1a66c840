#include "search/knn/host/prepared_corpus.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::search {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr float most_integer = 1 << 22;  // differences of two are exact in float32
// Vectors whose mean is the centre. Any centre is right; this one only has to be near the mean.
constexpr std::int64_t sampled_vectors = 4096;

bool finite(const float* x, std::int64_t dimension) {
  float zeros = 0;
#pragma omp simd reduction(+ : zeros)
  for (std::int64_t c = 0; c < dimension; ++c) zeros += x[c] * 0;
  return zeros == 0;  // else it is NaN
}

void require_finite(vector_view set, const std::string& name, int threads) {
  std::int64_t wrong = set.count;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : wrong)
  for (std::int64_t i = 0; i < set.count; ++i) {
    if (!finite(set.data + i * set.dimension, set.dimension)) wrong = std::min(wrong, i);
  }
  if (wrong == set.count) return;
  throw error(failure::input,
              fmt::format("{}: vector {} has a component that is not finite", name, wrong));
}

bool integers(const float* x, std::int64_t dimension) {
  return std::all_of(x, x + dimension, [](float component) {
    // A larger one would not be converted.
    return std::abs(component) <= most_integer &&
           static_cast<float>(static_cast<std::int32_t>(component)) == component;
  });
}

bool integers(vector_view set) {
  for (std::int64_t i = 0; i < set.count; ++i) {
    if (!integers(set.data + i * set.dimension, set.dimension)) return false;
  }
  return true;
}

double square_about(std::span<const double> centre, const float* x, const image& of_x) {
  double square = of_x.scale == 0 ? 1 : 0;
#pragma omp simd reduction(+ : square)
  for (std::size_t c = 0; c < centre.size(); ++c) {
    const double moved = (x[c] - of_x.mean) * of_x.scale - centre[c];
    square += moved * moved;
  }
  return square;
}

}  // namespace

prepared_corpus::prepared_corpus(vector_view base, const std::string& name, runtime::metric m,
                                 int threads)
    : metric_(m) {
  base_ = measured(base, name, threads);
  find_centre(threads);
  set_squares(base_, threads);
}

// All but the squares, which need the centre.
moved_vectors prepared_corpus::measured(vector_view set, const std::string& name,
                                        int threads) const {
  require_finite(set, name, threads);
  moved_vectors found;
  found.vectors = set;
  found.images = images_of(set.data, set.count, set.dimension, metric_, threads);
  found.integers = !on_unit_sphere(metric_) && integers(set);
  return found;
}

void prepared_corpus::find_centre(int threads) {
  centre_.assign(index(dimension()), 0);
  const std::int64_t stride = std::max<std::int64_t>(1, count() / sampled_vectors);
  const std::int64_t samples = (count() + stride - 1) / stride;
  const int workers = static_cast<int>(std::clamp<std::int64_t>(dimension() / 16, 1, threads));
  // A thread has its own components, so the sums do not depend on the number of threads.
#pragma omp parallel for num_threads(workers) schedule(static)
  for (std::int64_t part = 0; part < workers; ++part) {
    const std::int64_t begin = part * dimension() / workers;
    const std::int64_t end = (part + 1) * dimension() / workers;
    for (std::int64_t i = 0; i < count(); i += stride) {
      const image& own = base_.images[index(i)];
      const float* const x = base_.vector(i);
      for (std::int64_t c = begin; c < end; ++c) centre_[index(c)] += (x[c] - own.mean) * own.scale;
    }
  }
  for (double& c : centre_) {
    c /= static_cast<double>(std::max<std::int64_t>(1, samples));
    if (base_.integers) c = std::round(c);
  }
}

void prepared_corpus::set_squares(moved_vectors& set, int threads) const {
  set.squares.resize(index(set.vectors.count));
  double largest = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : largest)
  for (std::int64_t i = 0; i < set.vectors.count; ++i) {
    const double square = square_about(centre_, set.vector(i), set.images[index(i)]);
    set.squares[index(i)] = square;
    largest = std::max(largest, square);
  }
  set.largest_square = largest;
}

moved_vectors prepared_corpus::move(vector_view queries, const std::string& name,
                                    int threads) const {
  moved_vectors moved = measured(queries, name, threads);
  set_squares(moved, threads);
  return moved;
}

double scale_for(const moved_vectors& base, const moved_vectors& queries) {
  if (base.integers && queries.integers) return 1;
  const double largest = std::sqrt(std::max(base.largest_square, queries.largest_square));
  return largest == 0 ? 1 : std::ldexp(1, -std::ilogb(largest) - 1);
}

product_error::product_error(const prepared_corpus& corpus, const moved_vectors& queries,
                             int digits, double scale) {
  const auto terms = static_cast<double>(corpus.dimension());
  const double rounding = std::ldexp(1, -digits);
  const double roundings = (terms + 4) * rounding;
  known_ = roundings < 0.25;
  factor_ = 2 * roundings / (1 - roundings);
  sums_ = std::ldexp(terms + 8, -51);
  // What underflows, even where denormal numbers count as zero; and for unit vectors the rounding
  // of the 1 that a vector without a direction counts more.
  least_ = std::ldexp(terms, digits == 24 ? -122 : -1000) / scale / scale;
  if (on_unit_sphere(corpus.metric())) least_ += std::ldexp(1, -48);
  if (corpus.base().integers && queries.integers) exact_below_ = std::ldexp(1, digits);
}

}  // namespace kselect::search
