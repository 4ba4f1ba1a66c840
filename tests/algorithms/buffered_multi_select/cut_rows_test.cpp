// How long ragged rows are cut into pieces: each piece once, places that exist, and no piece but a
// row's first or last that is short.

#include "algorithms/buffered_multi_select/block/cut_rows.cuh"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/backend/host_backend.hpp"

namespace kselect::bms {
namespace {

constexpr position unit = 1U << least_unit_bits;

// Finds the pieces of each block's share.
struct find_kernel {
  static constexpr int max_threads = 64;
  struct storage {
    row_piece pieces[2];
  };
  struct args {
    piece_lists lists;
    simt::global<row_piece> found;  // [2 shares]
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    find_pieces(simt, a.lists, shared.pieces);
    if (simt.thread() < 2) {
      simt.store(a.found, 2 * simt.block() + simt.thread(), shared.pieces[simt.thread()]);
    }
  }
};

int unit_bits_of(const std::vector<std::int32_t>& lengths) {
  return unit_bits_for(std::ssize(lengths), *std::ranges::max_element(lengths));
}

struct cut_lengths {
  cut_totals totals{};
  std::vector<row_piece> pieces;  // two of each share
  std::vector<cut_row> rows;
  std::vector<position> whole;
};

// `Number`: the type of the lengths that the kernel reads.
template <int at_once, class Number = std::int32_t>
cut_lengths cut(const std::vector<std::int32_t>& lengths, position shares, position shortest_share,
                position shortest_row = 0) {
  const auto q = static_cast<std::int64_t>(lengths.size());
  cut_lengths found;
  found.pieces.resize(2 * std::size_t{shares});
  found.rows.resize(shares);
  found.whole.resize(lengths.size());
  kernels::row_places places{};
  const std::vector<Number> numbers(lengths.begin(), lengths.end());
  if constexpr (sizeof(Number) == 4) {
    places.lengths.of_32 = {numbers.data(), q};
  } else {
    places.lengths.of_64 = {numbers.data(), q};
  }
  places.has_lengths = true;
  places.rows = q;
  places.n = 1U << 31;
  piece_lists lists;
  lists.totals = {&found.totals, 1};
  lists.rows = {found.rows.data(), shares};
  lists.whole = {found.whole.data(), q};
  lists.shares = shares;
  lists.unit_bits = unit_bits_of(lengths);
  lists.shortest_share = shortest_share;
  lists.shortest_row = shortest_row;
  const auto place = runtime::open_host_backend(executor_kind::fiber, 2);
  constexpr int threads = find_kernel::max_threads;
  status done = simt::launch<cut_kernel<at_once>>(place->executor(), {1, threads}, {places, lists});
  EXPECT_TRUE(done.ok()) << done.message;
  const simt::global<row_piece> pieces{found.pieces.data(), 2 * std::int64_t{shares}};
  done = simt::launch<find_kernel>(place->executor(), {shares, threads}, {lists, pieces});
  EXPECT_TRUE(done.ok()) << done.message;
  return found;
}

// The pieces of each row in order, by the number of the row.
std::map<std::int64_t, std::vector<row_piece>> pieces_of_rows(const cut_lengths& found) {
  std::map<std::int64_t, std::vector<row_piece>> of;
  for (const row_piece& p : found.pieces) {
    if (p.elements == 0) continue;
    auto& own = of[p.of.row];
    own.resize(std::max(own.size(), p.number + std::size_t{1}));
    EXPECT_EQ(own[p.number].elements, 0U) << "listed twice";
    own[p.number] = p;
  }
  return of;
}

void expect_pieces(const cut_lengths& found, const std::vector<std::int32_t>& lengths,
                   position shares, position shortest_share) {
  auto of = pieces_of_rows(found);
  ASSERT_EQ(of.size(), found.totals.rows);
  ASSERT_LE(found.totals.rows, shares);
  std::vector<bool> taken(2 * std::size_t{shares});
  for (position c = 0; c < found.totals.rows; ++c) {
    const cut_row& row = found.rows[c];
    const auto& pieces = of.at(row.row);
    ASSERT_EQ(pieces.size(), row.count);
    ASSERT_GE(row.count, 2U);
    position begin = 0;
    for (position i = 0; i < row.count; ++i) {
      const position wanted = i == 0 ? row.head : i + 1 == row.count ? row.last : row.elements;
      EXPECT_EQ(pieces[i].elements, wanted);
      EXPECT_EQ(pieces[i].begin, begin);
      begin += pieces[i].elements;
      const std::size_t place_of_candidates = std::size_t{row.first} + i;
      ASSERT_LT(place_of_candidates, taken.size());
      EXPECT_FALSE(taken[place_of_candidates]) << "two pieces have the same candidates";
      taken[place_of_candidates] = true;
    }
    EXPECT_EQ(begin, static_cast<position>(lengths[static_cast<std::size_t>(row.row)]));
    EXPECT_LE(row.head, row.elements);
    EXPECT_GE(3 * row.elements, shortest_share << unit_bits_of(lengths));
  }
  EXPECT_EQ(found.totals.rows + found.totals.whole, lengths.size());
  std::vector<bool> seen(lengths.size());
  for (position i = 0; i < found.totals.whole; ++i) seen.at(found.whole[i]) = true;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    EXPECT_NE(seen[r], of.contains(static_cast<std::int64_t>(r))) << "row " << r;
  }
}

void expect_pieces(const std::vector<std::int32_t>& lengths, position shares,
                   position shortest_share) {
  expect_pieces(cut<1>(lengths, shares, shortest_share), lengths, shares, shortest_share);
  expect_pieces(cut<4>(lengths, shares, shortest_share), lengths, shares, shortest_share);
  expect_pieces(cut<4, std::int64_t>(lengths, shares, shortest_share), lengths, shares,
                shortest_share);
}

TEST(cut_rows, lists_each_element_of_each_row_once) {
  expect_pieces({0, 0, 0}, 4, 1);
  expect_pieces({1 << 30}, 264, 64);                                    // one row has all shares
  expect_pieces(std::vector<std::int32_t>(142, 1 << 20), 264, 64);      // laid end to end
  expect_pieces(std::vector<std::int32_t>(22, 1 << 20), 264, 64);       // a share has one piece
  expect_pieces(std::vector<std::int32_t>(7, 3 * unit), 8, 2);          // just longer than a part
  expect_pieces(std::vector<std::int32_t>(600, 0x7fffffff), 1000, 64);  // more than 2^32 units
  std::mt19937 random(1);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  for (int turn = 0; turn < 300; ++turn) {
    const int rows = turn % 50 == 0 ? 5000 : up_to(90);  // 5000: more than 32 of a thread
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(rows));
    for (std::int32_t& one : lengths) one = up_to(1 << up_to(20)) - 1;
    expect_pieces(lengths, static_cast<position>(up_to(40)), static_cast<position>(up_to(9)));
  }
}

TEST(cut_rows, leaves_short_rows_to_warps) {
  std::vector<std::int32_t> lengths(300, 99);
  lengths[7] = 100, lengths[150] = 101, lengths[299] = 40'000;
  for (cut_lengths found : {cut<1>(lengths, 4, 8, 100), cut<4>(lengths, 4, 8, 100)}) {
    found.whole.resize(found.totals.whole);
    EXPECT_THAT(found.whole, testing::UnorderedElementsAre(7, 150));
    EXPECT_EQ(found.totals.rows, 1U);
  }
}

TEST(cut_rows, gives_equal_shares_to_rows_that_would_not_fit_otherwise) {
  const cut_lengths found = cut<1>(std::vector<std::int32_t>(142, 1 << 20), 264, 64);
  std::vector<position> of_share(264);
  for (std::size_t i = 0; i < found.pieces.size(); ++i) of_share[i / 2] += found.pieces[i].elements;
  const position last = of_share.back();
  of_share.pop_back();
  const auto [least, most] = std::ranges::minmax(of_share);
  EXPECT_EQ(least, most);
  EXPECT_LE(last, most);
  EXPECT_LE(most, (142LL << 20) / 264 + unit);
}

}  // namespace
}  // namespace kselect::bms
