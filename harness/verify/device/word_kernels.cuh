#pragma once
// What words.hpp does, as kernels.

#include <cstdint>

#include "harness/verify/device/words.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect {

struct fill_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<std::uint32_t> words;
    std::uint32_t word;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (; i < a.words.size; i += stride) simt.store(a.words, i, a.word);
  }
};

// Adds the hashes of all words to sum[0], modulo 2^64: in no particular order.
struct hash_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<const std::uint32_t> words;
    simt::global<std::uint64_t> sum;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    constexpr int in_flight = 8;  // loads on their way at a time
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    std::uint64_t sum = 0;
    for (; i + (in_flight - 1) * stride < a.words.size; i += in_flight * stride) {
      std::uint32_t part[in_flight];
      KSELECT_UNROLL
      for (int j = 0; j < in_flight; ++j) part[j] = simt.load(a.words, i + j * stride);
      KSELECT_UNROLL
      for (int j = 0; j < in_flight; ++j) sum += hash_of_word(part[j], i + j * stride);
    }
    for (; i < a.words.size; i += stride) sum += hash_of_word(simt.load(a.words, i), i);
    for (int distance = simt::warp_size / 2; distance > 0; distance /= 2) {
      sum += simt.shfl_xor(simt::full_mask, sum, distance);
    }
    if (simt.lane() == 0) simt.atomic_add(a.sum, 0, sum);
  }
};

}  // namespace kselect
