// Filling and hashing by kernels, on fibers: each word is handled once, and the hash is the host's.

#include "harness/verify/device/words.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/verify/guard.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

class DeviceWords : public testing::Test {
 protected:
  static std::vector<std::uint32_t> some(std::size_t count) {
    std::vector<std::uint32_t> words(count);
    for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i * i) / 3;
    return words;
  }
  std::uint64_t here(const std::vector<std::uint32_t>& words) {
    const auto bytes = std::as_bytes(std::span(words));
    return hash_words(*place_, bytes.data(), bytes.size());
  }
  static std::uint64_t on_host(const std::vector<std::uint32_t>& words, int threads = 1) {
    return hash_words(std::as_bytes(std::span(words)), threads);
  }

  std::unique_ptr<backend> place_ = open_host_backend(executor_kind::fiber, 2);
};

TEST_F(DeviceWords, HashIsTheSameInEveryPlace) {
  for (const std::size_t count : {0, 1, 31, 255, 256, 257, 4096, 70'001}) {
    const auto words = some(count);
    EXPECT_EQ(here(words), on_host(words)) << count;
    EXPECT_EQ(on_host(words, 3), on_host(words)) << count;
  }
}

TEST_F(DeviceWords, HashShowsEveryBitEveryExchangeAndTheLength) {
  auto words = some(67);
  const std::uint64_t before = on_host(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (int bit = 0; bit < 32; ++bit) {
      words[i] ^= std::uint32_t{1} << bit;
      EXPECT_NE(on_host(words), before) << i << " " << bit;
      words[i] ^= std::uint32_t{1} << bit;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (words[i] == words[j]) continue;
      std::swap(words[i], words[j]);
      EXPECT_NE(on_host(words), before) << i << " " << j;
      std::swap(words[i], words[j]);
    }
  }
  words.push_back(0);
  EXPECT_NE(on_host(words), before);
}

// Beyond 2^32 words the upper half of the position must enter the hash.
TEST_F(DeviceWords, HashTellsFarPositionsApart) {
  EXPECT_NE(hash_of_word(7, 5), hash_of_word(7, (std::int64_t{1} << 32) + 5));
  EXPECT_NE(hash_of_word(7, 5), hash_of_word(7, (std::int64_t{1} << 33) + 5));
}

// Rows of 8-bit and 16-bit elements may begin and end in the middle of a word.
TEST_F(DeviceWords, PartsOfWordsAreHashedAlikeInEveryPlace) {
  const auto words = some(300);
  const auto bytes = std::as_bytes(std::span(words));
  for (const std::size_t first : {0, 1, 2, 3, 4, 6}) {
    for (const std::size_t size : {1, 2, 3, 4, 6, 7, 512, 1021, 1022, 1024}) {
      const auto part = bytes.subspan(first, size);
      EXPECT_EQ(hash_words(*place_, part.data(), size), hash_words(part, 2))
          << first << " " << size;
      std::vector<std::byte> copy(part.begin(), part.end());
      copy.back() ^= std::byte{1};
      EXPECT_NE(hash_words(copy, 1), hash_words(part, 1)) << first << " " << size;
    }
  }
}

TEST_F(DeviceWords, FillWritesEveryHalfWordAndNoOther) {
  for (const std::size_t first : {1, 2}) {
    for (const std::size_t count : {1, 2, 3, 257, 9'999}) {
      std::vector<std::uint16_t> halves(count + 3, 1);
      fill_words(*place_, reinterpret_cast<std::byte*>(halves.data() + first), count * 2,
                 poison_as_word());
      EXPECT_EQ(halves[first - 1], 1U);
      EXPECT_EQ(halves[first + count], 1U);
      std::vector<std::byte> poisoned(count * 2);
      poison(poisoned);
      EXPECT_TRUE(
          std::ranges::equal(std::as_bytes(std::span(halves).subspan(first, count)), poisoned))
          << first << " " << count;
    }
  }
}

TEST_F(DeviceWords, FillWritesEveryByteAndNoOther) {
  for (const std::size_t first : {1, 2, 3}) {
    for (const std::size_t count : {1, 2, 3, 5, 1'023, 9'999}) {
      std::vector<std::byte> bytes(first + count + 1, std::byte{1});
      fill_words(*place_, bytes.data() + first, count, poison_as_word());
      EXPECT_EQ(bytes[first - 1], std::byte{1});
      EXPECT_EQ(bytes[first + count], std::byte{1});
      std::vector<std::byte> poisoned(count);
      poison(poisoned);
      EXPECT_TRUE(std::ranges::equal(std::span(bytes).subspan(first, count), poisoned))
          << first << " " << count;
    }
  }
}

TEST_F(DeviceWords, HashNeedsAThread) {
  const std::vector<std::byte> bytes(4);
  EXPECT_THROW(hash_words(bytes, 0), error);
}

TEST_F(DeviceWords, FillWritesEveryWordAndNoOther) {
  for (const std::size_t count : {0, 1, 257, 10'000}) {
    std::vector<std::uint32_t> words(count + 2, 1);
    fill_words(*place_, reinterpret_cast<std::byte*>(words.data() + 1), count * 4,
               poison_as_word());
    EXPECT_EQ(words.front(), 1U);
    EXPECT_EQ(words.back(), 1U);
    std::vector<std::byte> poisoned(count * 4);
    poison(poisoned);
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(words).subspan(1, count)), poisoned))
        << count;
  }
}

}  // namespace
}  // namespace kselect::harness
