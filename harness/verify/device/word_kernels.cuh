#pragma once
// The kernels of words.hpp. `Piece` is the unit of access: std::uint32_t, or std::uint16_t if the
// address or the size is not a multiple of four bytes.

#include <cstdint>

#include "harness/verify/device/words.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::harness {

template <class Piece>
struct fill_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<Piece> pieces;
    std::uint32_t word;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    constexpr bool whole = sizeof(Piece) == sizeof(std::uint32_t);
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (; i < a.pieces.size; i += stride) {
      simt.store(a.pieces, i, static_cast<Piece>(whole || i % 2 == 0 ? a.word : a.word >> 16));
    }
  }
};

// Adds the hashes of all words to sum[0], modulo 2^64, in any order.
template <class Piece>
struct hash_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  struct args {
    simt::global<const Piece> pieces;
    simt::global<std::uint64_t> sum;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    constexpr int in_flight = 8;  // loads in flight per thread
    const std::int64_t words = words_in(a.pieces.size);
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    std::uint64_t sum = 0;
    for (; i + (in_flight - 1) * stride < words; i += in_flight * stride) {
      std::uint32_t part[in_flight];
      KSELECT_UNROLL
      for (int j = 0; j < in_flight; ++j) part[j] = word(simt, a.pieces, i + j * stride);
      KSELECT_UNROLL
      for (int j = 0; j < in_flight; ++j) sum += hash_of_word(part[j], i + j * stride);
    }
    for (; i < words; i += stride) sum += hash_of_word(word(simt, a.pieces, i), i);
    for (int distance = simt::warp_size / 2; distance > 0; distance /= 2) {
      sum += simt.shfl_xor(simt::full_mask, sum, distance);
    }
    if (simt.lane() == 0) simt.atomic_add(a.sum, 0, sum);
  }

 private:
  static constexpr std::int64_t pieces_each = sizeof(std::uint32_t) / sizeof(Piece);

  KSELECT_HD static std::int64_t words_in(std::int64_t pieces) {
    return (pieces + pieces_each - 1) / pieces_each;
  }
  template <class Simt>
  KSELECT_HD static std::uint32_t word(Simt& simt, simt::global<const Piece> pieces,
                                       std::int64_t i) {
    if constexpr (pieces_each == 1) {
      return simt.load(pieces, i);
    } else {
      const std::uint32_t low = simt.load(pieces, 2 * i);
      const std::uint32_t high = 2 * i + 1 < pieces.size ? simt.load(pieces, 2 * i + 1) : Piece{0};
      return high << 16 | low;
    }
  }
};

}  // namespace kselect::harness
