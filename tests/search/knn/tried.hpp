#pragma once
// What a search has to find, by trying every vector in long double. Always optimised and never
// instrumented (tests/CMakeLists.txt), since this takes longer than most searches that it judges.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/distance/distance.hpp"

namespace kselect::search::tried {

// By the metric's definition in runtime/distance/distance.hpp, from two vectors of one length.
long double distance(runtime::metric m, std::span<const float> x, std::span<const float> y);

// A vector's image, by the same definition. Distances of images take less time.
struct image {
  std::vector<long double> components;
  bool directed = true;
  std::vector<double> rounded;
};
bool has_unit_images(runtime::metric m);
image image_of(std::span<const float> x, runtime::metric m);
// The squared distance, or 1 - cosine of the angle between unit images.
long double distance(const image& x, const image& y, runtime::metric m);

// A vector by its distance from a query.
using measured = std::pair<long double, std::int64_t>;

// Which vectors may be found.
struct among {
  std::int64_t itself = -1;                       // is left out
  const std::vector<bool>* may_return = nullptr;  // [n]; null: all

  bool has(std::int64_t j) const {
    return j != itself && (may_return == nullptr || (*may_return)[static_cast<std::size_t>(j)]);
  }
};

// The nearest `count`, or all if there are fewer, by distance, then index.
std::vector<measured> nearest(std::span<const image> base, const image& query, runtime::metric m,
                              std::size_t count, const among& which = {});

// A product, and the sum of its terms' magnitudes, which bounds its rounding.
struct inner_product {
  long double value = 0, terms = 0;
};
inner_product product_of(std::span<const float> x, std::span<const float> y);

// Those of the largest products, each with its product times -1. `base` [n x dimension] row-major.
std::vector<measured> largest(std::span<const float> base, std::span<const float> query,
                              std::size_t count, const among& which = {});

}  // namespace kselect::search::tried
