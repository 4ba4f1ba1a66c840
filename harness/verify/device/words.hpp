#pragma once
// Fills and hashes a backend's memory in place, by kernels (cuda, fiber): no copy crosses the bus.
// A word has four bytes. Sizes and addresses may be any number of bytes.
//
// The hash reveals changes to rows. It is the sum of mixed (word, position) pairs modulo 2^64,
// which two different buffers share by chance with a probability of about 2^-64. It guards against
// accidents (a write out of bounds, a selection in place that was not asked for, a failed
// transfer), not against malice.

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/harness.hpp"
#include "kselect/hd.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// What one word adds to the hash of a buffer. A bijection of 64 bits mixes position and content, so
// that every bit counts and words do not commute: the finaliser of splitmix64 (Steele, Lea & Flood,
// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
KSELECT_HD constexpr std::uint64_t hash_of_word(std::uint32_t word, std::int64_t position) {
  const auto at = static_cast<std::uint64_t>(position);
  std::uint64_t x = (at << 32 | at >> 32) ^ word;
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Enqueues the fill. A part of a word at the end gets the low bytes of `word`. Throws
// error(failure::unsupported) if the backend cannot run kernels.
void fill_words(backend& place, std::byte* to, std::size_t bytes, std::uint32_t word);

// The hash of memory of the backend. A part of a word at the end is padded with zeros. Waits for
// the work enqueued before.
std::uint64_t hash_words(backend& place, const std::byte* from, std::size_t bytes);

// The same hash of the same bytes on the host, by at most `threads` threads.
std::uint64_t hash_words(std::span<const std::byte> bytes, int threads);

}  // namespace kselect::harness
