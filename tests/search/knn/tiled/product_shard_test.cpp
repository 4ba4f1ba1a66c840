// A search in tiles by the fused engine has the bits of one in memory: any tiles, passes and ranks.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/shard_of_graph.hpp"
#include "search/knn/tiled/tiled_knn.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search {
namespace {

using input_files::folder;

vector_set of(std::int64_t count, std::int64_t dimension, unsigned seed, bool bytes) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(3);
  vector_set made;
  made.count = count;
  made.dimension = dimension;
  made.source = "test vectors";
  for (std::int64_t i = 0; i < count * dimension; ++i) {
    made.data.push_back(bytes ? static_cast<float>(bits() % 4) : normal(bits));
  }
  return made;
}

std::filesystem::path saved(const folder& at, const char* name, const vector_set& set) {
  write_npy(at / name, element_type::float32, std::array{set.count, set.dimension},
            std::as_bytes(std::span(set.data)));
  return at / name;
}

struct tiled_question {
  std::int64_t n, queries, dimension, k;
  metric m = metric::sqeuclidean;
  bool self = false;   // each base vector is a query, and not its own neighbour
  bool bytes = false;  // then many distances are equal
  std::int64_t memory_bytes = std::int64_t{1} << 34;  // of the executor
  knn_product product = knn_product::float16;
  bool by_pairs = false;  // of a graph
  // The queries are the first base vectors, and leave themselves out. (Of a whole graph so large
  // that products filter, fibers would take minutes.)
  bool some_of_base = false;
  bool sorted = false;  // the base vectors, by their first component
};

void sort_by_first_component(vector_set& set) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t i = 0; i < set.count; ++i) {
    const auto first = set.data.begin() + i * set.dimension;
    rows.emplace_back(first, first + set.dimension);
  }
  std::ranges::sort(rows);
  set.data.clear();
  for (const auto& row : rows) set.data.insert(set.data.end(), row.begin(), row.end());
}

struct rows_found {
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
};

// By the CPU's engine: it finds the same rows, and fibers would take longer for them than the
// search in tiles.
rows_found rows_in_memory(const tiled_question& q, const vector_set& base,
                          const vector_set& query) {
  rows_found found;
  const auto place = open_backend(executor_kind::cpu, 2);
  const std::int64_t k = q.k + (q.some_of_base ? 1 : 0);
  knn({.base = base,
       .query = q.self ? nullptr : &query,
       .exclude_self = q.self,
       .metric = q.m,
       .k = k,
       .entry = *find_algorithm("auto")->algorithm},
      *place, [&](const knn_block& block) {
        for (std::int64_t i = 0; i < block.count * k; ++i) {
          if (std::ssize(found.indices) % q.k == 0 && i % k == q.k) continue;  // one too many
          if (q.some_of_base && block.indices[index(i)] == block.first + i / k) continue;
          found.indices.push_back(block.indices[index(i)]);
          found.distances.push_back(block.distances[index(i)]);
        }
      });
  return found;
}

tiled_request request_of(const tiled_question& q, const folder& at, const vector_set& base,
                         const vector_set& query) {
  tiled_request request{.base = {saved(at, "base.npy", base)},
                        .query = {},
                        .exclude_self = q.self || q.some_of_base,
                        .metric = q.m,
                        .k = q.k,
                        .entry = *find_algorithm("auto"),
                        .product = q.product,
                        .memory_bytes = std::int64_t{1} << 40,
                        .query_tile = 256,
                        .indices = at / "i.npy",
                        .distances = at / "d.npy"};
  request.cuda.memory_bytes = q.memory_bytes;
  request.cuda.half_product = q.by_pairs;
  if (!q.self) request.query = {saved(at, "query.npy", query)};
  return request;
}

// Returns the report of the first rank, and sets that of the last.
tiled_report expect_same(const tiled_question& q, int ranks, tiled_report* of_last = nullptr) {
  vector_set base = of(q.n, q.dimension, 1, q.bytes);
  if (q.sorted) sort_by_first_component(base);
  vector_set query = of(q.queries, q.dimension, 2, q.bytes);
  if (q.some_of_base) std::copy_n(base.data.begin(), query.data.size(), query.data.begin());
  const folder at;
  const tiled_request request = request_of(q, at, base, query);
  tiled_report report;
  run_ranks(ranks, 60, [&](communicator& all) {
    const auto mine = open_backend(executor_kind::fiber, 1);
    const tiled_report done = knn_in_tiles(request, *mine, all);
    if (all.rank() == 0) report = done;
    if (all.rank() == ranks - 1 && of_last != nullptr) *of_last = done;
  });
  const rows_found right = rows_in_memory(q, base, query);
  const npy_file indices = npy_file::open(at / "i.npy");
  const npy_file distances = npy_file::open(at / "d.npy");
  EXPECT_EQ(indices.bytes(), std::ssize(right.indices) * 8);
  EXPECT_EQ(std::memcmp(indices.data(), right.indices.data(), right.indices.size() * 8), 0);
  EXPECT_EQ(std::memcmp(distances.data(), right.distances.data(), right.distances.size() * 4), 0);
  EXPECT_EQ(report.shard.rows_proven, q.self ? q.n : q.queries);
  EXPECT_EQ(report.product, q.product);
  EXPECT_EQ(report.other_because, "");
  return report;
}

// The same with so little memory of the executor that a rank's part is cut into tiles of `tile`
// vectors, or of one unit more.
tiled_question in_tiles(tiled_question q, std::int64_t tile, int ranks = 1) {
  const tiled_request request{.base = {},
                              .query = {},
                              .exclude_self = q.self || q.some_of_base,
                              .metric = q.m,
                              .k = q.k,
                              .entry = *find_algorithm("auto"),
                              .product = q.product,
                              .indices = {},
                              .distances = {}};
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto fits = [&](std::int64_t bytes) {
    tiled_request asked = request;
    asked.cuda.memory_bytes = bytes;
    try {
      return bound_product_tiles(asked, q.n / ranks, q.self ? q.n : q.queries, q.dimension, *place)
                 .corpus_tile >= tile;
    } catch (const error&) {
      return false;
    }
  };
  q.memory_bytes = 1 << 16;
  while (!fits(q.memory_bytes)) q.memory_bytes += 1 << 15;
  return q;
}

TEST(ProductShard, HasTheRowsOfASearchInMemory) {
  for (const metric m :
       {metric::sqeuclidean, metric::euclidean, metric::cosine, metric::inner_product}) {
    SCOPED_TRACE(to_string(m));
    const tiled_report report = expect_same(in_tiles({9000, 30, 16, 10, m}, 4608), 1);
    EXPECT_EQ(report.corpus_tiles, 2);
    EXPECT_FALSE(report.shard.resident);
  }
}

TEST(ProductShard, OrdersEqualDistancesByIndexAcrossTilesAndRanks) {
  for (const int ranks : {1, 2, 3}) {
    expect_same(in_tiles({9000, 20, 8, 40, metric::sqeuclidean, false, true}, 4608), ranks);
  }
}

TEST(ProductShard, MultipliesInIntegersAndInBfloat16) {
  tiled_question q{9000, 20, 8, 40, metric::sqeuclidean, false, true};
  for (const knn_product product : {knn_product::int8, knn_product::bfloat16}) {
    SCOPED_TRACE(to_string(product));
    q.product = product;
    for (const int ranks : {1, 2}) expect_same(in_tiles(q, 4608), ranks);
  }
}

// Products of bytes name what is no byte, in whichever tile and in queries.
TEST(ProductShard, NamesAVectorThatIsNotOfBytes) {
  const vector_set bytes = of(700, 4, 1, true), asked = of(3, 4, 2, true);
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto one = alone();
  const auto said = [&](const vector_set& base, const vector_set& query) {
    const folder at;
    tiled_question q{700, 3, 4, 2};
    q.product = knn_product::int8;
    try {
      knn_in_tiles(request_of(in_tiles(q, 512), at, base, query), *place, *one);
    } catch (const error& why) {
      EXPECT_EQ(why.category(), failure::input);
      return std::string(why.what());
    }
    return std::string();
  };
  EXPECT_EQ(said(bytes, asked), "");
  vector_set base = bytes, query = asked;
  base.data[600 * 4 + 1] = 0.5F;
  EXPECT_NE(said(base, asked).find("component 1 of vector 600 is 0.5"), std::string::npos);
  query.data[4] = 256;
  EXPECT_NE(said(bytes, query).find("component 0 of vector 1 is 256"), std::string::npos);
}

tiled_question graph_of(std::int64_t n, std::int64_t k, metric m, bool bytes = false) {
  tiled_question q{n, 0, 12, k, m, true, bytes};
  q.by_pairs = true;
  return q;
}

TEST(ProductShard, DealsThePairsOfAGraphToTheRanks) {
  const tiled_report report = expect_same(graph_of(4100, 6, metric::euclidean), 3);
  EXPECT_TRUE(report.by_pairs);
  EXPECT_EQ(report.whole_because, "");
  EXPECT_EQ(report.shard.bytes_read, 4100 * 12 * 4) << "each rank has all vectors";
}

// Lists run over where many distances are equal. What ranks are not certain of is done again.
TEST(ProductShard, DealtPairsEndRightWhereDistancesAreEqual) {
  tiled_question q = graph_of(4100, 9, metric::sqeuclidean, true);
  q.product = knn_product::int8;
  const tiled_report report = expect_same(q, 2);
  EXPECT_TRUE(report.by_pairs);
  EXPECT_GT(report.shard.unproven, 0);
}

TEST(ProductShard, SaysWhyPairsAreNotDealt) {
  const auto place = open_backend(executor_kind::fiber, 1);
  const vector_set none = of(1, 12, 1, false);
  const auto why = [&](const tiled_question& q) {
    const folder at;
    return offer_pairs(request_of(q, at, none, none), q.n, q.dimension, 2, *place).why_not;
  };
  EXPECT_EQ(why(graph_of(100'000, 5, metric::sqeuclidean)), "");
  EXPECT_NE(why(graph_of(100'000, 5, metric::inner_product)).find("symmetric"), std::string::npos);
  EXPECT_NE(why(graph_of(4000, 5, metric::sqeuclidean)).find("fewer than 4096"), std::string::npos);
  tiled_question q = graph_of(100'000, 5, metric::sqeuclidean);
  q.memory_bytes = 4 << 20;
  EXPECT_NE(why(q).find("MiB of its executor's memory, of which 4"), std::string::npos);
  q.product = knn_product::float64;
  EXPECT_EQ(why(q), "the products are in float32 or float64");
  const tiled_report alone = expect_same(graph_of(60, 5, metric::sqeuclidean), 1);
  EXPECT_FALSE(alone.by_pairs);
  EXPECT_NE(alone.whole_because.find("one rank"), std::string::npos);
}

TEST(ProductShard, ReadsOnceWhatStaysInMemory) {
  const tiled_report report = expect_same({520, 257, 8, 5}, 1);
  EXPECT_EQ(report.query_tiles, 2);
  EXPECT_TRUE(report.shard.resident);
  EXPECT_EQ(report.shard.bytes_read, 520 * 8 * 4);
}

TEST(ProductShard, ReadsAgainWhatDoesNot) {
  const tiled_report report = expect_same(in_tiles({520, 257, 64, 2}, 512), 1);
  EXPECT_FALSE(report.shard.resident);
  EXPECT_EQ(report.corpus_tiles, 2);
}

// Each rank has own queries and others'. One has a resident part, and shares bounds all the same.
TEST(ProductShard, LeavesQueriesOutOfTheirOwnGraph) {
  tiled_question q{1030, 0, 64, 2};
  q.self = true;
  tiled_report report_of_last;
  const tiled_report report = expect_same(in_tiles(q, 512, 2), 2, &report_of_last);
  EXPECT_EQ(report.corpus_tiles, 1);
  EXPECT_TRUE(report.shard.resident);
  EXPECT_FALSE(report_of_last.shard.resident) << "it has a tile of 512 vectors, and one of 6";
}

// Ranks tell each other bounds, and later tiles take thresholds from earlier ones. Of inner
// products a query may be none of its own neighbours.
TEST(ProductShard, LeavesQueriesOutOfFilteredTiles) {
  for (const metric m : {metric::sqeuclidean, metric::inner_product}) {
    SCOPED_TRACE(to_string(m));
    tiled_question q{18'432, 40, 16, 10, m};
    q.some_of_base = true;
    const tiled_report report = expect_same(in_tiles(q, 4608, 2), 2);
    EXPECT_EQ(report.corpus_tiles, 2);
  }
}

TEST(ProductShard, NamesAVectorThatIsNotFinite) {
  vector_set base = of(700, 4, 1, false), query = of(3, 4, 2, false);
  base.data[600 * 4 + 1] = std::numeric_limits<float>::quiet_NaN();
  const folder at;
  const tiled_request request = request_of({700, 3, 4, 2}, at, base, query);
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto one = alone();
  try {
    knn_in_tiles(request, *place, *one);
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.category(), failure::input);
    EXPECT_NE(std::string(why.what()).find("vector 600, component 1 is nan"), std::string::npos)
        << why.what();
  }
}

TEST(ProductShard, RefusesAnExchangeThatOrdersByFloat32) {
  const vector_set base = of(700, 4, 1, false), query = of(3, 4, 2, false);
  const folder at;
  tiled_request request = request_of({700, 3, 4, 2}, at, base, query);
  request.exchange = exchange_kind::nccl;
  const auto place = open_backend(executor_kind::fiber, 1);
  const auto one = alone();
  EXPECT_THROW(knn_in_tiles(request, *place, *one), error);
}

// Of 120 neighbours a rank's list has 92, and 60 are expected.
TEST(ProductShard, RanksThatStayInMemoryHaveShorterLists) {
  for (const metric m : {metric::euclidean, metric::cosine}) {
    SCOPED_TRACE(to_string(m));
    tiled_question q{10'240, 90, 16, 120, m};
    q.some_of_base = m == metric::cosine;
    const tiled_report report = expect_same(q, 2);
    EXPECT_EQ(report.list_length, 92);
    EXPECT_EQ(report.shard.unproven, 0);
    EXPECT_TRUE(report.shard.resident);
  }
}

// All neighbours of a query are in one rank's part. So the first tile is searched twice.
TEST(ProductShard, ShortListsOfASortedCorpusAreSearchedAgain) {
  tiled_question q{10'240, 520, 2, 60};
  q.sorted = true;
  const tiled_report report = expect_same(q, 2);
  EXPECT_EQ(report.list_length, 54);
  EXPECT_GE(report.shard.unproven, 256);
  EXPECT_LE(report.shard.unproven, 512) << "after the first tile lists are whole";
}

// The k-th neighbour so far cuts the next tile's survivors: about k of it are nearer.
TEST(ProductShard, LaterTilesHaveFewerSurvivors) {
  const tiled_report report = expect_same(in_tiles({9000, 30, 16, 10}, 4608), 1);
  const tiled_report first = expect_same({4608, 30, 16, 10}, 1);
  EXPECT_LT(report.shard.survivors - first.shard.survivors, first.shard.survivors / 2);
}

}  // namespace
}  // namespace kselect::search
