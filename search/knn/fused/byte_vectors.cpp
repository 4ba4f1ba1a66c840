#include "search/knn/fused/byte_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::search {
namespace {

// Which kinds of bytes all components of a set are.
struct kinds_of_bytes {
  bool without_sign = true, with_sign = true;

  bool none() const { return !without_sign && !with_sign; }
  void keep(float x) {
    const bool whole = x == std::rint(x);
    without_sign &= whole && x >= 0 && x <= 255;
    with_sign &= whole && x >= -128 && x <= 127;
  }
  void keep(const vector_set& set) {
    constexpr std::size_t at_once = 4096;
    const std::span<const float> all(set.data);
    for (std::size_t i = 0; i < all.size() && !none(); i += at_once) {
      for (const float x : all.subspan(i, std::min(at_once, all.size() - i))) keep(x);
    }
  }
};

}  // namespace

bool hold_bytes(const vector_set& one, const vector_set& other) {
  kinds_of_bytes kinds;
  kinds.keep(one);
  kinds.keep(other);
  return !kinds.none();
}

void require_bytes(const vector_set& set, std::int64_t first) {
  kinds_of_bytes kinds;
  kinds.keep(set);
  if (!kinds.none()) return;
  kinds = {};
  const auto other = std::ranges::find_if(set.data, [&](float x) {
    kinds.keep(x);
    return kinds.none();
  });
  const std::int64_t at = other - set.data.begin();
  throw error(failure::input,
              fmt::format("{}: component {} of vector {} is {}, but --product int8 takes integers "
                          "from 0 to 255 or from -128 to 127; take --product float16",
                          set.source, at % set.dimension, first + at / set.dimension, *other));
}

}  // namespace kselect::search
