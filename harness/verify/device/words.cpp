#include "harness/verify/device/words.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::harness {

std::uint64_t hash_words(std::span<const std::byte> bytes, int threads) {
  constexpr std::size_t word_bytes = sizeof(std::uint32_t);
  if (threads < 1) {
    throw error(failure::usage,
                fmt::format("hash_words: on {} threads; give at least one", threads));
  }
  const auto words = static_cast<std::int64_t>((bytes.size() + word_bytes - 1) / word_bytes);
  std::uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static)
  for (std::int64_t i = 0; i < words; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * word_bytes;
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(word_bytes, bytes.size() - at));
    sum += hash_of_word(word, i);
  }
  return sum;
}

}  // namespace kselect::harness
