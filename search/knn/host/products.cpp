// Compiled with -ffp-contract=fast (cmake/search.cmake), so that a product and its sum are one
// instruction. The error bounds hold either way.

#include "search/knn/host/products.hpp"

#include <cstring>

namespace kselect::search {
namespace {

template <class T>
void multiply_group(const T* queries, const T* panel, std::int64_t depth, T* out) {
  typedef T lanes __attribute__((vector_size(vector_bytes)));
  constexpr std::int64_t columns = panel_columns<T>;
  constexpr auto width = static_cast<std::int64_t>(vector_bytes / sizeof(T));
  lanes sums[group_rows][2] = {};
  for (std::int64_t c = 0; c < depth; ++c) {
    lanes left, right;
    std::memcpy(&left, panel + c * columns, vector_bytes);
    std::memcpy(&right, panel + c * columns + width, vector_bytes);
    const T* const of_queries = queries + c * group_rows;
#pragma GCC unroll 12
    for (std::int64_t r = 0; r < group_rows; ++r) {
      sums[r][0] += of_queries[r] * left;
      sums[r][1] += of_queries[r] * right;
    }
  }
#pragma GCC unroll 12
  for (std::int64_t r = 0; r < group_rows; ++r) {
    std::memcpy(out + r * columns, &sums[r][0], vector_bytes);
    std::memcpy(out + r * columns + width, &sums[r][1], vector_bytes);
  }
}

}  // namespace

void multiply(const float* queries, const float* panel, std::int64_t depth, float* out) {
  multiply_group(queries, panel, depth, out);
}

void multiply(const double* queries, const double* panel, std::int64_t depth, double* out) {
  multiply_group(queries, panel, depth, out);
}

}  // namespace kselect::search
