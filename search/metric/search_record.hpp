#pragma once
// The record of a search with an index: one line of its own runs.jsonl, in the format of all
// journals (harness/record/journal.hpp).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/environment/host.hpp"
#include "search/metric/index_file.hpp"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// The description of an index: kind, metric, objects and their source, parameters.
nlohmann::ordered_json index_json(const indexed_objects& indexed);

struct search_run {
  const indexed_objects& indexed;
  const object_set& queries;
  const backend& place;
  const search_options& options;
  std::optional<std::int64_t> k;  // of k-NN
  std::optional<float> radius;    // of a range search
  std::optional<double> share;    // of the objects, if the radius was derived from it
  std::optional<radius_plan> plan;
  double training_seconds = 0;
  int warmups = 0;                     // searches before `repeats`, not recorded
  std::vector<search_report> repeats;  // at least one; all do the same work
  runtime::host_facts host;            // as it was before the first search
  std::int64_t hits = 0;
  std::int64_t queries_proven = 0;
  std::chrono::system_clock::time_point started;
};

// The record, without checksum. Times are in nanoseconds, as in other records, with the interval of
// the median that other records have. Work is the mean of so many queries; null if it was not
// counted.
std::string search_record(const search_run& run);

}  // namespace kselect::search::metric_space
