// std::sort of a copy of each row, whose first k are kept. Every selection must beat this.
//
// Cost: n log2 n comparisons for any k. The only tuning: it sorts candidates (cpu_rows.hpp), which
// one integer comparison orders. radix_sort.cpp is faster.
//
// Entries: cpu/sort

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct sort_of_copy {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t, Candidate* scratch) {
    baselines::copy_row(row, scratch);
    std::sort(scratch, scratch + row.size());
  }
};

constexpr std::string_view source = "C++ standard library";
constexpr std::array variants = {
    baselines::cpu_entry<sort_of_copy, false>("cpu/sort", "sort", source,
                                              output_ordering::stable_sorted),
    baselines::cpu_entry<sort_of_copy, true>("cpu/sort+omp", "sort", source,
                                             output_ordering::stable_sorted),
};

}  // namespace

std::span<const algorithm> full_sort() { return variants; }

}  // namespace kselect::entries
