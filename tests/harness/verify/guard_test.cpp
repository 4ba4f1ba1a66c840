// Poison differs from every answer, guard bands show every damaged byte, and the hash depends
// only on the bytes.

#include "harness/verify/guard.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "kselect/order.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

template <class T>
T poisoned() {
  std::array<std::byte, sizeof(T)> bytes;
  poison(bytes);
  return std::bit_cast<T>(bytes);
}

TEST(poison, is_nan_in_all_types) {
  EXPECT_TRUE(std::isnan(poisoned<float>()));
  EXPECT_TRUE(std::isnan(poisoned<double>()));
  for (const std::uint16_t half : std::bit_cast<std::array<std::uint16_t, 2>>(poison_as_word())) {
    EXPECT_TRUE(is_nan(float16{half}));
    EXPECT_TRUE(is_nan(bfloat16{half}));
  }
}

TEST(poison, is_a_negative_index_other_than_minus_one) {
  EXPECT_LT(poisoned<std::int32_t>(), -1);
  EXPECT_LT(poisoned<std::int64_t>(), -1);
}

TEST(poison, fills_every_byte) {
  std::vector<std::byte> bytes(1027);
  poison(bytes);
  for (std::size_t j = 0; j < bytes.size(); ++j) ASSERT_NE(bytes[j], std::byte{0}) << j;
}

TEST(guard, is_intact_when_untouched) {
  std::array<std::byte, guard_bytes> guard;
  fill_guard(guard);
  EXPECT_EQ(first_damaged(guard), std::nullopt);
}

TEST(guard, shows_the_first_byte_of_a_write_past_the_end) {
  std::vector<std::byte> memory(guard_bytes + 8 * sizeof(float) + guard_bytes);
  const std::span all(memory);
  const auto before = all.first(guard_bytes);
  const auto after = all.last(guard_bytes);
  fill_guard(before);
  fill_guard(after);
  const float value = 1.5F;
  std::memcpy(memory.data() + guard_bytes + 8 * sizeof(float), &value, sizeof value);
  EXPECT_EQ(first_damaged(before), std::nullopt);
  EXPECT_EQ(first_damaged(after), 0);
  fill_guard(after);
  std::memcpy(memory.data() + guard_bytes - sizeof(float), &value, sizeof value);
  EXPECT_EQ(first_damaged(before), guard_bytes - sizeof(float));
}

TEST(guard, shows_any_single_bit) {
  std::array<std::byte, guard_bytes> guard;
  fill_guard(guard);
  for (std::size_t j = 0; j < guard.size(); ++j) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      guard[j] ^= std::byte{1} << bit;
      ASSERT_EQ(first_damaged(guard), static_cast<std::int64_t>(j));
      guard[j] ^= std::byte{1} << bit;
    }
  }
}

TEST(guard, shows_fills_and_shifted_copies) {
  std::array<std::byte, guard_bytes> guard;
  for (unsigned fill = 0; fill < 256; ++fill) {
    guard.fill(static_cast<std::byte>(fill));
    EXPECT_TRUE(first_damaged(guard)) << fill;
  }
  for (std::size_t shift = 1; shift < 64; ++shift) {
    fill_guard(guard);
    std::memmove(guard.data(), guard.data() + shift, guard.size() - shift);
    EXPECT_EQ(first_damaged(guard), 0) << shift;
  }
}

TEST(hash, shows_that_the_input_was_touched) {
  std::vector<std::byte> input((std::size_t{5} << 20) + 7);
  const std::uint64_t before = hash_bytes(input, 1);
  EXPECT_EQ(hash_bytes(input, 1), before);
  for (const std::size_t j : {std::size_t{0}, std::size_t{1} << 20, input.size() - 1}) {
    input[j] ^= std::byte{1};
    EXPECT_NE(hash_bytes(input, 1), before) << j;
    input[j] ^= std::byte{1};
  }
  EXPECT_EQ(hash_bytes(input, 1), before);
}

TEST(hash, is_the_same_on_any_number_of_threads) {
  constexpr std::size_t chunk = std::size_t{1} << 20;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1, 5 * chunk + 3}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t j = 0; j < size; ++j) bytes[j] = static_cast<std::byte>(j * j >> 3);
    const std::uint64_t alone = hash_bytes(bytes, 1);
    for (int threads = 2; threads <= 4; ++threads) EXPECT_EQ(hash_bytes(bytes, threads), alone);
  }
}

TEST(hash, tells_lengths_apart) {
  const std::vector<std::byte> zeros(std::size_t{1} << 21);
  const std::span all(zeros);
  EXPECT_NE(hash_bytes(all, 1), hash_bytes(all.first(std::size_t{1} << 20), 1));
  EXPECT_NE(hash_bytes(all.first(0), 1), hash_bytes(all.first(1), 1));
}

TEST(hash, refuses_no_threads) { EXPECT_THROW(hash_bytes({}, 0), runtime::error); }

}  // namespace
}  // namespace kselect::harness
