// When a search in tiles multiplies in float16 or in integers, and how it is cut for the memory.

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/tiled_knn.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search {
namespace {

using input_files::folder;

// On a GPU `auto` takes products in float16 unless something speaks against it, which is said.
class ProductChoice : public testing::Test {
 protected:
  ProductChoice() {
    gpu_.kind = executor_kind::cuda;
    gpu_.compute_capability = 90;
    gpu_.multiprocessors = 132;
  }
  static tiled_request request(const char* entry = "auto") {
    return {.base = {},
            .query = {},
            .k = 100,
            .entry = *find_algorithm(entry),
            .indices = {},
            .distances = {}};
  }
  std::string why_not(const tiled_request& r, std::int64_t dimension = 128, int gib = 64) const {
    return why_not_products(r, 10'000'000, 100'000, dimension, gpu_, std::int64_t{gib} << 30);
  }
  device gpu_;
};

TEST_F(ProductChoice, IsFloat16WhereItCan) {
  tiled_request r = request();
  EXPECT_TRUE(asks_for_products(r, gpu_));
  EXPECT_EQ(why_not(r), "");
  EXPECT_EQ(why_not(r, 128, 8), "") << "in tiles";
  EXPECT_EQ(why_not(r, 128, 1), "") << "in small tiles and short batches of queries";
  EXPECT_EQ(why_not(r, 5000), "vectors have more than 4096 components");
  r.exchange = exchange_kind::nccl;
  EXPECT_NE(why_not(r).find("--exchange nccl"), std::string::npos);
  tiled_request many = request();
  many.k = 100'000;
  EXPECT_EQ(why_not(many), "k is large for the products' filter");
  many.metric = metric::inner_product;
  EXPECT_EQ(why_not(many), "") << "no other way has inner products";
}

// Files of bytes, by their type. wgmma multiplies short vectors in float16 faster.
TEST_F(ProductChoice, IsInt8OfFilesOfBytesWhereThatIsFaster) {
  const folder at;
  const auto files = [&](const char* name, element_type type, std::int64_t dimension) {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(4 * dimension * size_of(type)));
    write_npy(at / name, type, std::array{std::int64_t{4}, dimension}, zeros);
    return vector_files::open({at / name});
  };
  const vector_files bytes = files("b.npy", element_type::uint8, 784);
  const vector_files floats = files("f.npy", element_type::float32, 784);
  const vector_files with_sign = files("s.npy", element_type::int8, 784);
  tiled_request r = request();
  EXPECT_EQ(product_of_files(r, bytes, bytes, gpu_), knn_product::int8);
  EXPECT_EQ(product_of_files(r, with_sign, with_sign, gpu_), knn_product::int8);
  EXPECT_EQ(product_of_files(r, bytes, with_sign, gpu_), knn_product::float16);
  EXPECT_EQ(product_of_files(r, bytes, floats, gpu_), knn_product::float16);
  r.metric = metric::cosine;
  EXPECT_EQ(product_of_files(r, bytes, bytes, gpu_), knn_product::float16);
  r.metric = metric::euclidean;
  const vector_files few = files("d.npy", element_type::uint8, 64);
  EXPECT_EQ(product_of_files(r, few, few, gpu_), knn_product::float16) << "as many slabs";
}

TEST_F(ProductChoice, IsLeftToWhoAsksForAnotherWay) {
  EXPECT_FALSE(asks_for_products(request(), device{})) << "the host";
  for (const auto& ask : {+[](tiled_request& r) { r.product = knn_product::float32; },
                          +[](tiled_request& r) { r.cuda.tf32 = true; },
                          +[](tiled_request& r) { r.cuda.sum_by_warp = true; }}) {
    tiled_request r = request();
    ask(r);
    EXPECT_FALSE(asks_for_products(r, gpu_));
  }
  EXPECT_FALSE(asks_for_products(request("bms-block"), gpu_));
}

TEST(ProductTileBounds, AreOfWholeUnitsWithinTheMemory) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  const product_tile_bounds all = bound_product_tiles(64 * gib, 10'000'000, 100'000, 128, 100);
  EXPECT_TRUE(all.resident);
  EXPECT_EQ(all.corpus_tile % corpus_unit, 0);
  EXPECT_LE(all.corpus_tile * 512, 256 << 20);
  const product_tile_bounds some = bound_product_tiles(8 * gib, 10'000'000, 100'000, 128, 100);
  EXPECT_FALSE(some.resident);
  EXPECT_LE(some.corpus_tile * (512 + 256 + 36), 4 * gib);
  EXPECT_LE(some.queries * (2 * 512 + 52 + 3 * 101 * 20), 2 * gib);
  EXPECT_EQ(some.search_bytes, 2 * gib);
  EXPECT_THROW(bound_product_tiles(1 << 16, 10'000'000, 100'000, 128, 100), error);
}

}  // namespace
}  // namespace kselect::search
