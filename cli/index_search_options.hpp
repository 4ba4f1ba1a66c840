#pragma once
// The options of `kselect index knn` and `kselect index range`.

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"

namespace kselect::cli {

struct index_search_arguments {
  std::string index, queries, indices, distances, starts, json_file;
  std::string executor = "auto", radius_rule = "increasing", distribution = "elements",
              walk = "members";
  std::string prove = "all";
  std::int64_t k = 0, limit = 0, batch = 0;
  float radius = -1, radius_step = 0;
  std::optional<float> first_radius;
  double share = 0;
  int threads = 0, block_threads = 256;
  bool exhaustive = false;
};

// Adds the options that both commands have.
void add_search_options(CLI::App& command, index_search_arguments& o);

}  // namespace kselect::cli
