#pragma once
// The record of a search in tiles, if --record asks for it: one JSON file with the request, the
// plan, and every rank's times, work and place.

#include <chrono>
#include <span>
#include <string>

#include "runtime/backend/backend.hpp"
#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/tiled_knn.hpp"
#include "search/search.hpp"

namespace kselect::search {

// The calling rank's part of the record, as JSON. `product_rate`: of its GPU
// (search/knn/cuda/product_rate.hpp); 0: not measured.
std::string rank_record(const communicator& ranks, const backend& place, const tiled_report& report,
                        double product_rate);

struct tiled_run {
  const tiled_request& request;
  const tiled_report& report;          // of rank 0
  std::span<const std::string> ranks;  // rank_record of each rank, by rank
  executor_kind executor;
  std::chrono::system_clock::time_point started;
  double elapsed_s = 0;  // from there, on rank 0, opening the GPU and the files included
};

// The text of the file. Times are in nanoseconds, as in runs.jsonl.
std::string tiled_record(const tiled_run& run);

}  // namespace kselect::search
