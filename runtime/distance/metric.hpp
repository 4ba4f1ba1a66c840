#pragma once
// The metrics between dense vectors; runtime/distance/distance.hpp defines them.

#include <array>
#include <cstdint>

#include "kselect/names.hpp"

namespace kselect::runtime {

enum class metric : std::uint8_t { sqeuclidean, euclidean, cosine, pearson };

constexpr auto names_of(metric) {
  return std::to_array<named<metric>>({{metric::sqeuclidean, "sqeuclidean"},
                                       {metric::euclidean, "euclidean"},
                                       {metric::cosine, "cosine"},
                                       {metric::pearson, "pearson"}});
}

}  // namespace kselect::runtime
