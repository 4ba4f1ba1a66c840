#pragma once
// Detects what the certificate cannot see. Outputs are poisoned before a call, so that a position
// never written cannot look right. Guard bands of known bytes before and after the outputs and the
// workspace reveal writes out of bounds. A hash of the input reveals writes to it.
//
// All spans are host memory. Device buffers are filled from such spans and downloaded to them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace kselect::harness {

// Size of a guard band. A multiple of cudaMalloc's alignment, so the guarded buffer keeps it.
inline constexpr std::size_t guard_bytes = 256;

// Fills with a pattern that is NaN in all floating-point types and negative in both index types. It
// is none of the values that programs write on their own: 0, -1, the canonical NaN.
void poison(std::span<std::byte>);
// The same pattern as a word in this machine's byte order, for fills by words.
std::uint32_t poison_as_word();

// Fills a guard band. Each byte depends on its position, so that both a constant fill and a shifted
// copy of the band are detected.
void fill_guard(std::span<std::byte> guard);

// Offset of the first byte that fill_guard did not leave there; empty if the band is intact.
std::optional<std::int64_t> first_damaged(std::span<const std::byte> guard);

// XXH3 of the bytes, on at most `threads` threads. The result does not depend on the threads.
// Throws failure::usage if `threads` < 1.
std::uint64_t hash_bytes(std::span<const std::byte>, int threads);

}  // namespace kselect::harness
