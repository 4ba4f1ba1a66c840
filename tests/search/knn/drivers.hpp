#pragma once
// The same question to the search in memory and to the search in tiles, for tests.

#include <array>
#include <cstring>

#include "brute_force.hpp"
#include "runtime/io/npy.hpp"
#include "search/knn/tiled/tiled_knn.hpp"
#include "tests/runtime/io/input_files.hpp"

namespace kselect::search::brute_force {

inline answer in_memory(const question& q, std::int64_t k, const char* algorithm, int threads) {
  answer found{(q.query == nullptr ? q.base : *q.query).count, k, {}, {}};
  const auto place = open_backend(executor_kind::cpu, threads);
  knn({.base = q.base,
       .query = q.query,
       .exclude_self = q.exclude_self,
       .metric = q.m,
       .k = k,
       .entry = *find_algorithm(algorithm)->algorithm},
      *place, [&](const knn_block& block) {
        found.indices.insert(found.indices.end(), block.indices.begin(), block.indices.end());
        found.distances.insert(found.distances.end(), block.distances.begin(),
                               block.distances.end());
      });
  return found;
}

// In tiles of 512 vectors, by `size` ranks.
inline answer in_tiles(const question& q, std::int64_t k, const char* algorithm, int size) {
  const input_files::folder at;
  const auto save = [&](const vector_set& set, const char* name) {
    write_npy(at / name, element_type::float32, std::array{set.count, set.dimension},
              std::as_bytes(std::span(set.data)));
    return std::vector<std::filesystem::path>{at / name};
  };
  tiled_request request{.base = save(q.base, "base.npy"),
                        .query = {},
                        .exclude_self = q.exclude_self,
                        .metric = q.m,
                        .k = k,
                        .entry = *find_algorithm(algorithm),
                        .memory_bytes = std::int64_t{1} << 40,
                        .query_tile = 256,
                        .indices = at / "i.npy",
                        .distances = at / "d.npy"};
  if (q.query != nullptr) request.query = save(*q.query, "query.npy");
  run_ranks(size, 60, [&](communicator& ranks) {
    const auto mine = open_backend(executor_kind::cpu, 1);
    knn_in_tiles(request, *mine, ranks);
  });
  answer found{(q.query == nullptr ? q.base : *q.query).count, k, {}, {}};
  const npy_file indices = npy_file::open(at / "i.npy");
  const npy_file distances = npy_file::open(at / "d.npy");
  found.indices.resize(static_cast<std::size_t>(found.queries * k));
  found.distances.resize(found.indices.size());
  std::memcpy(found.indices.data(), indices.data(), found.indices.size() * 8);
  std::memcpy(found.distances.data(), distances.data(), found.distances.size() * 4);
  return found;
}

}  // namespace kselect::search::brute_force
