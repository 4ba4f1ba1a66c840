// VQSelect of Google's Highway: vectorised quickselect on a copy of each row (Blacher, Giesen &
// Kuehne, "Fast and Robust Vectorized In-Place Sorting of Primitive Types", 2021; Wassenberg et
// al., "Vectorized and Performance-portable Quicksort", 2022). An adapter, compiled if Highway has
// it.
//
// It partitions candidates (cpu_rows.hpp): keys with their indices as one integer of 64 or 128
// bits, or keys alone. So ties come by index, and NaN and both zeros are ordered. Cost: n elements
// copied, then about 2-3 n moved through vector partitions, for any k. Tuning and the choice of the
// instruction set are Highway's own.
//
// Entries: cpu/vqselect

#include "baselines/cpu_rows.hpp"

#if KSELECT_HAS_VQSELECT
#include <hwy/contrib/sort/vqsort.h>
#endif

namespace kselect::entries {
namespace {

#if KSELECT_HAS_VQSELECT
struct vector_quickselect {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t k, Candidate* scratch) {
    baselines::copy_row(row, scratch);
    const auto n = static_cast<std::size_t>(row.size());
    if constexpr (sizeof(Candidate) == 16) {
      static_assert(sizeof(hwy::uint128_t) == sizeof(Candidate));
      hwy::VQSelect(reinterpret_cast<hwy::uint128_t*>(scratch), n, static_cast<std::size_t>(k - 1),
                    hwy::SortAscending());
    } else {
      hwy::VQSelect(scratch, n, static_cast<std::size_t>(k - 1), hwy::SortAscending());
    }
  }
};
#else
using vector_quickselect = baselines::absent_selector;
#endif

template <bool parallel>
constexpr algorithm entry(std::string_view name) {
  algorithm a = baselines::cpu_entry<vector_quickselect, parallel>(
      name, "quickselect", "Highway, VQSelect", output_ordering::unsorted);
  // Highway's pivots come from a generator seeded by the operating system.
  a.promises.determinism = determinism::not_guaranteed;
#if !KSELECT_HAS_VQSELECT
  a.missing = "built without Highway's VQSelect: not found, or older than it (Debian 12's is)";
#endif
  return a;
}

constexpr std::array variants = {
    entry<false>("cpu/vqselect"),
    entry<true>("cpu/vqselect+omp"),
};

}  // namespace

std::span<const algorithm> highway_vqselect() { return variants; }

}  // namespace kselect::entries
