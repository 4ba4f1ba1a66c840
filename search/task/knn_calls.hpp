#pragma once
// What `kselect knn` measured, as a cell of the task `knn` (call_record.hpp).

#include <chrono>
#include <span>
#include <string>

#include "kselect/registry.hpp"
#include "search/exchange/communicator.hpp"
#include "search/knn/knn.hpp"
#include "search/knn/tiled/tiled_knn.hpp"
#include "search/task/call_record.hpp"

namespace kselect::search {

// A search in memory on executor cuda, by cuda_knn_options::repeats.
struct knn_run {
  const knn_request& request;
  const registered& entry;        // of request.entry
  const cuda_knn_report& report;  // with times
  const device& place;
  std::chrono::system_clock::time_point started;
  double elapsed_s = 0;           // from there, loading and proving included
  memory_ceilings ceilings = {};  // of the GPU, measured in the same run
  double product_rate = 0;        // of float16, likewise (cuda/product_rate.hpp); 0: not measured
};

// The repeats that count are the rounds of the cell. `product_flop_per_s` and `share_of_products`
// are counted if the rate was measured.
measured_call call_of(const knn_run& run);

// The calling rank's part of a search in tiles, as JSON: its place, its work and its times.
// `product_rate`: of its GPU; 0: not measured.
std::string rank_facts(const communicator& ranks, const backend& place, const tiled_report& report,
                       double product_rate);

struct tiled_run {
  const tiled_request& request;
  const tiled_report& report;          // of rank 0
  std::span<const std::string> ranks;  // rank_facts of each rank, by rank
  const device& place;                 // of rank 0
  std::chrono::system_clock::time_point started;
  double elapsed_s = 0;  // from there, on rank 0, opening the GPU and the files included
};

// One round. Its time is rank 0's search; its stages are means over the ranks. `compute` is by the
// GPU's own clock if there is one. `read_slowest` and `compute_slowest` are of the slowest rank.
measured_call call_of(const tiled_run& run);

}  // namespace kselect::search
