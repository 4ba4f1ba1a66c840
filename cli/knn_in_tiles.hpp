#pragma once
// The part of `kselect knn` for a corpus larger than memory and for several ranks.

#include <cstddef>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"
#include "search/knn/tiled/tiled_knn.hpp"

namespace kselect::cli {

struct tiled_options {
  std::int64_t memory_limit_mib = 0;
  std::int64_t query_tile = 0;
  bool resume = false, mpi = false;
  std::string gpus;  // in this process: a number, or "all"; empty: not requested
  int ranks = 0;     // threads of this process as ranks; 0: not requested
  double wait_limit_s = 600;
  std::string exchange = "auto";

  // Whether an option is set that only a search in tiles supports.
  bool wanted() const {
    return memory_limit_mib != 0 || resume || mpi || ranks != 0 || !gpus.empty();
  }
};

// Options that a search in memory has as well.
struct shared_options {
  const std::string& executor;
  int threads;
  const std::string& record;  // the folder of a run; empty: write no record
};

void add_tiled_options(CLI::App& command, tiled_options& o);

// Says on stderr why `--product auto` is not float16 on executor cuda; nothing if it is.
void say_why_not_products(const std::string& because);

// For a search in memory. Throws error(failure::usage) if the request needs tiles, or if it would
// run in every one of several processes.
void refuse_what_needs_tiles(const tiled_options& o, std::size_t base_files);

// Completes the request from the options and runs it on all ranks. Returns the exit code.
int search_in_tiles(const tiled_options& o, const tiled_request& request,
                    const shared_options& shared);

}  // namespace kselect::cli
