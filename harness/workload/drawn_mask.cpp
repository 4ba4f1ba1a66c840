#include "harness/workload/drawn_mask.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// Philox needs no intrinsics (harness/workload/generator.hpp).
#define R123_USE_SSE 0
#define R123_USE_X86INTRIN_H 0
#include <Random123/philox.h>

#include "harness/workload/kind_text.hpp"

namespace kselect::harness {
namespace {

constexpr double preset_share = 0.1;
constexpr std::uint64_t certain = std::uint64_t{1} << 32;  // a share of 1
// Elements of the rows are drawn by the seed itself (generator.hpp); bits must not follow them.
constexpr std::uint64_t not_the_rows = 0x6d61736b62697473;

using block = r123::Philox4x32::ctr_type;  // 128 bits

// The bits of elements 128 * number to 128 * number + 127 of a row. Each is 1 if a random number of
// 32 binary digits is less than `share`, so with probability share / 2^32. The numbers are drawn
// digit by digit, the highest first, until all are known to be less or not: some 9 digits.
block drawn(std::uint64_t share, std::uint64_t seed, std::int64_t row, std::int64_t number) {
  block less{}, same{};  // bits of numbers that are less, and of those equal to `share` so far
  (share == certain ? less : same).fill(std::numeric_limits<std::uint32_t>::max());
  const std::uint64_t own_seed = seed ^ not_the_rows;
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(own_seed), static_cast<std::uint32_t>(own_seed >> 32)}};
  for (std::uint32_t digit = 0; digit < 32 && same != block{}; ++digit) {
    const block counter = {
        {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32) << 5 | digit,
         static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)}};
    const block random = r123::Philox4x32{}(counter, key);
    const bool one = (share >> (31 - digit) & 1U) != 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (one) less[i] |= same[i] & ~random[i];
      same[i] &= one ? random[i] : ~random[i];
    }
  }
  return less;
}

}  // namespace

std::string to_string(const drawn_mask& m) {
  const std::string_view kind = to_string(m.kind);
  return m.kind == mask_bits::none ? std::string(kind) : kind_text(kind, m.share);
}

std::optional<drawn_mask> parse_drawn_mask(std::string_view text) {
  const auto read = read_kind(text);
  const auto kind = read ? parse<mask_bits>(read->kind) : std::nullopt;
  if (!kind) return std::nullopt;
  if (*kind == mask_bits::none) return read->number ? std::nullopt : std::optional(drawn_mask{});
  const drawn_mask parsed{*kind, read->number.value_or(preset_share)};
  if (!(parsed.share > 0 && parsed.share <= 1)) return std::nullopt;
  return parsed;
}

std::vector<std::uint32_t> make_mask(const drawn_mask& m, std::int64_t n, std::int64_t q,
                                     std::uint64_t seed) {
  if (m.kind == mask_bits::none) return {};
  const std::int64_t words = words_of_mask(n), rows = m.kind == mask_bits::columns ? 1 : q;
  const auto share =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(m.share * 0x1p32)));
  std::vector<std::uint32_t> mask;
  mask.reserve(static_cast<std::size_t>(rows * words));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t first = 0; first < words; first += 4) {
      const block bits = drawn(share, seed, row, first / 4);
      mask.insert(mask.end(), bits.begin(),
                  bits.begin() + std::min<std::int64_t>(4, words - first));
    }
    if (n % 32 != 0) mask.back() &= (std::uint32_t{1} << n % 32) - 1;
  }
  return mask;
}

}  // namespace kselect::harness
