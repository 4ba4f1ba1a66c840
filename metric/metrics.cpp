// The table of metrics. A new one is a header like metric/levenshtein.hpp, a .cu like
// metric/kernels/levenshtein.cu, and a line here.

#include "metric/euclidean.hpp"
#include "metric/levenshtein.hpp"
#include "metric/space_of.hpp"

namespace kselect::metric_space {

std::span<const space* const> spaces() {
  static const space_of<euclidean> of_vectors;
  static const space_of<levenshtein> of_words;
  static const space* const all[] = {&of_vectors, &of_words};
  return all;
}

}  // namespace kselect::metric_space
