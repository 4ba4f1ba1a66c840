#pragma once
// The record of a timed k-NN run: one JSON file with the request, the times of every repeat, and
// their provenance.

#include <chrono>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "kselect/registry.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

// The median of each stage and of the total. The medians of stages need not add up to the total's.
struct median_times {
  cuda_knn_times stages;  // milliseconds
  double total = 0;
  std::size_t repeats = 0;   // in the medians
  std::size_t left_out = 0;  // 1 if there are several: the first loads kernels, grows workspaces
};
// `repeats`: at least one.
median_times medians_of(std::span<const cuda_knn_times> repeats);

struct knn_run {
  const knn_request& request;
  const registered& entry;  // of request.entry
  const cuda_knn_report& report;
  int threads = 0;  // host threads, which prove
  std::chrono::system_clock::time_point started;
  double elapsed_s = 0;           // from there, loading and proving included
  memory_ceilings ceilings = {};  // of the GPU, measured in the same run
  double product_rate = 0;        // of float16, likewise (cuda/product_rate.hpp); 0: not measured
};

// The part of that rate at which `multiplied` pairs of vectors were searched in `seconds`; 0 if
// one of the numbers is.
double share_of_products(double multiplied, std::int64_t dimension, double seconds,
                         double product_rate);

// A rate as records show it: {"flop_per_s": ..., "how": ...}; null if it was not measured.
nlohmann::ordered_json product_ceiling_json(double product_rate);

// The text of the file. Times are in nanoseconds, as in runs.jsonl; null if nothing was timed.
std::string knn_record(const knn_run& run);

}  // namespace kselect::search
