// VQSort of Google's Highway: vectorised quicksort with sorting networks on a copy of each row,
// whose first k are kept (Blacher, Giesen & Kuehne, "Fast and Robust Vectorized In-Place Sorting of
// Primitive Types", 2021; Wassenberg et al., "Vectorized and Performance-portable Quicksort",
// 2022). An adapter, compiled if Highway's sorting library is found (Debian: libhwy-dev).
//
// It sorts candidates (cpu_rows.hpp): keys with their indices as one integer of 64 or 128 bits, or
// keys alone. Cost: n elements copied, about n log2(n / 256) partitioned, and the rest in networks.
// Tuning and the choice of the instruction set are Highway's own.
//
// Entries: cpu/vqsort

#include "baselines/cpu_rows.hpp"

#if KSELECT_HAS_VQSORT
#include <hwy/contrib/sort/vqsort.h>
#endif

namespace kselect::entries {
namespace {

#if KSELECT_HAS_VQSORT
struct vector_quicksort {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t, Candidate* scratch) {
    thread_local const hwy::Sorter sort;  // older versions have a buffer in it
    baselines::copy_row(row, scratch);
    const auto n = static_cast<std::size_t>(row.size());
    if constexpr (sizeof(Candidate) == 16) {
      static_assert(sizeof(hwy::uint128_t) == sizeof(Candidate));
      sort(reinterpret_cast<hwy::uint128_t*>(scratch), n, hwy::SortAscending());
    } else {
      sort(scratch, n, hwy::SortAscending());
    }
  }
};
#else
using vector_quicksort = baselines::absent_selector;
#endif

template <bool parallel>
constexpr algorithm entry(std::string_view name) {
  // No two candidates with indices are equal, so the sort need not be stable.
  algorithm a = baselines::cpu_entry<vector_quicksort, parallel>(name, "sort", "Highway, VQSort",
                                                                 output_ordering::stable_sorted);
#if !KSELECT_HAS_VQSORT
  a.missing = "built without Highway's VQSort: not found (Debian: libhwy-dev)";
#endif
  return a;
}

constexpr std::array variants = {
    entry<false>("cpu/vqsort"),
    entry<true>("cpu/vqsort+omp"),
};

}  // namespace

std::span<const algorithm> highway_vqsort() { return variants; }

}  // namespace kselect::entries
