#pragma once
// Products of a group of queries with a panel of corpus vectors, kept in registers until they are
// complete.
//
// This is the inner kernel of a matrix product (Goto & van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication", ACM TOMS 34(3), 2008) without its outer loops: the search reads the few
// products of a panel at once and never writes a matrix. A BLAS would write it. The vectors are the
// compiler's own, for the build's -march.

#include <cstdint>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace kselect::search {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

// Queries of a group: their products with a panel of two vectors' width fill the registers.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr std::int64_t group_rows = 12;  // of 32 registers
#else
inline constexpr std::int64_t group_rows = 6;  // of 16
#endif

// Corpus vectors of a panel.
template <class T>
inline constexpr std::int64_t panel_columns = 2 * vector_bytes /
                                              static_cast<std::int64_t>(sizeof(T));

// out[r][j] = the sum over c of queries[c][r] * panel[c][j], for `depth` components. The arrays are
// dense and row-major: queries [depth][group_rows], panel [depth][panel_columns], out
// [group_rows][panel_columns]. Each product is one sum in ascending order of c, with or without
// fused multiply-adds.
void multiply(const float* queries, const float* panel, std::int64_t depth, float* out);
void multiply(const double* queries, const double* panel, std::int64_t depth, double* out);

// Bit j: values[j] - products[j] is at most `limit`, for the columns of a panel. The compiler makes
// no mask of its own vectors' comparisons, hence the instructions by name.
inline std::uint32_t columns_at_most(const float* values, const float* products, float limit) {
  std::uint32_t columns = 0;
#if defined(__AVX512F__)
  for (int i = 0; i < 2; ++i) {
    const __m512 less =
        _mm512_sub_ps(_mm512_loadu_ps(values + 16 * i), _mm512_loadu_ps(products + 16 * i));
    columns |= std::uint32_t{_mm512_cmp_ps_mask(less, _mm512_set1_ps(limit), _CMP_LE_OQ)} << 16 * i;
  }
#elif defined(__AVX__)
  for (int i = 0; i < 2; ++i) {
    const __m256 less =
        _mm256_sub_ps(_mm256_loadu_ps(values + 8 * i), _mm256_loadu_ps(products + 8 * i));
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(less, _mm256_set1_ps(limit), _CMP_LE_OQ));
    columns |= static_cast<std::uint32_t>(mask) << 8 * i;
  }
#else
  for (int j = 0; j < panel_columns<float>; ++j) {
    columns |= std::uint32_t{values[j] - products[j] <= limit} << j;
  }
#endif
  return columns;
}

// Float64 products are rare.
inline std::uint32_t columns_at_most(const double* values, const double* products, double limit) {
  std::uint32_t columns = 0;
  for (int j = 0; j < panel_columns<double>; ++j) {
    columns |= std::uint32_t{values[j] - products[j] <= limit} << j;
  }
  return columns;
}

}  // namespace kselect::search
