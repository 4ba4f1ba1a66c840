#include "harness/verify/device/words.hpp"

#include <cstring>

#include <fmt/format.h>

#include "harness/error.hpp"

namespace kselect {

std::uint64_t hash_words(std::span<const std::byte> bytes, int threads) {
  constexpr std::size_t word_bytes = sizeof(std::uint32_t);
  if (threads < 1 || bytes.size() % word_bytes != 0) {
    throw error(failure::usage,
                fmt::format("hash_words: {} bytes on {} threads; give whole words of "
                            "four bytes and at least one thread",
                            bytes.size(), threads));
  }
  const auto words = static_cast<std::int64_t>(bytes.size() / word_bytes);
  std::uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static)
  for (std::int64_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes.data() + static_cast<std::size_t>(i) * word_bytes, word_bytes);
    sum += hash_of_word(word, i);
  }
  return sum;
}

}  // namespace kselect
