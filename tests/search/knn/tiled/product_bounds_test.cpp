// What is planned for the memory of an executor can then be searched in it.

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "search/knn/fused/memory_plan.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/search.hpp"

namespace kselect::search {
namespace {

TEST(ProductTileBounds, LeaveEnoughForTheSearch) {
  const auto place = open_backend(executor_kind::fiber, 1);
  int planned = 0;
  for (const std::int64_t n : {600, 4608, 9216, 30'000, 200'000}) {
    for (const std::int64_t k : {1, 2, 6, 24, 100}) {
      for (std::int64_t mib = 1; mib <= 64; mib += 1 + mib / 8) {
        tiled_request request{.base = {},
                              .query = {},
                              .k = k,
                              .entry = *find_algorithm("auto"),
                              .product = knn_product::float16,
                              .indices = {},
                              .distances = {}};
        request.cuda.memory_bytes = mib << 20;
        SCOPED_TRACE(testing::Message() << n << " vectors, k = " << k << ", " << mib << " MiB");
        product_tile_bounds tiles{};
        try {
          tiles = bound_product_tiles(request, n, 40, 16, *place);
        } catch (const error&) {
          continue;  // too little for the least tiles
        }
        ++planned;
        const fused::search_shape shape{.n = tiles.resident ? n : tiles.corpus_tile,
                                        .q = 40,
                                        .dimension = 16,
                                        .k = k,
                                        .bytes = tiles.search_bytes};
        EXPECT_NO_THROW(fused::plan_within(shape, place->description()));
      }
    }
  }
  EXPECT_GT(planned, 100);
}

}  // namespace
}  // namespace kselect::search
