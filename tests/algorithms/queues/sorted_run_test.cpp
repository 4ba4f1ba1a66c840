// The networks, tested by the 0-1 principle: a network that sorts all sequences of zeros and ones
// sorts all sequences.

#include "algorithms/queues/sorted_run.cuh"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/queues/slots.cuh"

namespace kselect::queues {
namespace {

using slots = plain_slots<std::uint32_t, 1>;

bool descending(const std::vector<std::uint32_t>& all) {
  return std::is_sorted(all.rbegin(), all.rend());
}

// `ones` ones before the zeros.
void fill_run(std::uint32_t* first, int size, int ones) {
  for (int i = 0; i < size; ++i) first[i] = i < ones ? 1 : 0;
}

TEST(ReverseBitonicMerge, MergesEveryPairOfRuns) {
  for (const int half : {1, 2, 4, 8, 16, 32, 64}) {
    for (int a = 0; a <= half; ++a) {
      for (int b = 0; b <= half; ++b) {
        std::vector<std::uint32_t> all(static_cast<std::size_t>(2 * half));
        fill_run(all.data(), half, a);
        fill_run(all.data() + half, half, b);
        slots own(all.data());
        reverse_bitonic_merge(own, 2 * half, 0, half);
        ASSERT_TRUE(descending(all)) << "half " << half << ", " << a << " and " << b << " ones";
      }
    }
  }
}

// For any k the network may end inside its second run; it must not touch memory after the run.
TEST(ReverseBitonicMerge, MergesARunThatIsCutOff) {
  for (const int half : {2, 4, 16, 64}) {
    for (int size = half + 1; size <= 2 * half; ++size) {
      for (int a = 0; a <= half; ++a) {
        for (int b = 0; b <= size - half; ++b) {
          std::vector<std::uint32_t> all(static_cast<std::size_t>(size));
          fill_run(all.data(), half, a);
          fill_run(all.data() + half, size - half, b);
          slots own(all.data());
          reverse_bitonic_merge(own, size, 0, half);  // ASan watches the end
          ASSERT_TRUE(descending(all)) << "size " << size << ", " << a << " and " << b << " ones";
        }
      }
    }
  }
}

TEST(BitonicSort, SortsEverySequence) {
  for (const int size : {1, 2, 4, 8, 16}) {
    for (std::uint32_t bits = 0; bits < 1U << size; ++bits) {
      std::vector<std::uint32_t> all(static_cast<std::size_t>(size));
      for (int i = 0; i < size; ++i) all[static_cast<std::size_t>(i)] = bits >> i & 1U;
      slots own(all.data());
      bitonic_sort(own, size);
      ASSERT_TRUE(descending(all)) << "size " << size << ", bits " << bits;
    }
  }
}

}  // namespace
}  // namespace kselect::queues
