// Quickselect of Intel's x86-simd-sort (after Blacher, Giesen & Kuehne, "Fast and Robust Vectorized
// In-Place Sorting of Primitive Types", 2021), which partitions keys and their values in two
// arrays. An adapter, compiled if X86_SIMD_SORT_INCLUDE_DIR has it.
//
// A row is copied as selection keys (order.hpp) and indices. So NaN and both zeros are ordered, and
// ties come in any order. Cost: n elements copied, then about 2-3 n moved through vector
// partitions, for any k. AVX-512 or AVX2, by -march=.
//
// Entries: cpu/x86_simd_sort

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "baselines/cpu_rows.hpp"

#if KSELECT_HAS_X86_SIMD_SORT
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of undefined values in its own AVX-512 intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <x86simdsort-static-incl.h>
#endif

namespace kselect::entries {
namespace {

#if KSELECT_HAS_X86_SIMD_SORT
struct simd_quickselect {
  // n candidates' room for a row's keys and indices, which together are as long as candidates, and
  // k candidates for the answer.
  static std::int64_t scratch(std::int64_t n, std::int64_t k) { return n + k; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t k, Candidate* scratch) {
    using key = decltype(row.key_at(0));
    if constexpr (sizeof(key) >= 4) {  // it has no pairs of 16 bits; see `entry`
      const std::int64_t n = row.size();
      const auto last = static_cast<std::size_t>(k - 1), size = static_cast<std::size_t>(n);
      key* const keys = reinterpret_cast<key*>(scratch + k);
      for (std::int64_t i = 0; i < n; ++i) keys[i] = row.key_at(i);
      if constexpr (sizeof(Candidate) == sizeof(key)) {
        x86simdsortStatic::qselect(keys, last, size);
        std::memcpy(scratch, keys, static_cast<std::size_t>(k) * sizeof(key));
      } else {
        key* const indices = keys + n;
        std::iota(indices, indices + n, key{0});
        x86simdsortStatic::keyvalue_select(keys, indices, last, size);
        for (std::int64_t j = 0; j < k; ++j) {
          scratch[j] = Row::candidate(keys[j], static_cast<std::int64_t>(indices[j]));
        }
      }
    }
  }
};
#else
using simd_quickselect = baselines::absent_selector;
#endif

template <bool parallel>
constexpr algorithm entry(std::string_view name) {
  algorithm a = baselines::cpu_entry<simd_quickselect, parallel>(
      name, "quickselect", "Intel x86-simd-sort, keyvalue_select", output_ordering::unsorted);
  a.promises.tie_break = tie_break::unspecified;
  a.dtypes = set_of(dtype::float32, dtype::float64);
#if !KSELECT_HAS_X86_SIMD_SORT
  a.missing = "built without x86-simd-sort: set X86_SIMD_SORT_INCLUDE_DIR to its folder src";
#endif
  return a;
}

constexpr std::array variants = {
    entry<false>("cpu/x86_simd_sort"),
    entry<true>("cpu/x86_simd_sort+omp"),
};

}  // namespace

std::span<const algorithm> x86_simd_sort() { return variants; }

}  // namespace kselect::entries
