// The certificate on rows of their own lengths and under masks: on all small worlds it accepts an
// answer if and only if the answer is right.

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "harness/verify/certificate.hpp"

namespace kselect::harness {
namespace {

constexpr std::int64_t n = 3, k = 2;
constexpr float none = std::numeric_limits<float>::infinity();

// One row of up to n elements, of which a mask admits some.
struct world {
  std::array<float, n> row{};
  std::int32_t length = 0, wanted = 0;
  std::uint32_t mask = 0;
  bool masked = false;

  bool admits(std::int64_t j) const { return !masked || (mask >> j & 1U) != 0; }
  std::vector<float> admitted() const {
    std::vector<float> all;
    for (std::int64_t j = 0; j < length; ++j) {
      if (admits(j)) all.push_back(row[static_cast<std::size_t>(j)]);
    }
    std::ranges::sort(all);
    return all;
  }
};

struct answer {
  std::array<float, k> values{};
  std::array<std::int32_t, k> indices{};
};

bool is_right(const world& w, const answer& a) {
  std::vector<float> best = w.admitted();
  best.resize(std::min<std::size_t>(best.size(), static_cast<std::size_t>(w.wanted)));
  std::vector<float> found;
  for (std::size_t j = 0; j < k; ++j) {
    const std::int32_t index = a.indices[j];
    if (j >= best.size()) {
      if (index != -1 || a.values[j] != none) return false;
      continue;
    }
    if (index < 0 || index >= w.length || !w.admits(index)) return false;
    if (w.row[static_cast<std::size_t>(index)] != a.values[j]) return false;
    found.push_back(a.values[j]);
  }
  std::ranges::sort(found);
  const bool twice = best.size() == 2 && a.indices[0] == a.indices[1];
  return !twice && found == best;
}

bool is_accepted(const world& w, const answer& a) {
  problem p;
  p.n = n;
  p.q = 1;
  p.k = k;
  p.lengths = p.k_each = row_numbers::int32;
  if (w.masked) p.mask = mask_bits::columns;
  answer given = a;
  const io buffers{.input = w.row.data(),
                   .values = given.values.data(),
                   .indices = given.indices.data(),
                   .lengths = &w.length,
                   .k_each = &w.wanted,
                   .mask = &w.mask};
  return static_cast<bool>(verify(p, contract{}, buffers, 1));
}

// Calls f for every answer of small numbers.
template <class F>
void each_answer(const F& f) {
  constexpr std::array values = {0.0F, 1.0F, none};
  for (std::int32_t first = -1; first <= n; ++first) {
    for (std::int32_t second = -1; second <= n; ++second) {
      for (const float a : values) {
        for (const float b : values) f(answer{{a, b}, {first, second}});
      }
    }
  }
}

void check_world(const world& w) {
  int right = 0;
  each_answer([&](const answer& a) {
    right += is_right(w, a) ? 1 : 0;
    ASSERT_EQ(is_accepted(w, a), is_right(w, a))
        << "row " << w.row[0] << ' ' << w.row[1] << ' ' << w.row[2] << ", length " << w.length
        << ", wanted " << w.wanted << ", mask " << (w.masked ? std::int64_t{w.mask} : -1)
        << ", answer " << a.values[0] << " of " << a.indices[0] << ", " << a.values[1] << " of "
        << a.indices[1];
  });
  ASSERT_GT(right, 0);
}

TEST(CertificateOfRaggedRows, AcceptsRightAnswersAlone) {
  for (unsigned bits = 0; bits < 1U << n; ++bits) {
    for (std::int32_t length = 0; length <= n; ++length) {
      for (std::int32_t wanted = 0; wanted <= k; ++wanted) {
        for (std::uint32_t mask = 0; mask <= 1U << n; ++mask) {
          world w{.length = length, .wanted = wanted, .mask = mask, .masked = mask != 1U << n};
          for (std::size_t j = 0; j < n; ++j) w.row[j] = static_cast<float>(bits >> j & 1U);
          check_world(w);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// The mask of a row among others begins at its own word.
TEST(CertificateOfRaggedRows, ReadsTheMaskOfEachRow) {
  const std::array<float, 4> rows = {1, 2, 3, 4};
  const std::array<std::uint32_t, 4> mask = {2, 0, 1,
                                             0};  // the second of row 0, the first of row 1
  std::array<float, 2> values = {2, 3};
  std::array<std::int32_t, 2> indices = {1, 0};
  problem p;
  p.n = p.q = 2;
  p.k = 1;
  p.mask = mask_bits::elements;
  p.mask_pitch = 2;
  const io buffers{.input = rows.data(),
                   .values = values.data(),
                   .indices = indices.data(),
                   .mask = mask.data()};
  EXPECT_TRUE(verify(p, contract{}, buffers, 1));
  values[0] = 1;  // the least of the row, which its mask leaves out
  indices[0] = 0;
  const verdict wrong = verify(p, contract{}, buffers, 1);
  ASSERT_EQ(wrong.rows_wrong, 1);
  EXPECT_EQ(wrong.first->detail, "index_range: row 0, position 0: the mask admits no element 0");
}

}  // namespace
}  // namespace kselect::harness
