// std::nth_element on a copy of each row: the CPU baseline of Komarov et al. 2014 (Fig. 10
// in PLOS ONE, 9 in the preprint).
//
// Introselect. Cost: n elements copied, then about 2-3 n compared and partly moved, with
// unpredictable branches. So its time hardly depends on k. The answer is unsorted.
//
// Komarov et al. tune nothing. Our only tuning: it partitions candidates (cpu_rows.hpp), which one
// integer comparison orders. quickselect.cpp is faster.
//
// Entries: cpu/nth_element

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct introselect {
  static std::int64_t scratch(std::int64_t n, std::int64_t) { return n; }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t k, Candidate* scratch) {
    baselines::copy_row(row, scratch);
    std::nth_element(scratch, scratch + (k - 1), scratch + row.size());
  }
};

constexpr std::string_view source = "C++ standard library; Komarov et al. 2014, Fig. 10";
constexpr std::array variants = {
    baselines::cpu_entry<introselect, false>("cpu/nth_element", "nth_element", source,
                                             output_ordering::unsorted),
    baselines::cpu_entry<introselect, true>("cpu/nth_element+omp", "nth_element", source,
                                            output_ordering::unsorted),
};

}  // namespace

std::span<const algorithm> nth_element() { return variants; }

}  // namespace kselect::entries
