// The bodies of the filter on a GPU of compute capability 9.0 at the sizes of a search, and their
// times.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/search/knn/filter_passes.hpp"

namespace kselect::search::fused {
namespace {

using filter_at_size_cuda = on_both_bodies;

// The r-th largest of each row.
std::vector<float> ranked(std::vector<std::vector<float>> rows, std::int64_t r) {
  std::vector<float> thresholds;
  for (std::vector<float>& row : rows) {
    const auto rank = row.begin() + std::min<std::int64_t>(r, std::ssize(row)) - 1;
    std::ranges::nth_element(row, rank, std::greater{});
    thresholds.push_back(*rank);
  }
  return thresholds;
}

// Thresholds as a search finds them: from the scores of a few tiles, then of a sixteenth.
void find_thresholds(setting& s, std::int64_t k) {
  const std::int64_t few = std::min<std::int64_t>(32, tiles_of(s.n()) / 16), columns = few * 128;
  const std::vector<float> scores = s.matrix(few);
  std::vector<std::vector<float>> rows;
  for (std::int64_t row = 0; row < s.q(); ++row) {
    rows.emplace_back(scores.begin() + row * columns, scores.begin() + (row + 1) * columns);
  }
  const std::int64_t first_rank = rank_among(k, columns, s.n());
  s.set(ranked(rows, first_rank));
  const std::int64_t sampled = tiles_of(s.n()) / 16;
  if (sampled < 2 * few) return;
  const double expected = static_cast<double>(first_rank * sampled) / static_cast<double>(few);
  const pass_plan over =
      plan_pass(0, sampled, s.q(), 3 * expected, s.place().description(), product_body::mma_sync);
  const survivors first = s.pass(product_body::mma_sync, over);
  for (std::int64_t row = 0; row < s.q(); ++row) {
    std::vector<float>& listed = rows[static_cast<std::size_t>(row)];
    listed.clear();
    for (const survivors::one& o : first.of(row)) listed.push_back(o.score);
    ASSERT_FALSE(listed.empty()) << "row " << row;
  }
  s.set(ranked(rows, rank_among(k, sampled * tile_rows, s.n())));
}

void print_times(product_body body, const tiles& corpus, setting& s, std::int64_t k,
                 const pass_plan& over, const survivors& found, double filtering,
                 double multiplying) {
  std::uint32_t most = 0;
  double sum = 0;
  for (std::int64_t row = 0; row < s.q(); ++row) {
    most = std::max(most, found.counted(row));
    sum += found.counted(row);
  }
  const double operations = 2.0 * static_cast<double>(s.n() * s.q() * corpus.dimension);
  std::printf(
      "{\"device\": \"%s\", \"body\": \"%s\", \"n\": %lld, \"q\": %lld, \"d\": %lld, \"factors\": "
      "%d, \"k\": %lld, "
      "\"splits\": %d, \"room\": %d, \"ms\": %.3f, \"tflops\": %.1f, \"no_survivors_ms\": %.3f, "
      "\"survivors_mean\": %.1f, \"survivors_most\": %u}\n",
      s.place().description().name.c_str(), name_of(body), static_cast<long long>(s.n()),
      static_cast<long long>(s.q()), static_cast<long long>(corpus.dimension),
      static_cast<int>(corpus.factors), static_cast<long long>(k), over.splits, over.room,
      filtering, operations / filtering * 1e-9, multiplying, sum / static_cast<double>(s.q()),
      most);
  std::fflush(stdout);
}

// Survivors differ only where a score is as good as its threshold, which is rare.
void expect_same_but_for_rounding(const survivors& one, const survivors& other, std::int64_t rows) {
  std::int64_t compared = 0, apart = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto a = one.of(row), b = other.of(row);
    if (a.size() != one.counted(row) || b.size() != other.counted(row)) continue;
    ++compared;
    std::vector<survivors::one> different;
    std::ranges::set_symmetric_difference(a, b, std::back_inserter(different), std::less{},
                                          &survivors::one::position, &survivors::one::position);
    apart += std::ssize(different);
  }
  EXPECT_GE(compared, rows * 99 / 100) << "rows whose lists were long enough";
  EXPECT_LE(apart, rows / 100);
}

// Compares the bodies with the first of them at one size, and prints their times with these
// thresholds and with ones that no score exceeds.
void compare_at(const tiles& corpus, const tiles& queries, std::int64_t k) {
  const std::int64_t n = corpus.count, q = queries.count;
  setting s(corpus, n, queries);
  find_thresholds(s, k);
  const auto expected = static_cast<double>(16 * rank_among(k, n / 16, n));
  constexpr int repeats = 9;
  const std::vector<product_body> bodies = bodies_for(corpus);
  std::vector<survivors> found;
  std::vector<pass_plan> plans;
  std::vector<double> filtering(bodies.size()), multiplying(bodies.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    plans.push_back(plan_pass(0, tiles_of(n), q, 3 * expected, s.place().description(), bodies[b]));
    found.push_back(s.pass(bodies[b], plans[b], repeats, &filtering[b]));
  }
  s.set(std::vector<float>(static_cast<std::size_t>(q), infinity));
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const survivors none = s.pass(bodies[b], plans[b], repeats, &multiplying[b]);
    for (std::int64_t row = 0; row < q; ++row) ASSERT_EQ(none.counted(row), 0U);
    print_times(bodies[b], corpus, s, k, plans[b], found[b], filtering[b], multiplying[b]);
    SCOPED_TRACE(name_of(bodies[b]));
    expect_same_but_for_rounding(found[0], found[b], q);
  }
}

float centred(std::uint64_t i) { return unit(i) - 0.5F; }
float byte(std::uint64_t i) { return static_cast<float>(mixed(i) % 256) - 128; }

TEST_F(filter_at_size_cuda, bodies_agree) {
  const tiles corpus(1'000'000, 128, 8, centred), queries(10'000, 128, 9, centred);
  compare_at(corpus, queries, 100);
  compare_at(corpus, queries, 10);
  compare_at(corpus, tiles(4096, 128, 9, centred), 16);
  compare_at(tiles(100'000, 128, 8, centred), queries, 100);
}
// Few queries and many, longer vectors.
TEST_F(filter_at_size_cuda, bodies_for_long_vectors_agree) {
  const tiles corpus(100'000, 960, 8, centred);
  compare_at(corpus, tiles(100, 960, 9, centred), 100);
  compare_at(corpus, tiles(4000, 960, 9, centred), 10);
  compare_at(tiles(100'000, 300, 8, centred), tiles(5000, 300, 9, centred), 10);
}
TEST_F(filter_at_size_cuda, bodies_agree_on_bytes) {
  constexpr simt::product bytes = simt::product::int8;
  compare_at(tiles(10'000, 784, 8, byte, bytes), tiles(10'000, 784, 9, byte, bytes), 10);
  compare_at(tiles(100'000, 128, 8, byte, bytes), tiles(10'000, 128, 9, byte, bytes), 100);
  compare_at(tiles(50'000, 960, 8, byte, bytes), tiles(2000, 960, 9, byte, bytes), 10);
}

}  // namespace
}  // namespace kselect::search::fused
