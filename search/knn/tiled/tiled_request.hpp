#pragma once
// The request of a search in tiles.

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "kselect/registry.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

// How ranks exchange their lists: by NCCL between GPUs, or by their communicator between hosts.
enum class exchange_kind : std::uint8_t {
  automatic,  // NCCL if it is there and every rank has its own GPU; else host
  host,
  nccl
};
constexpr auto names_of(exchange_kind) {
  return std::to_array<named<exchange_kind>>({{exchange_kind::automatic, "auto"},
                                              {exchange_kind::host, "host"},
                                              {exchange_kind::nccl, "nccl"}});
}

struct tiled_request {
  std::vector<std::filesystem::path> base, query;  // no query: every base vector is one
  std::int64_t limit = 0;                          // of base vectors; 0: all
  bool exclude_self = false;
  runtime::metric metric = runtime::metric::sqeuclidean;
  std::int64_t k = 0;
  const registered& entry;
  // float16, bfloat16, int8: the fused search (search/knn/fused), on executors cuda and fiber.
  // automatic: that on executor cuda where it can (why_not_products), and float64 on the host.
  knn_product product = knn_product::automatic;
  std::int64_t memory_bytes = 0;  // bound on the host memory of the whole process
  std::int64_t query_tile = 0;    // 0: as many as fit
  exchange_kind exchange = exchange_kind::automatic;
  bool resume = false;
  std::filesystem::path indices, distances;
  cuda_knn_options cuda = {};

  bool by_products() const { return is_filtered(product); }
};

}  // namespace kselect::search
