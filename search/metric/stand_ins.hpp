#pragma once
// Stand-ins for the unpublished image databases of Barrientos 2011, Chapter 4: as many vectors of
// the same dimension, with a given intrinsic dimension rho: low for Images, as for feature vectors
// of pictures, high for Faces. The vectors are rows of the harness' distribution decaying(rho), so
// a seed gives the same vectors everywhere, and a sweep's `vectors` are those of a stand-in without
// outliers.
//
// Some vectors of Images are outliers: their norm is fixed, and their direction is uniform. Their
// share and norm are chosen for the number of pivots that an SSS-Index selects. The thesis reports
// 73 pivots for alpha = 0.5 and one for 0.66 (Sec. 3.2.2): a diameter that a few dozen objects
// span, far from each other, around one near all. Normal vectors alone give 3 and 2.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kselect::search::metric_space {

struct stand_in {
  std::string_view name;
  std::int64_t count, dimension;
  double intrinsic_dimension;  // rho, of the vectors that are no outliers
  double outliers;             // their share; every so many vectors, the first is none
  double outlier_norm;
  std::string_view stands_for;
};

inline constexpr std::array<stand_in, 2> stand_ins = {
    {{"images", 120000, 20, 5, 0.0008, 8,
      "Images: 120,000 vectors of dimension 20 of NASA's pictures"},
     {"faces", 120000, 254, 64, 0, 0,
      "Faces: 120,000 vectors of dimension 254 of the FRGC's faces"}}};

// [count][dimension]
std::vector<float> generate(const stand_in& what, std::int64_t count, std::uint64_t seed,
                            int threads);

}  // namespace kselect::search::metric_space
