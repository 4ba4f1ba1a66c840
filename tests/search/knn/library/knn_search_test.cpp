// The library's search on a device, on fibers, against an independent brute force. Components are
// bytes, so distances are exact and the answer is unique.

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "../brute_force.hpp"
#include "kselect/knn.hpp"
#include "tests/fibers.hpp"

namespace kselect {

namespace {

using search::brute_force::all_of;
using search::brute_force::make_set;
using search::brute_force::question;
using testing::HasSubstr;

runtime::vector_set bytes_of(unsigned seed, std::int64_t count, std::int64_t dimension,
                             unsigned most = 255) {
  std::mt19937 bits(seed);
  std::vector<float> data(static_cast<std::size_t>(count * dimension));
  std::ranges::generate(data, [&] { return static_cast<float>(bits() % (most + 1)); });
  return make_set(dimension, std::move(data));
}

vector_rows rows(const runtime::vector_set& set) {
  return {.data = set.data.data(), .count = set.count, .dimension = set.dimension};
}

// Memory with bytes of a pattern before and after, that begins at no particular address.
class guarded_memory {
 public:
  explicit guarded_memory(std::size_t bytes) : memory_(bytes + 2 * guard, pattern), bytes_(bytes) {}
  std::span<std::byte> span() { return std::span(memory_).subspan(guard, bytes_); }
  bool intact() const {
    const auto is = [](std::byte b) { return b == pattern; };
    return std::all_of(memory_.begin(), memory_.begin() + guard, is) &&
           std::all_of(memory_.end() - guard, memory_.end(), is);
  }

 private:
  static constexpr std::byte pattern{0xA5};
  static constexpr std::ptrdiff_t guard = 333;
  std::vector<std::byte> memory_;
  std::size_t bytes_;
};

struct device_corpus {
  explicit device_corpus(const runtime::vector_set& set, metric m = metric::sqeuclidean,
                         knn_rounding to = knn_rounding::float16)
      : memory(knn_corpus::memory(rows(set), m, fibers, to)) {
    const status done = corpus.prepare(rows(set), m, fibers, memory.span(), to);
    EXPECT_TRUE(done.ok()) << done.message;
  }
  place fibers = detail::place_access::fibers();
  guarded_memory memory;
  knn_corpus corpus;
};

struct device_answer {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  std::int64_t unproven = -1;
  bool by_products = false;
  std::vector<std::int64_t> at_once = {};  // the indices before finish()
};

// `calls` times the same.
device_answer search_of(const device_corpus& on, const runtime::vector_set& query, std::int64_t k,
                        const knn_options& options = {}, int calls = 1) {
  const auto size = static_cast<std::size_t>(query.count * k);
  device_answer found{std::vector<std::int64_t>(size, -7), std::vector<float>(size, -7)};
  guarded_memory workspace(knn_search::workspace(on.corpus, query.count, k, on.fibers, options));
  knn_search search;
  status done = search.plan(on.corpus, query.count, k, workspace.span(), on.fibers, options);
  found.by_products = search.by_products();
  for (int call = 0; call < calls && done.ok(); ++call) {
    done = search.enqueue(query.data.data(), found.distances, found.indices);
    if (done.ok()) done = search.unproven(found.unproven);
    found.at_once = found.indices;
    if (done.ok()) done = search.finish();
  }
  EXPECT_TRUE(done.ok()) << done.message;
  EXPECT_TRUE(workspace.intact());
  EXPECT_TRUE(on.memory.intact());
  return found;
}

void expect_nearest(const question& q, const device_answer& found, std::int64_t k,
                    const std::vector<bool>& in = {}) {
  const std::int64_t queries = q.query == nullptr ? q.base.count : q.query->count;
  for (std::int64_t i = 0; i < queries; ++i) {
    std::vector<std::pair<long double, std::int64_t>> want;
    for (const auto& candidate : all_of(q, i)) {
      if (in.empty() || in[static_cast<std::size_t>(candidate.second)]) want.push_back(candidate);
    }
    want.resize(std::max(want.size(), static_cast<std::size_t>(k)),
                {std::numeric_limits<long double>::infinity(), -1});
    for (std::int64_t j = 0; j < k; ++j) {
      const auto at = static_cast<std::size_t>(i * k + j);
      ASSERT_EQ(found.indices[at], want[static_cast<std::size_t>(j)].second)
          << "query " << i << ", place " << j;
      ASSERT_EQ(found.distances[at], static_cast<float>(want[static_cast<std::size_t>(j)].first));
    }
  }
}

TEST(knn_search_on_device, proves_the_nearest_without_memory_of_its_own) {
  const auto base = bytes_of(1, 5000, 24), query = bytes_of(2, 20, 24);
  const device_corpus on(base);
  EXPECT_EQ(on.corpus.count(), 5000);
  const device_answer found = search_of(on, query, 10, {}, 2);
  expect_nearest({.base = base, .query = &query}, found, 10);
  EXPECT_LT(found.unproven, 5);
  EXPECT_TRUE(found.by_products);
}

TEST(knn_search_on_device, has_the_metric_of_the_corpus) {
  const auto base = bytes_of(3, 4200, 8), query = bytes_of(4, 6, 8);
  for (const metric m : {metric::euclidean, metric::inner_product}) {
    const device_corpus on(base, m);
    expect_nearest({.base = base, .query = &query, .m = m}, search_of(on, query, 5), 5);
  }
}

TEST(knn_search_on_device, rounds_to_what_is_asked_for) {
  const auto base = bytes_of(13, 4200, 150), query = bytes_of(14, 6, 150);
  for (const knn_rounding to : {knn_rounding::int8, knn_rounding::bfloat16}) {
    const device_corpus on(base, metric::sqeuclidean, to);
    const device_answer found = search_of(on, query, 5);
    EXPECT_TRUE(found.by_products);
    expect_nearest({.base = base, .query = &query}, found, 5);
  }
  const place fibers = detail::place_access::fibers();
  EXPECT_LT(knn_corpus::memory(rows(base), metric::sqeuclidean, fibers, knn_rounding::int8),
            knn_corpus::memory(rows(base), metric::sqeuclidean, fibers));
  EXPECT_EQ(knn_corpus::memory(rows(base), metric::cosine, fibers, knn_rounding::int8), 0U);
  knn_corpus corpus;
  const status refused = corpus.prepare(rows(base), metric::cosine, fibers, {}, knn_rounding::int8);
  EXPECT_EQ(refused.code, status_code::unsupported);
  EXPECT_THAT(refused.message, HasSubstr("euclidean"));
}

// Lists run over: nothing is proven at first.
TEST(knn_search_on_device, finish_proves_the_rest) {
  const auto base = bytes_of(5, 4500, 4, 1), query = bytes_of(6, 5, 4, 1);
  const device_corpus on(base);
  const device_answer found = search_of(on, query, 10, {}, 2);
  EXPECT_EQ(found.unproven, 5);
  EXPECT_TRUE(found.by_products);
  for (const std::int64_t index :
       found.at_once) {  // some vector or none, not what was there before
    EXPECT_GE(index, -1);
    EXPECT_LT(index, base.count);
  }
  expect_nearest({.base = base, .query = &query}, found, 10);
}

TEST(knn_search_on_device, leaves_small_corpora_to_finish) {
  const auto base = bytes_of(7, 300, 5), query = bytes_of(8, 4, 5);
  const device_corpus on(base);
  const device_answer found = search_of(on, query, 3);
  EXPECT_EQ(found.unproven, 4);
  EXPECT_FALSE(found.by_products);
  expect_nearest({.base = base, .query = &query}, found, 3);
}

TEST(knn_search_on_device, filters_and_leaves_itself_out) {
  const auto base = bytes_of(11, 4300, 6);
  const auto query = make_set(6, {base.data.begin() + 100 * 6, base.data.begin() + 110 * 6});
  std::vector<std::uint32_t> words(135, 0x5A5A5A5AU);
  std::vector<bool> in(4300);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = (words[i / 32] >> i % 32 & 1U) != 0;
  const device_corpus on(base);
  expect_nearest({.base = base, .query = &query},
                 search_of(on, query, 7, {.filter = {words.data()}}), 7, in);
  const device_answer others = search_of(on, query, 3, {.first_own = 100});
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_NE(others.indices[3 * i + j], static_cast<std::int64_t>(100 + i));
    }
  }
  // Each query its own: the same words, shifted by a word a query.
  std::vector<std::uint32_t> each(10 * 136, 0);
  for (std::size_t i = 0; i < 10; ++i) each[i * 136 + i] = 0xFFU;
  const device_answer few = search_of(on, query, 10, {.filter = {each.data(), 136}});
  for (std::size_t i = 0; i < 10; ++i) {
    std::vector<std::int64_t> own(few.indices.begin() + static_cast<std::ptrdiff_t>(10 * i),
                                  few.indices.begin() + static_cast<std::ptrdiff_t>(10 * i + 10));
    EXPECT_EQ(own[8], -1);
    EXPECT_EQ(own[9], -1);
    EXPECT_TRUE(std::isinf(few.distances[10 * i + 9]));
    own.resize(8);
    std::ranges::sort(own);
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(own[j], static_cast<std::int64_t>(32 * i + j));
    }
  }
}

TEST(knn_search_on_device, refuses_what_it_cannot_do) {
  const auto base = bytes_of(12, 4100, 4);
  const place fibers = detail::place_access::fibers();
  knn_corpus corpus;
  std::vector<std::byte> small(64);
  const status without_memory = corpus.prepare(rows(base), metric::sqeuclidean, fibers, small);
  EXPECT_EQ(without_memory.code, status_code::invalid);
  EXPECT_THAT(without_memory.message, HasSubstr("64 bytes, but"));
  EXPECT_THAT(without_memory.message, HasSubstr("ask knn_corpus::memory()"));

  const device_corpus on(base);
  std::vector<std::int64_t> indices(8);
  EXPECT_EQ(on.corpus.search(rows(base), 1, {}, indices).code, status_code::invalid);
  const vector_rows few{base.data.data(), 4, 4};
  EXPECT_THAT(on.corpus.search(few, 1, {}, indices).message, HasSubstr("plan a knn_search"));

  knn_search search;
  std::int64_t count = 0;
  EXPECT_EQ(search.unproven(count).message, "no search is enqueued");
  EXPECT_EQ(search.enqueue(base.data.data(), {}, indices).message, "the search is not planned");
  EXPECT_EQ(knn_search::workspace(on.corpus, 4, 0, fibers), 0U);
  EXPECT_THAT(search.plan(on.corpus, 4, 0, {}, fibers).message, HasSubstr("k = 0"));
  EXPECT_THAT(search.plan(on.corpus, 4, 2, small, fibers).message,
              HasSubstr("ask knn_search::workspace()"));
  std::vector<std::byte> room(knn_search::workspace(on.corpus, 4, 3, fibers));
  ASSERT_TRUE(search.plan(on.corpus, 4, 3, room, fibers).ok());
  EXPECT_EQ(search.finish().message, "no search is enqueued");
  EXPECT_THAT(search.enqueue(base.data.data(), {}, indices).message,
              HasSubstr("indices has 8 elements, but Q * k = 12"));

  knn_corpus on_host;
  ASSERT_TRUE(on_host.prepare(rows(base)).ok());
  EXPECT_THAT(search.plan(on_host, 4, 2, room, fibers).message, HasSubstr("on the CPU"));
  EXPECT_EQ(knn_corpus::memory(rows(base), metric::sqeuclidean, place::cpu()), 0U);
}

}  // namespace
}  // namespace kselect
