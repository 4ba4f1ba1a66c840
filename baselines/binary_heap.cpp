// A binary max-heap of the k best, in one pass over the row without a copy: "CPU_1" and "CPU_p" of
// Tang et al. 2015 (Table I), the heap queue of their Sec. III-B on one core and on all.
//
// Cost: each element is read once and compared with the heap's head. Rows in random order have
// about k ln(n/k) replacements of log2 k steps; a descending row has n. The answer is sorted at the
// end.
//
// The paper tunes nothing here. Our tuning: the head is compared with the least key of 16 elements
// at a time, found by vector instructions (16 is faster than 32 and 64 at small n and k, elsewhere
// equal). The greater child is chosen without a branch, because either is as likely. std::sort at
// the end takes less time than emptying the heap.
//
// Entries: cpu/heap

#include "baselines/cpu_rows.hpp"

namespace kselect::entries {
namespace {

struct heap_of_k {
  static std::int64_t scratch(std::int64_t, std::int64_t k) { return k; }

  // Replaces the head by `entering`, which sinks below every worse child.
  template <class Candidate>
  static void replace_head(Candidate* heap, std::int64_t size, Candidate entering) {
    std::int64_t hole = 0, child = 1;
    for (; child + 1 < size; child = 2 * hole + 1) {
      child += heap[child] < heap[child + 1] ? 1 : 0;  // no branch: either is as likely
      if (heap[child] < entering) break;
      heap[hole] = heap[child];
      hole = child;
    }
    if (child + 1 == size && entering < heap[child]) {  // an only child
      heap[hole] = heap[child];
      hole = child;
    }
    heap[hole] = entering;
  }

  template <class Row, class Candidate>
  static void select(const Row& row, std::int64_t k, Candidate* heap) {
    for (std::int64_t i = 0; i < k; ++i) heap[i] = row[i];
    std::make_heap(heap, heap + k);
    constexpr std::int64_t block = 16;
    for (std::int64_t first = k; first < row.size(); first += block) {
      const std::int64_t count = std::min(block, row.size() - first);
      // Later elements lose ties, so an equal key does not enter either.
      if (row.least_key(first, count) >= Row::key(heap[0])) continue;
      for (std::int64_t i = first; i < first + count; ++i) {
        const Candidate entering = row[i];
        if (entering < heap[0]) replace_head(heap, k, entering);
      }
    }
    std::sort(heap, heap + k);
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
