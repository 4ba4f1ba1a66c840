#include "search/knn/host/prepared_corpus.hpp"

#include <algorithm>
#include <cmath>

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
  const bool whole = has_integers(base);
  find_centre(base, whole, threads);
  base_ = moved(base, whole, name, threads);
}

moved_vectors prepared_corpus::move(vector_view queries, const std::string& name,
                                    int threads) const {
  return moved(queries, has_integers(queries), name, threads);
}

bool prepared_corpus::has_integers(vector_view set) const {
  return !on_unit_sphere(metric_) && integers(set);
}

void prepared_corpus::find_centre(vector_view base, bool whole, int threads) {
  const std::int64_t dimension = base.dimension;
  centre_.assign(index(dimension), 0);
  if (metric_ == metric::inner_product) return;
  const std::int64_t stride = std::max<std::int64_t>(1, base.count / sampled_vectors);
  std::vector<image> images;
  for (std::int64_t i = 0; i < base.count; i += stride) {
    images.push_back(image_of(base.data + i * dimension, dimension, metric_));
  }
  const int workers = static_cast<int>(std::clamp<std::int64_t>(dimension / 16, 1, threads));
  // A thread has its own components, so the sums do not depend on the number of threads.
#pragma omp parallel for num_threads(workers) schedule(static)
  for (std::int64_t part = 0; part < workers; ++part) {
    const std::int64_t begin = part * dimension / workers, end = (part + 1) * dimension / workers;
    for (std::size_t i = 0; i < images.size(); ++i) {
      const float* const x = base.data + static_cast<std::int64_t>(i) * stride * dimension;
      for (std::int64_t c = begin; c < end; ++c) {
        centre_[index(c)] += (x[c] - images[i].mean) * images[i].scale;
      }
    }
  }
  for (double& c : centre_) {
    c /= static_cast<double>(std::max<std::size_t>(1, images.size()));
    if (whole) c = std::round(c);
  }
}

// One pass over the vectors.
moved_vectors prepared_corpus::moved(vector_view set, bool whole, const std::string& name,
                                     int threads) const {
  moved_vectors all;
  all.vectors = set;
  all.integers = whole;
  all.images.resize(index(set.count));
  all.squares.resize(index(set.count));
  double largest = 0;
  std::int64_t wrong = set.count;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max        \
                                                                         : largest) \
    reduction(min                                                                   \
              : wrong)
  for (std::int64_t i = 0; i < set.count; ++i) {
    const float* const x = all.vector(i);
    if (!finite(x, set.dimension)) wrong = std::min(wrong, i);
    all.images[index(i)] = image_of(x, set.dimension, metric_);
    const double square = square_about(centre_, x, all.images[index(i)]);
    all.squares[index(i)] = square;
    largest = std::max(largest, square);
  }
  if (wrong < set.count) {
    throw error(failure::input,
                name + ": vector " + std::to_string(wrong) + " has a component that is not finite");
  }
  all.largest_square = largest;
  return all;
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
  of_products_ = corpus.metric() == metric::inner_product;
  factor_ = 2 * roundings / (1 - roundings);
  sums_ = std::ldexp(terms + 8, -51);
  // What underflows, even where denormal numbers count as zero; and for unit vectors the rounding
  // of the 1 that a vector without a direction counts more.
  least_ = std::ldexp(terms, digits == 24 ? -122 : -1000) / scale / scale;
  if (on_unit_sphere(corpus.metric())) least_ += std::ldexp(1, -48);
  if (corpus.base().integers && queries.integers) exact_below_ = std::ldexp(1, digits);
}

}  // namespace kselect::search
