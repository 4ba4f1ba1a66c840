#pragma once
// What a timed k-NN run leaves behind: one JSON file with the request, the times of every repeat,
// and everything that tells where they come from.

#include <chrono>
#include <span>
#include <string>

#include "kselect/registry.hpp"
#include "search/knn/knn.hpp"

namespace kselect::search {

// Of every stage and of the total, each by itself: the medians of stages need not add up to that of
// the total.
struct median_times {
  cuda_knn_times stages;  // milliseconds
  double total = 0;
  std::size_t repeats = 0;   // that the medians are of
  std::size_t left_out = 0;  // the first of several: it loads kernels and grows workspaces
};
// Of at least one repeat.
median_times medians_of(std::span<const cuda_knn_times> repeats);

struct knn_run {
  const knn_request& request;
  const registered& entry;  // of request.entry
  const cuda_knn_report& report;
  int threads = 0;  // of the host, which prove
  std::chrono::system_clock::time_point started;
  double elapsed_s = 0;           // from there: loading and proving included
  memory_ceilings ceilings = {};  // of the GPU, measured beside the times
};

// The text of the file. Times are in nanoseconds, as in runs.jsonl; null where there was nothing to
// time.
std::string knn_record(const knn_run& run);

}  // namespace kselect::search
