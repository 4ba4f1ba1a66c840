// Several blocks a row, each with its own threshold, on fibers: checks which parts are read again,
// and the answers.

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/buffered_multi_select/grid/own.cuh"
#include "algorithms/buffered_multi_select/shape.hpp"
#include "tests/simt/fiber_run.hpp"

namespace kselect::bms::own_rows {
namespace {

constexpr int loads = 8, width = 4, threads = 64;  // loads as on a GPU
constexpr std::int64_t of_tile = threads * loads * width;
using simt::over;

struct shape {
  position parts, rank, slots, enough;
};

// One row. All its calls have the same number and the same memory, like repeats of a CUDA graph.
template <bool one_tile>
class row_of_parts {
 public:
  using kernel = own_kernel<float, false, loads, one_tile>;

  row_of_parts(std::int64_t n, position k, const shape& s)
      : row(static_cast<std::size_t>(n)),
        values(k),
        heads(s.parts, {7, 7}),
        entries(s.parts * s.slots, {9, 9}),
        tags{5} {
    args.matrix = {{row.data(), n}, 1, n, static_cast<position>(n), k, direction::smallest};
    args.out.values = over(values);
    const auto planned =
        filtering_plan<float, false>(n, k, {threads, loads}, 48 << 10, {s.parts, 1});
    EXPECT_TRUE(planned.has_value());
    if (!planned) return;
    EXPECT_EQ(planned->tiles == 1, one_tile);
    args.shape = *planned;
    args.shape.groups = 1;
    args.shape.rank = s.rank;
    args.heads = over(heads);
    args.entries = over(entries);
    args.tags = over(tags);
    args.call = 42;
    args.parts = s.parts;
    args.slots = s.slots;
    args.enough = s.enough;
  }

  // Selects and expects the k smallest. Returns the number of parts that were read again.
  std::int64_t select(const simt::fiber_options& options = {}) {
    simt::counters counted;
    simt::fiber_options counting = options;
    counting.counters = &counted;
    const simt::grid grid{
        .blocks = args.parts,
        .threads = threads,
        .dynamic_shared_bytes =
            grid_shared<float, false, told_part<float>>::bytes(args.shape, args.parts),
        .awaits_earlier_blocks = true};
    EXPECT_EQ(simt::run_on_fibers<kernel>(grid, args, counting).message, "");
    std::vector<std::uint32_t> found, wanted;
    for (const float x : values) found.push_back(order_key(x));
    for (const float x : row) wanted.push_back(order_key(x));
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
    wanted.resize(found.size());
    EXPECT_EQ(found, wanted);
    return counted[simt::counter::passes];
  }

  std::vector<float> row, values;
  std::vector<simt::message> heads, entries;
  std::vector<std::uint64_t> tags;
  typename kernel::args args{};
};

void shuffle(std::vector<float>& row, unsigned seed) {
  std::iota(row.begin(), row.end(), 0.0F);
  std::shuffle(row.begin(), row.end(), std::mt19937(seed));
}

// Parts, rank, slots, enough. The last block looks at four slots a thread.
constexpr shape eight_parts{8, 12, 32, 24};

TEST(BufferedMultiSelectOwn, RandomRowsAreReadOnceInAnyOrderOfLanes) {
  for (const simt::fiber_options& options : simt::all_schedules()) {
    row_of_parts<true> one(8 * of_tile, 60, eight_parts);
    shuffle(one.row, 3);
    EXPECT_EQ(one.select(options), 0);
    row_of_parts<false> two(16 * of_tile, 60, eight_parts);
    shuffle(two.row, 4);
    EXPECT_EQ(two.select(options), 0);
  }
}

// Parts have more survivors than slots; the best of them suffice.
TEST(BufferedMultiSelectOwn, SortedRowsAreReadOnce) {
  for (const float sign : {1.0F, -1.0F}) {
    row_of_parts<true> one(8 * of_tile, 100, eight_parts);
    for (std::size_t i = 0; i < one.row.size(); ++i) one.row[i] = sign * static_cast<float>(i);
    EXPECT_EQ(one.select(), 0);
  }
}

TEST(BufferedMultiSelectOwn, TiesWithTheLeastAreReadOnce) {
  for (const int values : {1, 4, 16}) {
    row_of_parts<true> one(8 * of_tile, 100, eight_parts);
    row_of_parts<false> two(16 * of_tile, 100, eight_parts);
    for (auto* row : {&one.row, &two.row}) {
      shuffle(*row, 5);
      for (float& x : *row) x = static_cast<float>(static_cast<int>(x) % values);
    }
    EXPECT_EQ(one.select(), 0) << values;
    EXPECT_EQ(two.select(), 0) << values;
  }
}

// All of the k smallest are in one part or in two, which have too few slots to post them.
TEST(BufferedMultiSelectOwn, PartsThatHoldBackAreReadAgain) {
  for (const std::size_t first : {0, 3, 7}) {
    for (const std::size_t second : {3, 7}) {
      row_of_parts<true> one(8 * of_tile, 200, eight_parts);
      shuffle(one.row, 6);
      for (std::size_t i = 0; i < one.row.size(); ++i) {
        const std::size_t part = i / 16 % 8;  // chunks are assigned to parts in turn
        one.row[i] += part == first || part == second ? 0.0F : 1e6F;
      }
      EXPECT_EQ(one.select(), first == second ? 1 : 2);
    }
  }
}

// Several parts are read again; the elements that other parts posted must be kept.
TEST(BufferedMultiSelectOwn, WhatWasPostedIsKeptWhereOthersAreReadAgain) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    row_of_parts<true> one(8 * of_tile, 60, {8, 3, 8, 6});
    shuffle(one.row, seed);
    one.select();
    row_of_parts<false> two(16 * of_tile + 5, 60, {8, 3, 8, 6});
    shuffle(two.row, seed);
    two.select();
  }
}

// A NaN is the minimum of its group, whatever else the group holds. The row consists of ties and
// has NaNs of both signs and an element below the other groups' minima.
TEST(BufferedMultiSelectOwn, NansInRowsOfTiesHideNothing) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t at : {0, 5, 100, 700, 4000, 8190}) {
    row_of_parts<true> one(8 * of_tile, 10, eight_parts);
    std::fill(one.row.begin(), one.row.end(), 1.0F);
    one.row[at] = -nan;
    one.row[(at + 1024) % one.row.size()] = nan;
    one.row[(at + 1025) % one.row.size()] = 0.5F;
    one.select();
    std::fill(one.row.begin(), one.row.end(), nan);
    one.row[at] = -nan;
    one.select();
  }
}

// One warp of a part holds all its ties, and it is not the first.
TEST(BufferedMultiSelectOwn, TiesOfAnyWarpAreReadOnce) {
  row_of_parts<true> one(8 * of_tile, 10, eight_parts);
  for (std::size_t i = 0; i < one.row.size(); ++i) {
    const std::size_t segment = i / 16 % 16;  // belongs to part segment % 8, warp segment / 8
    one.row[i] = segment == 11 ? 1.0F : segment == 3 ? 5.0F : 9.0F;
  }
  EXPECT_EQ(one.select(), 0);
}

// As in rows of 16-bit elements: few elements tie with the least, but more than k.
TEST(BufferedMultiSelectOwn, FewTiesWithTheLeastAreReadOnce) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    row_of_parts<true> one(8 * of_tile, 80, {8, 4, 32, 24});
    shuffle(one.row, seed);
    for (float& x : one.row) x = std::max(x, 120.0F);
    EXPECT_EQ(one.select(), 0) << seed;
  }
}

// Parts that hold only NaNs post nothing, but the answer needs some of their NaNs.
TEST(BufferedMultiSelectOwn, NansOfPartsThatPostNothingAreFound) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  row_of_parts<true> one(8 * of_tile, 100, eight_parts);
  std::fill(one.row.begin(), one.row.end(), std::bit_cast<float>(std::bit_cast<int>(nan) + 9));
  for (std::size_t i = 0; i < one.row.size(); i += 128) one.row[i] = 1.0F;
  for (std::size_t i = 16; i < one.row.size(); i += 128) one.row[i] = nan;
  one.select();
}

TEST(BufferedMultiSelectOwn, ClustersTiesAndNansInAnyMixture) {
  std::mt19937 random(11);
  const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  for (int round = 0; round < 60; ++round) {
    row_of_parts<true> one(8 * of_tile - below(700), 1 + below(90), eight_parts);
    const unsigned stride = 16U << below(4), hot = below(16), values = 1 + below(6);
    const unsigned nans = below(3) == 0 ? 300 : 0;  // one element in 300 is a NaN
    for (std::size_t i = 0; i < one.row.size(); ++i) {
      const bool clustered = i / stride % 16 == hot;
      one.row[i] = static_cast<float>(clustered ? below(2) : 5 + below(values));
      if (nans != 0 && below(nans) == 0) {
        one.row[i] = std::bit_cast<float>((below(2) == 0 ? 0x7fc00000U : 0xffc00000U) + below(3));
      }
    }
    one.select();
  }
}

// A graph repeats the call with the same number and finds the messages of the previous call in
// memory. None of them may have the tag of the next call.
TEST(BufferedMultiSelectOwn, AGraphMayRepeatACall) {
  row_of_parts<true> one(8 * of_tile, 60, eight_parts);
  for (unsigned seed = 0; seed < 4; ++seed) {
    shuffle(one.row, seed);
    const std::uint64_t tag = tag_after(one.tags[0], one.args.call);
    one.select();
    const auto is_of_this = [&](const simt::message& m) { return m.tag == tag; };
    EXPECT_TRUE(std::all_of(one.heads.begin(), one.heads.end(), is_of_this));
    EXPECT_TRUE(std::all_of(one.entries.begin(), one.entries.end(), is_of_this));
    EXPECT_NE(tag_after(one.tags[0], one.args.call), tag);
  }
}

}  // namespace
}  // namespace kselect::bms::own_rows
