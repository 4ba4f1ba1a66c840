#pragma once
// Fills and hashes memory of a backend where it lies, by kernels (cuda, fiber): no copy of it has
// to cross the bus. A word has four bytes; all sizes and addresses are multiples of two.
//
// The hash tells rows that are still the ones given from rows that something touched: a sum of
// mixed (word, position) pairs modulo 2^64, which two different buffers share with a probability of
// about 2^-64 unless somebody set out to make them. It guards against accidents (a write out of
// bounds, a selection that works in place unasked, a transfer that went wrong), not against malice.

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/harness.hpp"
#include "kselect/hd.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// What one word adds to the hash of a buffer: position and content, mixed by a bijection of 64 bits
// (the finaliser of splitmix64: Steele, Lea & Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014), so that no bit of either goes unseen and words do not commute.
KSELECT_HD constexpr std::uint64_t hash_of_word(std::uint32_t word, std::int64_t position) {
  const auto at = static_cast<std::uint64_t>(position);
  std::uint64_t x = (at << 32 | at >> 32) ^ word;
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Enqueues the fill, with the first half of a word at the end where half a word is left. Throws
// error(failure::unsupported) if the place cannot run kernels.
void fill_words(backend& place, std::byte* to, std::size_t bytes, std::uint32_t word);

// The hash of memory of the place, to whose end half a word of zeros is added if only half a one is
// left. Waits for the work enqueued before it.
std::uint64_t hash_words(backend& place, const std::byte* from, std::size_t bytes);

// The same hash of the same bytes on the host, by at most `threads` threads.
std::uint64_t hash_words(std::span<const std::byte> bytes, int threads);

}  // namespace kselect::harness
