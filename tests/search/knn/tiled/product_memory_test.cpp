// The fused search in tiles takes no more of the executor's memory than it is allowed, and finds
// the same however little that is.

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "runtime/io/npy.hpp"
#include "search/knn/fused/memory_plan.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/tiled_knn.hpp"
#include "tests/counting_fibers.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search::product_memory {
namespace {

using input_files::folder;

std::filesystem::path vectors_in(const folder& at, const char* name, std::int64_t count,
                                 std::int64_t dimension, unsigned seed, bool ties) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(1);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count * dimension; ++i) {
    values.push_back(ties ? static_cast<float>(bits() % 2) : normal(bits));
  }
  write_npy(at / name, element_type::float32, std::array{count, dimension},
            std::as_bytes(std::span(values)));
  return at / name;
}

struct memory_case {
  std::int64_t mib;
  bool ties;  // lists run over, so that queries are done again and in float64
  bool self;
};

class ProductMemory : public testing::TestWithParam<memory_case> {};

// In tiles of 256 queries and of what the memory holds.
tiled_request request_in(const folder& at, const memory_case& c, const char* name) {
  tiled_request request{.base = {at / "base.npy"},
                        .query = {},
                        .exclude_self = c.self,
                        .k = 12,
                        .entry = *find_algorithm("auto"),
                        .product = knn_product::float16,
                        .memory_bytes = std::int64_t{1} << 40,
                        .query_tile = 256,
                        .indices = at / (std::string(name) + ".i.npy"),
                        .distances = at / (std::string(name) + ".d.npy")};
  if (!c.self) request.query = {at / "query.npy"};
  return request;
}

void expect_equal(const folder& at, const char* part) {
  const npy_file a = npy_file::open(at / (std::string("bounded.") + part));
  const npy_file b = npy_file::open(at / (std::string("free.") + part));
  ASSERT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())), 0) << part;
}

TEST_P(ProductMemory, IsAsPromised) {
  const memory_case c = GetParam();
  const folder at;
  const std::int64_t n = c.self ? 300 : 9300;
  vectors_in(at, "base.npy", n, 16, 1, c.ties);
  vectors_in(at, "query.npy", 300, 16, 2, c.ties);
  const auto one = alone();
  tiled_request free = request_in(at, c, "free");
  free.cuda.memory_bytes = std::int64_t{1} << 34;
  knn_in_tiles(free, *open_backend(executor_kind::fiber, 1), *one);
  tiled_request bounded = request_in(at, c, "bounded");
  bounded.cuda.memory_bytes = c.mib << 20;
  counting_fibers place(1);
  const tiled_report report = knn_in_tiles(bounded, place, *one);
  EXPECT_LE(place.most(), bounded.cuda.memory_bytes);
  EXPECT_EQ(report.shard.rows_proven, c.self ? n : 300);
  if (c.ties) {
    EXPECT_GT(report.shard.unproven + report.shard.by_float64, 0);
  }
  expect_equal(at, "i.npy");
  expect_equal(at, "d.npy");
}

INSTANTIATE_TEST_SUITE_P(Of, ProductMemory,
                         testing::Values(memory_case{8, false, false}, memory_case{8, true, false},
                                         memory_case{7, true, true}, memory_case{64, true, false}));

// All tiles of queries of a resident graph take the same lists. (The distances in float64 have as
// many numbers, once.)
TEST(ProductMemory, HoldsOneListOfAGraph) {
  const folder at;
  vectors_in(at, "base.npy", 600, 4, 1, false);
  const auto one = alone();
  tiled_request request = request_in(at, {0, false, true}, "bounded");
  request.cuda.memory_bytes = std::int64_t{1} << 34;
  request.k = 37;
  counting_fibers place(1);
  knn_in_tiles(request, place, *one);
  EXPECT_EQ(place.most_of(256 * 38 * sizeof(double)), 3);
}

TEST(ProductMemoryPlan, HasShorterBatchesInLessMemory) {
  device gpu;
  gpu.kind = executor_kind::cuda;
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  fused::search_shape shape{.n = 500'000, .q = 100'000, .dimension = 128, .k = 100};
  const std::int64_t free = fused::plan_within(shape, gpu).rows;
  std::int64_t rows = free;
  for (const std::int64_t mib : {4096, 512, 128, 32}) {
    shape.bytes = mib << 20;
    const fused::search_plan plan = fused::plan_within(shape, gpu);
    EXPECT_TRUE(plan.filters());
    EXPECT_LE(fused::search_bytes(plan, shape, gpu), shape.bytes);
    EXPECT_LE(plan.rows, rows);
    rows = plan.rows;
  }
  EXPECT_LT(rows, free / 4);
  shape.bytes = 1 << 20;
  EXPECT_THROW(fused::plan_within(shape, gpu), error);
}

}  // namespace
}  // namespace kselect::search::product_memory
