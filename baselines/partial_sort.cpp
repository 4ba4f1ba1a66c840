// std::partial_sort on a copy of each row: a heap of the k best at its front, then sorted.
//
// Cost: n elements copied, n comparisons with the heap's head and, on rows in random order, about
// k ln(n/k) replacements of log2 k steps each. Ascending rows cost one comparison an element,
// descending rows n log2 k.
//
// The only tuning: it sorts candidates (cpu_rows.hpp), which one integer comparison orders.
// binary_heap.cpp is faster.
//
// Entries: cpu/partial_sort

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct partial_sort_of_copy {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t k, Candidate* scratch) {
    baselines::copy_row(row, scratch);
    std::partial_sort(scratch, scratch + k, scratch + row.size());
  }
};

constexpr std::string_view source = "C++ standard library";
constexpr std::array variants = {
    baselines::cpu_entry<partial_sort_of_copy, false>("cpu/partial_sort", "partial_sort", source,
                                                      output_ordering::stable_sorted),
    baselines::cpu_entry<partial_sort_of_copy, true>("cpu/partial_sort+omp", "partial_sort", source,
                                                     output_ordering::stable_sorted),
};

}  // namespace

std::span<const algorithm> partial_sort() { return variants; }

}  // namespace kselect::entries
