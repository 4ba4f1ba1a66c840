#pragma once
// Merges the shards of one sweep into one run per kind of machine.
//
// Shards of another config, plan or program, a missing or unfinished shard, and two different
// settled records of one cell on one machine are errors. They name the directory, the shard or the
// cell. Times of different machines never get into one run.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace kselect::harness::shards {

struct merge_request {
  std::vector<std::filesystem::path> directories;
  std::filesystem::path out;
  bool partial = false;  // merge although shards are missing or unfinished
};

struct merged_run {
  std::filesystem::path directory;  // below `out`, named after the machine's GPU or processor
  std::size_t cells = 0;
  std::size_t failed = 0;  // of these: neither ok nor unsupported
  std::vector<std::string> hosts;
};

struct merge_result {
  std::vector<merged_run> runs;  // one per kind of machine
  std::vector<std::string> notes;
};

// Throws error(failure::usage) if shards do not belong together or some are missing,
// error(failure::input) if one cannot be read, error(failure::output) if `out` has results already
// or cannot be written. All checks precede the first write.
merge_result merge(const merge_request& request);

}  // namespace kselect::harness::shards
