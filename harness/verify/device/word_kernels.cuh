#pragma once
// The kernels of words.hpp. `Piece` is the unit of access: the widest unsigned integer of at most
// four bytes that divides address and size.

#include <cstdint>

#include "harness/verify/device/words.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::harness {

template <class Piece>
inline constexpr std::int64_t pieces_of_word = sizeof(std::uint32_t) / sizeof(Piece);
// By how many bits piece i of a buffer is shifted in its word.
template <class Piece>
KSELECT_HD constexpr int shift_of(std::int64_t i) {
  return static_cast<int>(i % pieces_of_word<Piece>) * 8 * static_cast<int>(sizeof(Piece));
}

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
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (; i < a.pieces.size; i += stride) {
      simt.store(a.pieces, i, static_cast<Piece>(a.word >> shift_of<Piece>(i)));
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
  static constexpr std::int64_t pieces_each = pieces_of_word<Piece>;

  KSELECT_HD static std::int64_t words_in(std::int64_t pieces) {
    return (pieces + pieces_each - 1) / pieces_each;
  }
  template <class Simt>
  KSELECT_HD static std::uint32_t word(Simt& simt, simt::global<const Piece> pieces,
                                       std::int64_t i) {
    std::uint32_t whole = 0;
    KSELECT_UNROLL
    for (int p = 0; p < pieces_each; ++p) {
      const std::int64_t at = pieces_each * i + p;
      // Words are counted so that the first piece of each is there.
      const bool there = p == 0 || at < pieces.size;
      const std::uint32_t piece = there ? simt.load(pieces, at) : Piece{0};
      whole |= piece << shift_of<Piece>(p);
    }
    return whole;
  }
};

}  // namespace kselect::harness
