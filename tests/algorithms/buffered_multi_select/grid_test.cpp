// Several blocks a row, on fibers, in shapes that the choice for fibers never makes: more parts
// than threads to gather them, and parts that leave more survivors than are read ahead.

#include "algorithms/buffered_multi_select/grid.cuh"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "algorithms/buffered_multi_select/shape.hpp"
#include "tests/simt/fiber_run.hpp"

namespace kselect::bms {
namespace {

constexpr int loads = 4, width = 4, threads = 64;
using simt::over;

struct shape {
  position parts, lanes, gatherers;
};

// The k smallest of one row, sorted. Nothing may be lost on the way, or a block would read the
// whole row once more.
std::vector<float> select(const std::vector<float>& row, position k, const shape& s,
                          simt::fiber_options options) {
  simt::counters counted;
  options.counters = &counted;
  const auto n = static_cast<std::int64_t>(row.size());
  std::vector<float> values(k);
  grid_args<float, false> a{};
  a.matrix = {{row.data(), n}, 1, n, static_cast<position>(n), k, direction::smallest};
  a.out.values = over(values);
  const auto planned =
      filtering_plan<float, false>(n, k, {threads, loads}, 48 << 10, {s.parts, s.lanes});
  EXPECT_TRUE(planned.has_value());
  if (!planned) return values;
  a.shape = *planned;
  a.parts = s.parts;
  a.lanes = s.lanes;
  a.gatherers = s.gatherers;
  a.row_minima = s.parts * threads / s.lanes * a.shape.groups;
  a.shape.capacity = std::max({a.shape.capacity, a.row_minima, s.gatherers * gathered_ahead});
  a.alone = a.shape;
  a.alone.tiles =
      static_cast<position>((n + threads * loads * width - 1) / (threads * loads * width));
  std::vector<std::uint32_t> minima(a.row_minima), sizes(s.parts), finished{99};
  std::vector<bare_candidate<float>::type> left(std::size_t{s.parts} * a.shape.capacity);
  a.memory = {over(minima), over(left), over(sizes), over(finished)};
  const simt::grid grid{.blocks = s.parts, .threads = threads};
  EXPECT_EQ((simt::run_on_fibers<sample_kernel<float, false, loads>>(grid, a, options).message),
            "");
  if (a.shape.tiles == 1) {  // every element belongs to a published group
    EXPECT_EQ(*std::min_element(minima.begin(), minima.end()),
              order_key(*std::min_element(row.begin(), row.end())));
  }
  simt::grid next = grid;
  next.dynamic_shared_bytes = team_memory<float, false>::bytes(a.shape);
  next.overlaps_previous = true;
  EXPECT_EQ((simt::run_on_fibers<stream_kernel<float, false, loads>>(next, a, options).message),
            "");
  EXPECT_EQ(finished[0], s.parts);
  const std::int64_t between =
      std::int64_t{s.parts} * (a.row_minima + s.gatherers * gathered_ahead);
  EXPECT_LT(counted[simt::counter::global_reads], 2 * n + between + n / 2);
  std::sort(values.begin(), values.end());
  return values;
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

TEST(BufferedMultiSelectGrid, MorePartsThanThreadsAreGatheredInRounds) {
  expect_smallest(shuffled(140 * threads * loads * width / 2), 50, {140, 64, 1});
  expect_smallest(shuffled(5 * threads * loads * width), 50, {5, 8, 32});  // two parts at once
}

TEST(BufferedMultiSelectGrid, MinimaOfAnyNumberOfThreadsAreJoined) {
  for (const position lanes : {1, 2, 8, 32, 64}) {
    for (const std::size_t least : {100, 600, 8000}) {  // of the first and of the second warp
      std::vector<float> row = shuffled(8 * threads * loads * width);
      row[least] = -1;
      expect_smallest(row, 3, {8, lanes, 8});
    }
    expect_smallest(shuffled(8 * threads * loads * width + 3), 3, {8, lanes, 8});
  }
}

// One thread a part reads a few survivors ahead; here one part leaves all.
TEST(BufferedMultiSelectGrid, APartMayLeaveMoreThanIsReadAhead) {
  constexpr std::int64_t n = 16 * threads * loads * width;
  std::vector<float> row = shuffled(n);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += i < n / 16 ? 0.0F : 1e6F;
  for (const position gatherers : {1, 4}) expect_smallest(row, 100, {16, 1, gatherers});
}

}  // namespace
}  // namespace kselect::bms
