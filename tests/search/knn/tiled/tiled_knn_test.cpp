// Tiles are read in the promised order, and a search in tiles gives the same rows as one in memory.

#include "search/knn/tiled/tiled_knn.hpp"

#include <fstream>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "search/knn/tiled/tile_stream.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search {
namespace {

using input_files::folder;

// If `modulus` is given, components are small integers, so that distances are exact and tie.
std::filesystem::path vectors_in(const folder& at, const char* name, std::int64_t count,
                                 std::int64_t dimension, std::uint32_t seed,
                                 std::uint32_t modulus = 0) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count * dimension; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(modulus == 0 ? static_cast<float>(seed >> 8) / 3e6F
                                  : static_cast<float>((seed >> 8) % modulus));
  }
  write_npy(at / name, element_type::float32, std::array{count, dimension},
            std::as_bytes(std::span(values)));
  return at / name;
}

TEST(TileStream, TurnsRoundAtTheEndsAndReadsEachTileAtMostOnceAPass) {
  const folder at;
  const vector_files file = vector_files::open({vectors_in(at, "a.npy", 100, 3, 1)});
  const vector_set whole = load_vectors(at / "a.npy");
  for (const std::int64_t length : {7, 30, 45, 90, 200}) {
    tile_stream stream(file, 5, 95, length);
    const std::int64_t tiles = (90 + length - 1) / length;
    ASSERT_EQ(stream.tiles(), tiles);
    for (std::int64_t pass = 0; pass < 3; ++pass) {
      for (std::int64_t t = 0; t < tiles; ++t) {
        const auto tile = stream.next();
        const std::int64_t expected = 5 + (pass % 2 == 0 ? t : tiles - 1 - t) * length;
        ASSERT_EQ(tile.first, expected);
        ASSERT_EQ(tile.vectors.count, std::min(length, 95 - expected));
        EXPECT_TRUE(std::equal(tile.vectors.data.begin(), tile.vectors.data.end(),
                               whole.data.begin() + expected * 3));
      }
    }
    const std::int64_t once = 90 * 12;
    // Two tiles stay in memory; with more, the tile at which a pass turns is not read again.
    if (tiles <= 2) {
      EXPECT_EQ(stream.bytes_read(), once);
    } else {
      EXPECT_LT(stream.bytes_read(), 3 * once);
    }
  }
}

class TiledKnn : public testing::TestWithParam<std::tuple<bool, const char*, int>> {};

TEST_P(TiledKnn, GivesTheRowsOfASearchInMemory) {
  const auto [self, algorithm, threads] = GetParam();
  const folder at;
  // This bound needs several tiles of both kinds, and the last of each is short.
  const auto base_path = vectors_in(at, "base.npy", 3000, 200, 3);
  const auto query_path = vectors_in(at, "query.npy", 700, 200, 9);
  const registered& entry = *find_algorithm(algorithm);
  const auto place = open_backend(executor_kind::cpu, threads);
  const vector_set base = load_vectors(base_path), query = load_vectors(query_path);
  std::vector<std::int64_t> indices;
  std::vector<float> distances;
  knn({.base = base,
       .query = self ? nullptr : &query,
       .exclude_self = self,
       .metric = metric::cosine,
       .k = 20,
       .entry = *entry.algorithm},
      *place, [&](const knn_block& block) {
        indices.insert(indices.end(), block.indices.begin(), block.indices.end());
        distances.insert(distances.end(), block.distances.begin(), block.distances.end());
      });

  tiled_request request{.base = {base_path},
                        .query = {},
                        .exclude_self = self,
                        .metric = metric::cosine,
                        .k = 20,
                        .entry = entry,
                        .memory_bytes = std::int64_t{1} << 40,
                        .query_tile = 256,
                        .indices = at / "i.npy",
                        .distances = at / "d.npy"};
  if (!self) request.query = {query_path};
  const auto require_same = [&] {
    const npy_file found_indices = npy_file::open(at / "i.npy");
    const npy_file found_distances = npy_file::open(at / "d.npy");
    ASSERT_EQ(found_indices.bytes(), std::ssize(indices) * 8);
    EXPECT_EQ(std::memcmp(found_indices.data(), indices.data(), indices.size() * 8), 0);
    EXPECT_EQ(std::memcmp(found_distances.data(), distances.data(), distances.size() * 4), 0);
  };
  const auto one = alone();
  const tiled_report report = knn_in_tiles(request, *place, *one);
  EXPECT_EQ(report.query_tiles, self ? 12 : 3);
  EXPECT_GT(report.times.search, 0);
  EXPECT_GE(report.times.search, report.times.nearest);
  require_same();

  for (const int size : {2, 3}) {
    std::filesystem::remove(at / "i.npy");
    std::int64_t vectors = 0;
    run_ranks(size, 60, [&, threads = threads](communicator& ranks) {
      const auto mine = open_backend(executor_kind::cpu, threads);
      const tiled_report part = knn_in_tiles(request, *mine, ranks);
      ranks.gather({});
      if (ranks.rank() == 0) vectors = part.vectors;
      EXPECT_GE(part.times.exchange, 0);
      EXPECT_FALSE(part.nccl);
    });
    EXPECT_EQ(vectors, first_of_rank(3000, 1, size));
    require_same();
  }
}

INSTANTIATE_TEST_SUITE_P(Of, TiledKnn,
                         testing::Combine(testing::Bool(),
                                          testing::Values("cpu/heap", "cpu/nth_element+omp"),
                                          testing::Values(1, 2)));

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A GPU gives the CPU's rows, whether its part of the corpus is resident or streamed.
class TiledKnnOnCuda
    : public testing::TestWithParam<std::tuple<bool, std::int64_t, std::int64_t, const char*>> {};

TEST_P(TiledKnnOnCuda, GivesTheRowsOfTheProcessor) {
  const auto [self, device_bytes, query_tile, algorithm] = GetParam();
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const folder at;
  tiled_request request{.base = {vectors_in(at, "base.npy", 16000, 96, 3, 50)},
                        .query = {},
                        .exclude_self = self,
                        .metric = metric::sqeuclidean,
                        .k = 20,
                        .entry = *find_algorithm("cpu/heap"),
                        .memory_bytes = std::int64_t{8} << 30,
                        .query_tile = query_tile,
                        .indices = at / "cpu.i.npy",
                        .distances = at / "cpu.d.npy"};
  if (!self) request.query = {vectors_in(at, "query.npy", 3000, 96, 9, 50)};
  const auto one = alone();
  knn_in_tiles(request, *open_backend(executor_kind::cpu), *one);

  tiled_request on_gpu{.base = request.base,
                       .query = request.query,
                       .exclude_self = self,
                       .metric = metric::sqeuclidean,
                       .k = 20,
                       .entry = *find_algorithm(algorithm),
                       .memory_bytes = std::int64_t{8} << 30,
                       .query_tile = query_tile,
                       .indices = at / "gpu.i.npy",
                       .distances = at / "gpu.d.npy",
                       .cuda = {.memory_bytes = device_bytes, .time_stages = true}};
  const tiled_report report = knn_in_tiles(on_gpu, *open_backend(executor_kind::cuda), *one);
  EXPECT_EQ(bytes_of(at / "gpu.d.npy"), bytes_of(at / "cpu.d.npy"));
  EXPECT_EQ(bytes_of(at / "gpu.i.npy"), bytes_of(at / "cpu.i.npy"));
  EXPECT_EQ(report.shard.resident, device_bytes == 0);
  EXPECT_GT(report.shard.rows_proven, 0);
  EXPECT_GT(report.shard.gpu.distance, 0);
  const std::int64_t corpus_bytes = 16000 * 96 * 4;
  if (report.shard.resident) {
    EXPECT_EQ(report.shard.bytes_read, corpus_bytes);
  } else {
    EXPECT_GT(report.corpus_tiles, 2);
    EXPECT_GT(report.shard.bytes_read, report.query_tiles > 1 ? corpus_bytes : corpus_bytes - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, TiledKnnOnCuda,
                         testing::Combine(testing::Bool(), testing::Values(0L, 12L << 20),
                                          testing::Values(0L, 1024L),
                                          testing::Values("auto", "qms-block")));

}  // namespace
}  // namespace kselect::search
