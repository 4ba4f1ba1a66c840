// Tiles are read in the promised order, and a search in tiles gives the same rows as one in memory.

#include "search/knn/tiled/tiled_knn.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <thread>

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

class TiledKnn : public testing::TestWithParam<std::tuple<bool, const char*, int>> {
 protected:
  TiledKnn() {
    const vector_set base = load_vectors(base_path_), query = load_vectors(query_path_);
    knn({.base = base,
         .query = self_ ? nullptr : &query,
         .exclude_self = self_,
         .metric = metric::cosine,
         .k = 20,
         .entry = *entry_.algorithm},
        *open_backend(executor_kind::cpu, threads_), [&](const knn_block& block) {
          indices_.insert(indices_.end(), block.indices.begin(), block.indices.end());
          distances_.insert(distances_.end(), block.distances.begin(), block.distances.end());
        });
  }

  tiled_request request() const {
    tiled_request asked{.base = {base_path_},
                        .query = {},
                        .exclude_self = self_,
                        .metric = metric::cosine,
                        .k = 20,
                        .entry = entry_,
                        .memory_bytes = std::int64_t{1} << 40,
                        .query_tile = 256,
                        .indices = at_ / "i.npy",
                        .distances = at_ / "d.npy"};
    if (!self_) asked.query = {query_path_};
    return asked;
  }

  // The files have the rows of the search in memory, and are removed.
  void require_same() const {
    const npy_file indices = npy_file::open(at_ / "i.npy");
    const npy_file distances = npy_file::open(at_ / "d.npy");
    ASSERT_EQ(indices.bytes(), std::ssize(indices_) * 8);
    EXPECT_EQ(std::memcmp(indices.data(), indices_.data(), indices_.size() * 8), 0);
    EXPECT_EQ(std::memcmp(distances.data(), distances_.data(), distances_.size() * 4), 0);
    std::filesystem::remove(at_ / "i.npy");
  }

  const bool self_ = std::get<0>(GetParam());
  const registered& entry_ = *find_algorithm(std::get<1>(GetParam()));
  const int threads_ = std::get<2>(GetParam());
  const folder at_;
  // Several tiles of queries, of which the last is short.
  const std::filesystem::path base_path_ = vectors_in(at_, "base.npy", 3000, 200, 3);
  const std::filesystem::path query_path_ = vectors_in(at_, "query.npy", 700, 200, 9);
  std::vector<std::int64_t> indices_;
  std::vector<float> distances_;
};

TEST_P(TiledKnn, GivesTheRowsOfASearchInMemory) {
  const auto one = alone();
  const auto place = open_backend(executor_kind::cpu, threads_);
  const tiled_report report = knn_in_tiles(request(), *place, *one);
  EXPECT_EQ(report.query_tiles, self_ ? 12 : 3);
  const tiled_times& times = report.times;
  EXPECT_GT(times.search, 0);
  EXPECT_GE(times.search, times.nearest + times.queries_wait + times.lists_wait + times.ranks_wait +
                              times.write_wait);
  require_same();
}

TEST_P(TiledKnn, GivesThemWithRanks) {
  for (const int size : {2, 3}) {
    std::int64_t vectors = 0;
    run_ranks(size, 60, [&](communicator& ranks) {
      const auto mine = open_backend(executor_kind::cpu, threads_);
      const tiled_report part = knn_in_tiles(request(), *mine, ranks);
      ranks.gather({});
      if (ranks.rank() == 0) vectors = part.vectors;
      EXPECT_GT(part.times.exchange, 0);
      EXPECT_FALSE(part.nccl);
    });
    EXPECT_EQ(vectors, first_of_rank(3000, 1, size));
    require_same();
  }
}

// As where the ranks' communicator serves one thread alone.
class one_thread final : public communicator {
 public:
  explicit one_thread(communicator& of) : of_(of) {}
  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  int local_rank() const override { return of_.local_rank(); }
  int local_size() const override { return of_.local_size(); }
  int process_size() const override { return of_.process_size(); }
  bool any_thread() const override { return false; }
  double wait_limit_s() const override { return of_.wait_limit_s(); }
  std::string name(int rank) const override { return of_.name(rank); }
  void meet() override { checked().meet(); }
  void broadcast(std::span<std::byte> bytes) override { checked().broadcast(bytes); }
  std::vector<std::string> gather(const std::string& text) override {
    return checked().gather(text);
  }
  void exchange(std::span<const column> columns, std::span<const std::int64_t> rows) override {
    checked().exchange(columns, rows);
  }
  void collect(std::span<const column> columns, std::span<const std::int64_t> rows) override {
    checked().collect(columns, rows);
  }
  [[noreturn]] void abort(int code) override {
    of_.abort(code);
    std::_Exit(code);
  }

 private:
  communicator& checked() const {
    EXPECT_EQ(std::this_thread::get_id(), owner_);
    return of_;
  }
  communicator& of_;
  std::thread::id owner_ = std::this_thread::get_id();
};

TEST_P(TiledKnn, NeedsNoThreadBesideTheSearch) {
  run_ranks(2, 60, [&](communicator& ranks) {
    one_thread mine(ranks);
    knn_in_tiles(request(), *open_backend(executor_kind::cpu, threads_), mine);
  });
  require_same();
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

tiled_request request_for(const folder& at, bool self, std::int64_t query_tile,
                          const char* algorithm, const std::string& name) {
  tiled_request request{.base = {vectors_in(at, "base.npy", 16000, 96, 3, 50)},
                        .query = {},
                        .exclude_self = self,
                        .metric = metric::sqeuclidean,
                        .k = 20,
                        .entry = *find_algorithm(algorithm),
                        .memory_bytes = std::int64_t{8} << 30,
                        .query_tile = query_tile,
                        .indices = at / (name + ".i.npy"),
                        .distances = at / (name + ".d.npy")};
  if (!self) request.query = {vectors_in(at, "query.npy", 3000, 96, 9, 50)};
  return request;
}

TEST_P(TiledKnnOnCuda, GivesTheRowsOfTheProcessor) {
  const auto [self, device_bytes, query_tile, algorithm] = GetParam();
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const folder at;
  const auto one = alone();
  knn_in_tiles(request_for(at, self, query_tile, "cpu/heap", "cpu"),
               *open_backend(executor_kind::cpu), *one);
  tiled_request on_gpu = request_for(at, self, query_tile, algorithm, "gpu");
  on_gpu.cuda.memory_bytes = device_bytes;
  on_gpu.cuda.time_stages = true;
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
