#pragma once
// The side of `kselect knn` for corpora beyond memory and for several processes.

#include <cstddef>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "search/knn/tiled/tiled_knn.hpp"

namespace kselect::cli {

struct tiled_options {
  std::int64_t memory_limit_mib = 0;
  std::int64_t query_tile = 0;
  bool resume = false, mpi = false;
  std::string gpus;  // of this process: a number, or "all"; empty: not asked for
  int ranks = 0;     // threads of this process; 0: not asked for
  double wait_limit_s = 600;
  std::string exchange = "auto";

  // Whether the user asked for what only a search in tiles can do.
  bool wanted() const {
    return memory_limit_mib != 0 || resume || mpi || ranks != 0 || !gpus.empty();
  }
};

// What a search in memory has as well.
struct shared_options {
  const std::string& executor;
  int threads;
  const std::string& record;  // empty: none
};

void add_tiled_options(CLI::App& command, tiled_options& o);

// Throws error(failure::usage) where a search in memory was asked for that needs tiles, or in every
// one of several processes.
void refuse_what_needs_tiles(const tiled_options& o, std::size_t base_files);

// Runs the request on all ranks and returns the exit code; completes it from the options.
int search_in_tiles(const tiled_options& o, const tiled_request& request,
                    const shared_options& shared);

}  // namespace kselect::cli
