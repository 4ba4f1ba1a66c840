// Several blocks a row, on fibers, in shapes that no plan for the test GPU has: more slots than
// threads to gather them, and parts that leave more survivors than they have slots.

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/buffered_multi_select/grid/kernel.cuh"
#include "algorithms/buffered_multi_select/shape.hpp"
#include "tests/simt/fiber_run.hpp"

namespace kselect::bms {
namespace {

constexpr int loads = 8, width = 4, threads = 64;  // loads as on a GPU
using simt::over;

struct shape {
  position parts, lanes, slots;
};

using kernel = grid_kernel<float, false, loads>;

// One row for one call, and the call's memory, which holds arbitrary data at first.
struct call {
  call(std::vector<float>&& row, position k, const shape& s) = delete;  // the row must outlive it
  call(const std::vector<float>& row, position k, const shape& s)
      : values(k),
        messages(s.parts * threads / s.lanes * many_groups, {7, 7}),
        entries(s.parts * s.slots, {9, 9}),
        tags{5} {
    const auto n = static_cast<std::int64_t>(row.size());
    args.matrix = {{row.data(), n}, 1, n, static_cast<position>(n), k, direction::smallest};
    args.out.values = over(values);
    const auto planned =
        filtering_plan<float, false>(n, k, {threads, loads}, 48 << 10, {s.parts, s.lanes});
    EXPECT_TRUE(planned.has_value());
    if (!planned) return;
    args.shape = *planned;
    args.parts = s.parts;
    args.lanes = s.lanes;
    args.slots = s.slots;
    args.call = 42;
    args.tags = over(tags);
    args.patience = 1;
    const position minima = threads / s.lanes * args.shape.groups;  // posted by a part
    args.messages = minima / minima_each<float>(args.shape);
    messages.resize(std::size_t{s.parts} * args.messages);
    args.shape.capacity = std::max(args.shape.capacity, s.parts * minima);
    args.alone = args.shape;
    args.alone.tiles =
        static_cast<position>((n + threads * loads * width - 1) / (threads * loads * width));
    overflow.resize(std::size_t{s.parts} * args.shape.capacity);
    args.memory = {over(messages), over(entries), over(overflow)};
  }

  status run(std::int64_t blocks, const simt::fiber_options& options) const {
    const simt::grid grid{
        .blocks = blocks,
        .threads = threads,
        .dynamic_shared_bytes =
            grid_shared<float, false, crowded_part<float>>::bytes(args.shape, args.parts),
        .awaits_earlier_blocks = true};
    return simt::run_on_fibers<kernel>(grid, args, options);
  }

  std::vector<float> values;
  std::vector<simt::message> messages, entries;
  std::vector<std::uint64_t> tags;
  std::vector<bare_candidate<float>::type> overflow;
  kernel::args args{};
};

// The k smallest of one row, sorted. Messages must not get lost: a block would then read the whole
// row again, which the number of reads would show.
std::vector<float> select(const std::vector<float>& row, position k, const shape& s,
                          simt::fiber_options options) {
  simt::counters counted;
  options.counters = &counted;
  call one(row, k, s);
  const std::uint64_t tag = tag_after(one.tags[0], one.args.call);
  EXPECT_EQ(one.run(s.parts, options).message, "");
  // A graph repeats the call with the same number: no message may have the tag of the next call.
  const auto is_of_this = [&](const simt::message& m) { return m.tag == tag; };
  EXPECT_TRUE(std::all_of(one.messages.begin(), one.messages.end(), is_of_this));
  EXPECT_TRUE(std::all_of(one.entries.begin(), one.entries.end() - s.slots, is_of_this));
  EXPECT_NE(tag_after(one.tags[0], one.args.call), tag);
  const auto n = static_cast<std::int64_t>(row.size());
  const std::int64_t looked_at =
      std::int64_t{s.parts} * static_cast<std::int64_t>(one.messages.size());
  EXPECT_LT(counted[simt::counter::global_reads], 2 * n + looked_at);
  std::sort(one.values.begin(), one.values.end());
  return one.values;
}

std::vector<float> shuffled(std::int64_t n) {
  std::vector<float> row(static_cast<std::size_t>(n));
  std::iota(row.begin(), row.end(), 0.0F);
  std::shuffle(row.begin(), row.end(), std::mt19937(7));
  return row;
}

void expect_smallest(std::vector<float> row, position k, const shape& s) {
  for (const simt::schedule order :
       {simt::schedule::in_order, simt::schedule::reversed, simt::schedule::random}) {
    const auto found = select(row, k, s, {.order = order, .seed = 3});
    auto sorted = row;
    std::sort(sorted.begin(), sorted.end());
    sorted.resize(k);
    EXPECT_EQ(found, sorted) << s.parts << " parts, " << s.lanes << " lanes";
  }
}

TEST(BufferedMultiSelectGrid, MoreSlotsThanThreadsAreGatheredInRounds) {
  expect_smallest(shuffled(140 * threads * loads * width / 2), 50, {140, 64, 8});
  expect_smallest(shuffled(5 * threads * loads * width), 50, {5, 8, 40});
}

// The least minimum that all parts except the last post, for a row of one tile.
std::uint32_t least_posted(const std::vector<float>& row, const shape& s) {
  const call one(row, 3, s);
  EXPECT_EQ(one.args.shape.tiles, 1U);
  const std::uint64_t tag = tag_after(one.tags[0], one.args.call);
  EXPECT_EQ(one.run(s.parts - 1, {}).message, "");
  auto least = ~std::uint32_t{0};
  for (const simt::message& m : one.messages) {
    if (m.tag != tag) continue;
    least = std::min(least, static_cast<std::uint32_t>(m.payload));
    if (minima_each<float>(one.args.shape) == 2) {
      least = std::min(least, static_cast<std::uint32_t>(m.payload >> 32));
    }
  }
  return least;
}

TEST(BufferedMultiSelectGrid, MinimaOfAnyNumberOfThreadsAreJoined) {
  for (const position lanes : {1, 2, 8, 32, 64}) {
    const shape s{8, lanes, 8};
    for (const std::size_t least : {100, 101, 102, 103, 600, 7000}) {  // in both warps of a part
      std::vector<float> row = shuffled(8 * threads * loads * width);
      row[least] = -1;
      expect_smallest(row, 3, s);
      EXPECT_EQ(least_posted(row, s), order_key(-1.0F)) << lanes << " lanes, element " << least;
    }
    expect_smallest(shuffled(8 * threads * loads * width + 3), 3, s);
  }
}

// A first launch with the same tag leaves the minima of all blocks except the last. In the second
// launch every block therefore sees the minima of others, as concurrent blocks on a GPU do.
TEST(BufferedMultiSelectGrid, BlocksThatSeeEachOthersMinimaShareOneThreshold) {
  const std::vector<float> row = shuffled(100'000);
  const call one(row, 50, {6, 1, 64});
  simt::counters counted;
  EXPECT_EQ(one.run(5, {}).message, "");
  EXPECT_EQ(one.run(6, {.counters = &counted}).message, "");
  EXPECT_EQ(counted[simt::counter::buffer_flushes], 0);
  EXPECT_LE(counted[simt::counter::candidates], 700);
}

// All parts have more survivors than slots, and the answer needs few of these parts.
TEST(BufferedMultiSelectGrid, PartsCrowdedByTiesAreNotReadOnceTheListIsFull) {
  constexpr int parts = 64, k = 50, part = threads * loads * width;
  const std::vector<float> row(parts * part, 0.5F);
  const call one(row, k, {parts, 16, 8});
  simt::counters all, others;
  EXPECT_EQ(one.run(parts - 1, {.counters = &others}).message, "");
  EXPECT_EQ(one.run(parts, {.counters = &all}).message, "");
  EXPECT_EQ(one.values, std::vector<float>(k, 0.5F));
  const auto messages = static_cast<std::int64_t>(one.messages.size() + one.entries.size());
  EXPECT_LE(all[simt::counter::global_reads] - others[simt::counter::global_reads],
            2 * part + messages + 8 * k);
}

// In each part of 2048 elements two are below the ties: these and some ties have slots, which is
// enough. The ties without a slot are not read.
TEST(BufferedMultiSelectGrid, PartsCrowdedByTiesPostWhatIsBelowAndSomeTies) {
  constexpr int parts = 64, k = 250, part = threads * loads * width, each = 101;
  const shape s{parts, 16, 8};
  std::vector<float> row = shuffled(parts * part);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = i % each == 0 ? -1.0F : row[i];
    if (i % 1024 == 7) row[i] = -2.0F - static_cast<float>(i);
  }
  const call one(row, k, s);
  simt::counters all, others;
  EXPECT_EQ(one.run(parts - 1, {}).message, "");  // so that all minima are seen, as below
  EXPECT_EQ(one.run(parts - 1, {.counters = &others}).message, "");
  EXPECT_EQ(one.run(parts, {.counters = &all}).message, "");
  const auto messages = static_cast<std::int64_t>(one.messages.size() + one.entries.size());
  EXPECT_LE(all[simt::counter::global_reads] - others[simt::counter::global_reads],
            part + 2 * messages);
  auto found = one.values;
  std::sort(found.begin(), found.end());
  std::sort(row.begin(), row.end());
  EXPECT_EQ(found, std::vector<float>(row.begin(), row.begin() + k));
}

// The same, but few parts have ties, so that those without a slot are needed; or one tie is.
TEST(BufferedMultiSelectGrid, TiesWithoutASlotAreReadIfTheListLacksThem) {
  constexpr int parts = 16, part = threads * loads * width;
  for (const std::size_t with_ties : {1, 3}) {
    std::vector<float> row = shuffled(parts * part);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t of = i / 128 % 32 / 2;  // as below
      if (of < with_ties && i % 20 == 0) row[i] = -1;
    }
    const auto ties = static_cast<position>(std::count(row.begin(), row.end(), -1.0F));
    for (const position k : {position{20}, ties - 1, ties, ties + 1}) {
      for (const position slots : {2, 3, 8}) expect_smallest(row, k, {parts, 1, slots});
    }
  }
}

// All survivors are in one part or in two parts; one of them is always the last.
TEST(BufferedMultiSelectGrid, APartMayLeaveMoreThanItHasSlots) {
  constexpr std::int64_t n = 16 * threads * loads * width;
  for (const std::size_t first : {0, 1, 14, 15}) {
    std::vector<float> row = shuffled(n);
    for (std::size_t i = 0; i < row.size(); ++i) {
      // In one tile, segment s of 128 elements belongs to warp s of all blocks' warps.
      const std::size_t part = i / 128 % 32 / 2;
      row[i] += part == first || part == 15 ? 0.0F : 1e6F;
    }
    for (const position slots : {1, 2, 3, 8, 64}) expect_smallest(row, 100, {16, 1, slots});
  }
}

}  // namespace
}  // namespace kselect::bms
