#pragma once
// Device code: from a group's sums of a tile to survivors, for filter_wgmma.cu.

#include "search/knn/fused/append_survivors.cuh"
#include "search/knn/fused/wgmma_block.cuh"

namespace kselect::search::fused::hopper {

// What a thread appends to the lists of its rows. `each`: queries differ in what they leave out.
template <bool each>
struct tile_survivors {
  const filter_args& a;
  std::uint32_t* found;    // in shared memory, [tile_rows]: of the group's rows
  std::int64_t first_row;  // of the group, among all queries
  int part;
  int first_position;  // of the thread's first column

  // `row`: the thread's first of the group's rows.
  __device__ __forceinline__ void emit(const group_sums& sums, const float (&limits)[row_halves][2],
                                       int row) const {
#pragma unroll
    for (int m = 0; m < row_halves; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float best = best_of(sums[m], h);
        if (best > limits[m][h]) keep(sums[m], h, limits[m][h], best, row + 64 * m + 8 * h);
      }
    }
  }

 private:
  // The scores of a row beyond the limit, by the signs of differences: a comparison and its bit
  // take three instructions, a difference and a shift two. (With the verb `exceeds`, whose rule
  // for NaN holds here, the compiler takes three again.) A score of 0 is beyond a limit of -0,
  // which only admits more.
  __device__ __forceinline__ static std::uint32_t beyond(const sums_of_64& sums, int h,
                                                         float limit) {
    constexpr int chains = 4, each_chain = columns_of_thread / chains;
    std::uint32_t bits[chains] = {};  // a chain of all shifts would wait for each
#pragma unroll
    for (int i = each_chain - 1; i >= 0; --i) {
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        const int column = c * each_chain + i;
        const float left = limit - sums[column / 2 * 4 + 2 * h + column % 2];
        bits[c] = __funnelshift_l(__float_as_uint(left), bits[c], 1);
      }
    }
    std::uint32_t all = 0;
#pragma unroll
    for (int c = 0; c < chains; ++c) all |= bits[c] << (c * each_chain);
    return all;
  }

  // Those of the scores that passed whose vectors the row's query may return.
  __device__ __forceinline__ std::uint32_t among(std::uint32_t passed, int row) const {
    const std::int64_t of_row = first_row + row;
    const std::int64_t query =
        a.query_of.ids.data != nullptr ? a.query_of.ids.data[of_row] : a.query_of.first + of_row;
    std::uint32_t kept = 0;
#pragma unroll 1
    for (; passed != 0; passed &= passed - 1) {
      const int i = __ffs(static_cast<int>(passed)) - 1;
      const auto position = static_cast<std::uint64_t>(first_position + i / 2 * 8 + i % 2);
      const auto vector =
          static_cast<std::int64_t>(position * static_cast<std::uint64_t>(a.vector_of.stride) %
                                    static_cast<std::uint64_t>(a.vector_of.count));
      const std::uint32_t word = __ldg(a.allowed.words.data + a.allowed.word_of(query, vector));
      kept |= (word >> vector % 32 & 1U) << i;
    }
    return kept;
  }

  // Appends the thread's scores of a row that are beyond the limit. `best` stands for the score of
  // each: to choose it among registers would take long, and few threads keep several at once.
  __device__ __forceinline__ void keep(const sums_of_64& sums, int h, float limit, float best,
                                       int row) const {
    std::uint32_t passed = beyond(sums, h, limit);
    // Computed here, in the rare branch: for all rows in advance it would not fit in the registers.
    asm volatile("" : "+r"(row));
    if constexpr (each) {
      passed = among(passed, row);
      if (passed == 0) return;
    }
    append_survivors(
        a.lists, found[row], [&] { return (first_row + row) * a.lists.splits + part; }, passed,
        first_position, best);
  }
};

}  // namespace kselect::search::fused::hopper
