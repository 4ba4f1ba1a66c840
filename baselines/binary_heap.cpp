// A binary max-heap of the k best, one pass over the row, no copy of it: "CPU_1" and "CPU_p" of
// Tang et al. 2015 (Table I), the heap queue of their Sec. III-B run on one core and on all.
//
// n compares with the heap's head and about k ln(n/k) replacements (rows in random order) of log2 k
// steps; a descending row replaces the head n times. Reads each element once. Sorted at the end.

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct heap_of_k {
  static std::int64_t scratch(std::int64_t, std::int64_t k) { return k; }

  // Puts `entering` in the place of the head and lets it sink below every worse child.
  template <class Candidate>
  static void replace_head(Candidate* heap, std::int64_t size, Candidate entering) {
    std::int64_t hole = 0;
    for (std::int64_t child = 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && heap[child] < heap[child + 1]) ++child;
      if (heap[child] < entering) break;
      heap[hole] = heap[child];
      hole = child;
    }
    heap[hole] = entering;
  }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t k, Candidate* heap) {
    for (std::int64_t i = 0; i < k; ++i) heap[i] = row[i];
    std::make_heap(heap, heap + k);
    for (std::int64_t i = k; i < row.size(); ++i) {
      const Candidate entering = row[i];
      if (entering < heap[0]) replace_head(heap, k, entering);
    }
    std::sort_heap(heap, heap + k);
  }
};

constexpr std::string_view source = "Tang et al. 2015, Sec. III-B and Table I (CPU_1, CPU_p)";
constexpr std::array variants = {
    baselines::cpu_entry<heap_of_k, false>("cpu/heap", "heap", source,
                                           output_ordering::stable_sorted),
    baselines::cpu_entry<heap_of_k, true>("cpu/heap+omp", "heap", source,
                                          output_ordering::stable_sorted),
};

}  // namespace

std::span<const algorithm> binary_heap() { return variants; }

}  // namespace kselect::entries
