#pragma once
// What a search with an index leaves behind: one line of a runs.jsonl of its own, framed as all
// journals are (harness/record/journal.hpp).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "search/metric/index_file.hpp"
#include "search/metric/space.hpp"

namespace kselect::search::metric_space {

// What an index is: kind, metric, objects and where they come from, its parameters.
nlohmann::ordered_json index_json(const indexed_objects& indexed);

struct search_run {
  const indexed_objects& indexed;
  const object_set& queries;
  const backend& place;
  const search_options& options;
  std::optional<std::int64_t> k;  // of k-NN
  std::optional<float> radius;    // of a range search
  std::optional<double> share;    // of the objects, that the radius was made from
  std::optional<radius_plan> plan;
  double training_seconds = 0;
  std::vector<search_report> repeats;  // at least one; all do the same work
  std::int64_t hits = 0;
  std::int64_t queries_proven = 0;
  std::chrono::system_clock::time_point started;
};

// The record, without checksum. Times in nanoseconds, as in other records; work is a query's mean;
// null where a thing was not counted.
std::string search_record(const search_run& run);

}  // namespace kselect::search::metric_space
