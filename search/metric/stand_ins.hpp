#pragma once
// Stand-ins for the unpublished image databases of Barrientos 2011, Chapter 4: as many vectors of
// the same dimension, with a given intrinsic dimension rho.
//
// Component j is normal with variance r^j, r = (rho - 1) / (rho + 1). The square of the distance
// between two such vectors has mean 2 sum r^j and variance 8 sum r^2j, so the distances have
//
//     mu^2 / (2 sigma^2)  ~  (sum r^j)^2 / sum r^2j  =  (1 + r) / (1 - r)  =  rho
//
// if there are enough components. rho is low for Images, as for feature vectors of pictures, and
// high for Faces. Normal deviates are made as in harness/workload, so a seed gives the same vectors
// everywhere.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kselect::search::metric_space {

struct stand_in {
  std::string_view name;
  std::int64_t count, dimension;
  double intrinsic_dimension;  // rho
  std::string_view stands_for;
};

inline constexpr std::array<stand_in, 2> stand_ins = {
    {{"images", 120000, 20, 5, "Images: 120,000 vectors of dimension 20 of NASA's pictures"},
     {"faces", 120000, 254, 64, "Faces: 120,000 vectors of dimension 254 of the FRGC's faces"}}};

// [count][dimension]
std::vector<float> generate(const stand_in& what, std::int64_t count, std::uint64_t seed,
                            int threads);

}  // namespace kselect::search::metric_space
