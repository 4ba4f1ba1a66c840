// The hash of a buffer is the XXH3 of the XXH3 hashes of its fixed-size chunks, so it does not
// depend on the number of threads.

#include "harness/verify/guard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

namespace {

// Read as int32: -655414. At any width from 16 bits, and in either half, a NaN and negative.
constexpr std::array<std::byte, 4> poison_word = {std::byte{0xca}, std::byte{0xff}, std::byte{0xf5},
                                                  std::byte{0xff}};

constexpr std::byte guard_byte(std::size_t offset) {
  return static_cast<std::byte>((0xa7 + 37 * offset) & 0xff);
}

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

}  // namespace

void poison(std::span<std::byte> bytes) {
  for (std::size_t j = 0; j < bytes.size(); ++j) bytes[j] = poison_word[j % poison_word.size()];
}

std::uint32_t poison_as_word() { return std::bit_cast<std::uint32_t>(poison_word); }

void fill_guard(std::span<std::byte> guard) {
  for (std::size_t j = 0; j < guard.size(); ++j) guard[j] = guard_byte(j);
}

std::optional<std::int64_t> first_damaged(std::span<const std::byte> guard) {
  for (std::size_t j = 0; j < guard.size(); ++j) {
    if (guard[j] != guard_byte(j)) return static_cast<std::int64_t>(j);
  }
  return std::nullopt;
}

std::uint64_t hash_bytes(std::span<const std::byte> bytes, int threads) {
  if (threads < 1) {
    throw error(failure::usage, fmt::format("hash_bytes: {} threads; give at least 1", threads));
  }
  std::vector<std::uint64_t> digests((bytes.size() + chunk_bytes - 1) / chunk_bytes);
  const auto chunks = static_cast<std::int64_t>(digests.size());
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t c = 0; c < chunks; ++c) {
    const std::size_t first = static_cast<std::size_t>(c) * chunk_bytes;
    const std::size_t size = std::min(chunk_bytes, bytes.size() - first);
    digests[static_cast<std::size_t>(c)] = XXH3_64bits(bytes.data() + first, size);
  }
  return XXH3_64bits_withSeed(digests.data(), digests.size() * sizeof(std::uint64_t), bytes.size());
}

}  // namespace kselect::harness
