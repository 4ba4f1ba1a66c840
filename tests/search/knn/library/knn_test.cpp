// The library's call against an independent brute force, and what it refuses.

#include "kselect/knn.hpp"

#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>

#include "../brute_force.hpp"

namespace kselect {
namespace {

using search::brute_force::all_of;
using search::brute_force::answer;
using search::brute_force::expect_right;
using search::brute_force::make_set;
using search::brute_force::question;
using testing::HasSubstr;

std::vector<float> random_vectors(unsigned seed, std::int64_t components) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> of(0, 1);
  std::vector<float> data(static_cast<std::size_t>(components));
  std::ranges::generate(data, [&] { return of(bits); });
  return data;
}

vector_rows rows_of(const runtime::vector_set& set) {
  return {.data = set.data.data(), .count = set.count, .dimension = set.dimension};
}

answer room_for(std::int64_t queries, std::int64_t k) {
  const auto size = static_cast<std::size_t>(queries * k);
  return {.queries = queries,
          .k = k,
          .indices = std::vector<std::int64_t>(size, -7),
          .distances = std::vector<float>(size, -7)};
}

class KnnLibrary : public testing::TestWithParam<metric> {};

TEST_P(KnnLibrary, FindsTheNearestOfEveryQuery) {
  for (const std::int64_t n : {1, 40, 5000}) {
    const auto base = make_set(7, random_vectors(1, n * 7));
    const auto query = make_set(7, random_vectors(2, 13 * 7));
    const std::int64_t k = std::min<std::int64_t>(n, 9);
    answer found = room_for(13, k);
    const status done = knn(rows_of(base), rows_of(query), k, found.distances, found.indices,
                            GetParam(), {}, place::cpu(2));
    ASSERT_TRUE(done.ok()) << done.message;
    expect_right({.base = base, .query = &query, .m = GetParam()}, found, 1e-13L);
  }
}

TEST_P(KnnLibrary, AGraphLeavesEachVectorOut) {
  const auto base = make_set(5, random_vectors(3, 300 * 5));
  answer found = room_for(300, 4);
  ASSERT_TRUE(knn(rows_of(base), rows_of(base), 4, found.distances, found.indices, GetParam(),
                  {.first_own = 0})
                  .ok());
  expect_right({.base = base, .exclude_self = true, .m = GetParam()}, found, 1e-13L);
}

INSTANTIATE_TEST_SUITE_P(Of, KnnLibrary, testing::ValuesIn([] {
                           std::vector<metric> all;
                           for (const auto& m : names<metric>) all.push_back(m.value);
                           return all;
                         }()),
                         [](const auto& of) { return std::string(to_string(of.param)); });

TEST(KnnLibraryCorpus, ServesSearchesOfSeveralThreads) {
  const auto base = make_set(6, random_vectors(4, 3000 * 6));
  const auto query = make_set(6, random_vectors(5, 20 * 6));
  knn_corpus corpus;
  EXPECT_EQ(corpus.count(), 0);
  ASSERT_TRUE(corpus.prepare(rows_of(base), metric::sqeuclidean, place::cpu(1)).ok());
  EXPECT_EQ(corpus.count(), 3000);
  EXPECT_EQ(corpus.dimension(), 6);
  std::vector<answer> found;
  for (std::int64_t k = 1; k <= 3; ++k) found.push_back(room_for(20, k));
  std::vector<std::thread> threads;
  for (answer& of : found) {
    threads.emplace_back([&corpus, &query, &of] {
      EXPECT_TRUE(corpus.search(rows_of(query), of.k, of.distances, of.indices).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const answer& of : found) {
    expect_right({.base = base, .query = &query}, of, 1e-13L);
  }
}

TEST(KnnLibraryCorpus, SomeOfItsVectorsAreQueriesThatLeaveThemselvesOut) {
  const auto base = make_set(3, random_vectors(6, 50 * 3));
  answer whole = room_for(50, 2), part = room_for(10, 2);
  knn_corpus corpus;
  ASSERT_TRUE(corpus.prepare(rows_of(base)).ok());
  knn_corpus moved = std::move(corpus);
  ASSERT_TRUE(
      moved.search(rows_of(base), 2, whole.distances, whole.indices, {.first_own = 0}).ok());
  const vector_rows some{.data = base.data.data() + 30 * 3, .count = 10, .dimension = 3};
  ASSERT_TRUE(moved.search(some, 2, {}, part.indices, {.first_own = 30}).ok());
  EXPECT_TRUE(std::equal(part.indices.begin(), part.indices.end(), whole.indices.begin() + 30 * 2));
  EXPECT_EQ(part.distances.front(), -7) << "distances were not wanted";
}

TEST(KnnLibraryCorpus, IsForgottenIfItCannotBePrepared) {
  const auto base = make_set(2, {0, 0, 1, 1});
  knn_corpus corpus;
  ASSERT_TRUE(corpus.prepare(rows_of(base)).ok());
  EXPECT_FALSE(corpus.prepare({.data = nullptr, .count = 2, .dimension = 2}).ok());
  EXPECT_EQ(corpus.count(), 0);
  std::vector<std::int64_t> indices(2);
  const status done = corpus.search(rows_of(base), 1, {}, indices);
  EXPECT_EQ(done.code, status_code::invalid);
  EXPECT_EQ(done.message, "the corpus is not prepared");
}

// Bits of masks, a row a query, spare bits set.
struct mask_rows {
  std::vector<std::uint32_t> words;
  std::int64_t pitch;
  mask_rows(std::int64_t rows, std::int64_t count)
      : words(static_cast<std::size_t>(rows * (knn_filter::words_for(count) + 1))),
        pitch(knn_filter::words_for(count) + 1) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = count; i < 32 * pitch; ++i) admit(row, i);
    }
  }
  void admit(std::int64_t row, std::int64_t vector) {
    words[static_cast<std::size_t>(row * pitch + vector / 32)] |= 1U << vector % 32;
  }
  bool admits(std::int64_t row, std::int64_t vector) const {
    return (words[static_cast<std::size_t>(row * pitch + vector / 32)] >> vector % 32 & 1U) != 0;
  }
};

// Masks of many kinds, one a row.
mask_rows adversarial_masks(std::int64_t rows, std::int64_t n, std::int64_t k) {
  mask_rows masks(rows, n);
  std::mt19937 bits(17);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t kind = row % 8;
    if (kind == 1) masks.admit(row, n - 1);
    for (std::int64_t i = 0; i < k - (kind == 2 ? 1 : 0) && (kind == 2 || kind == 3); ++i) {
      masks.admit(row, i * 7919 % n);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const bool in = kind == 4   ? bits() % 2 == 0
                      : kind == 5 ? bits() % 100 == 0
                      : kind == 6 ? i >= n - n / 8
                                  : kind == 7;
      if (in) masks.admit(row, i);
    }
  }
  return masks;
}

void expect_admitted(const question& q, const answer& found, const mask_rows& masks, bool each) {
  for (std::int64_t query = 0; query < found.queries; ++query) {
    std::vector<std::int64_t> want;
    for (const auto& [distance, index] : all_of(q, query)) {
      if (masks.admits(each ? query : 0, index)) want.push_back(index);
    }
    for (std::int64_t j = 0; j < found.k; ++j) {
      const auto at = static_cast<std::size_t>(query * found.k + j);
      const auto place = static_cast<std::size_t>(j);
      ASSERT_EQ(found.indices[at], place < want.size() ? want[place] : -1)
          << "query " << query << ", place " << j;
      ASSERT_EQ(std::isinf(found.distances[at]), place >= want.size());
    }
  }
}

class KnnLibraryFilter : public testing::TestWithParam<metric> {};

TEST_P(KnnLibraryFilter, ReturnsWhatItAdmits) {
  for (const std::int64_t n : {1, 33, 3000}) {
    const std::int64_t k = std::min<std::int64_t>(n, 6), queries = 8;
    const auto base = make_set(5, random_vectors(7, n * 5));
    const auto query = make_set(5, random_vectors(8, queries * 5));
    const question q{.base = base, .query = &query, .m = GetParam()};
    const mask_rows masks = adversarial_masks(queries, n, k);
    answer found = room_for(queries, k);
    ASSERT_TRUE(knn(rows_of(base), rows_of(query), k, found.distances, found.indices, GetParam(),
                    {.filter = {masks.words.data(), masks.pitch}}, place::cpu(2))
                    .ok());
    expect_admitted(q, found, masks, true);
    const auto first = make_set(5, {query.data.begin(), query.data.begin() + 2 * 5});
    const question of_two{.base = base, .query = &first, .m = GetParam()};
    answer two = room_for(2, k);
    for (std::int64_t row = 0; row < 8; ++row) {
      mask_rows one(1, n);
      std::copy_n(masks.words.begin() + row * masks.pitch, masks.pitch, one.words.begin());
      ASSERT_TRUE(knn(rows_of(base), rows_of(first), k, two.distances, two.indices, GetParam(),
                      {.filter = {one.words.data()}})
                      .ok());
      expect_admitted(of_two, two, one, false);
    }
  }
}

TEST(KnnLibraryFilters, LeaveOutOthersInAGraph) {
  const auto base = make_set(4, random_vectors(9, 600 * 4));
  mask_rows masks(1, 600);
  for (std::int64_t i = 0; i < 600; i += 3) masks.admit(0, i);
  answer found = room_for(600, 3);
  ASSERT_TRUE(knn(rows_of(base), rows_of(base), 3, found.distances, found.indices,
                  metric::sqeuclidean, {.first_own = 0, .filter = {masks.words.data()}})
                  .ok());
  expect_admitted({.base = base, .exclude_self = true}, found, masks, false);
}

// Equal vectors, and clusters that float32 products cannot tell apart.
TEST(KnnLibraryFilters, HoldForVectorsThatProductsDoNotTellApart) {
  const std::int64_t n = 3500;
  std::vector<float> clusters = random_vectors(10, n * 3);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    clusters[i] = clusters[i] * 1e-2F + (i / 3 % 2 == 0 ? 1e4F : -1e4F);
  }
  for (const auto& base : {make_set(3, std::vector<float>(n * 3, 0.5F)), make_set(3, clusters)}) {
    const auto query = make_set(3, {base.data.begin(), base.data.begin() + 8 * 3});
    const mask_rows masks = adversarial_masks(8, n, 4);
    answer found = room_for(8, 4);
    ASSERT_TRUE(knn(rows_of(base), rows_of(query), 4, found.distances, found.indices,
                    metric::sqeuclidean, {.filter = {masks.words.data(), masks.pitch}})
                    .ok());
    expect_admitted({.base = base, .query = &query}, found, masks, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, KnnLibraryFilter,
                         testing::Values(metric::sqeuclidean, metric::cosine,
                                         metric::inner_product),
                         [](const auto& of) { return std::string(to_string(of.param)); });

struct refusal {
  const char* name;
  vector_rows corpus, queries;
  std::int64_t k;
  std::size_t room;
  knn_options options;
  const char* says;
};

float components[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
float infinite[4] = {0, 1, std::numeric_limits<float>::infinity(), 3};

const refusal refusals[] = {
    {"NoCorpus", {components, 0, 2}, {components, 1, 2}, 1, 1, {}, "the corpus has no vectors"},
    {"NullCorpus", {nullptr, 3, 2}, {components, 1, 2}, 1, 1, {}, "corpus.data is null"},
    {"NegativeCount", {components, 3, 2}, {components, -1, 2}, 1, 1, {}, "queries.count = -1"},
    {"NoDimension", {components, 3, 0}, {components, 1, 2}, 1, 1, {}, "corpus.dimension = 0"},
    {"OtherDimension", {components, 3, 2}, {components, 1, 3}, 1, 1, {}, "have dimension 3, but"},
    {"NullQueries", {components, 3, 2}, {nullptr, 1, 2}, 1, 1, {}, "queries.data is null"},
    {"NoK", {components, 3, 2}, {components, 1, 2}, 0, 1, {}, "k = 0, but must be 1 to 3"},
    {"LargeK", {components, 3, 2}, {components, 1, 2}, 4, 4, {}, "k = 4, but must be 1 to 3"},
    {"LargeKOfOthers", {components, 3, 2}, {components, 3, 2}, 3, 9, {0}, "must be 1 to 2"},
    {"OwnBeyond", {components, 3, 2}, {components, 2, 2}, 1, 2, {2}, "from corpus vector 2 on"},
    {"ShortPitch",
     {components, 3, 2},
     {components, 1, 2},
     1,
     1,
     {.filter = {nullptr, -1}},
     "filter.pitch = -1, but must be 0 or at least 1"},
    {"NoWords",
     {components, 3, 2},
     {components, 1, 2},
     1,
     1,
     {.filter = {nullptr, 1}},
     "filter.words is null"},
    {"ShortAnswer", {components, 3, 2}, {components, 3, 2}, 2, 5, {}, "indices has 5 elements"},
    {"InfiniteCorpus", {infinite, 2, 2}, {components, 1, 2}, 1, 1, {}, "corpus: vector 1 has a"},
    {"InfiniteQuery", {components, 3, 2}, {infinite, 2, 2}, 1, 2, {}, "queries: vector 1 has a"},
};

class KnnLibraryRefuses : public testing::TestWithParam<refusal> {};

TEST_P(KnnLibraryRefuses, AndSaysWhy) {
  const refusal& r = GetParam();
  std::vector<float> distances(r.room);
  std::vector<std::int64_t> indices(r.room);
  const status done =
      knn(r.corpus, r.queries, r.k, distances, indices, metric::sqeuclidean, r.options);
  EXPECT_EQ(done.code, status_code::invalid);
  EXPECT_THAT(done.message, HasSubstr(r.says));
}

INSTANTIATE_TEST_SUITE_P(For, KnnLibraryRefuses, testing::ValuesIn(refusals),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(KnnLibraryRefusals, ShortDistancesAndOtherPlaces) {
  const auto base = make_set(2, {0, 0, 1, 1, 2, 2});
  std::vector<float> distances(2);
  std::vector<std::int64_t> indices(3);
  const status short_of = knn(rows_of(base), rows_of(base), 1, distances, indices);
  EXPECT_EQ(short_of.code, status_code::invalid);
  EXPECT_THAT(short_of.message, HasSubstr("distances has 2 elements, but Q * k = 3"));
  const status elsewhere =
      knn(rows_of(base), rows_of(base), 1, {}, indices, metric::sqeuclidean, {}, place::cuda());
  EXPECT_EQ(elsewhere.code, status_code::unsupported);
  EXPECT_FALSE(elsewhere.message.empty());
}

TEST(KnnLibraryQueries, NoneAreASuccess) {
  const auto base = make_set(2, {0, 0, 1, 1});
  EXPECT_TRUE(knn(rows_of(base), {.data = nullptr, .count = 0, .dimension = 2}, 1, {}, {}).ok());
}

}  // namespace
}  // namespace kselect
