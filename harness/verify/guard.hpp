#pragma once
// What surrounds the certificate: outputs are poisoned before the call, so that a position never
// written cannot look right; bands of known bytes stand on both sides of outputs and workspace, so
// that a write past an end is seen; the input is hashed before and after.
//
// All on host memory. Device buffers are filled from, and downloaded to, such spans.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace kselect::harness {

// Bytes of a guard band; also keeps what it guards aligned as cudaMalloc aligns.
inline constexpr std::size_t guard_bytes = 256;

// Fills with a pattern that is NaN in all floating-point types and negative in both index types,
// and is none of the values programs write by themselves (0, -1, the canonical NaN).
void poison(std::span<std::byte>);
// The same pattern as a word in this machine's byte order, for what is filled by words.
std::uint32_t poison_as_word();

// Fills a guard band. Each byte depends on its position, so that neither a fill nor a shifted copy
// of the band goes unseen.
void fill_guard(std::span<std::byte> guard);

// Offset of the first byte that is not as fill_guard left it; empty when the band is intact.
std::optional<std::int64_t> first_damaged(std::span<const std::byte> guard);

// XXH3 of the bytes, on at most `threads` threads; the result depends on the bytes alone.
// Throws failure::usage when `threads` < 1.
std::uint64_t hash_bytes(std::span<const std::byte>, int threads);

}  // namespace kselect::harness
