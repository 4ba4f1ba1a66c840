#pragma once
// The shards of one sweep made into one run for each kind of machine.
//
// Nothing is guessed: shards of another config, plan or program, a missing or unfinished shard, and
// a cell that has two different settled records on one machine are errors that name the directory,
// the shard or the cell. Times of different machines never come into one run.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace kselect::harness::shards {

struct merge_request {
  std::vector<std::filesystem::path> directories;
  std::filesystem::path out;
  bool partial = false;  // merge what is there of missing and unfinished shards
};

struct merged_run {
  std::filesystem::path directory;  // out / a name made of the machine's GPU or processor
  std::size_t cells = 0;
  std::size_t failed = 0;  // of them: neither ok nor unsupported
  std::vector<std::string> hosts;
};

struct merge_result {
  std::vector<merged_run> runs;  // one a kind of machine
  std::vector<std::string> notes;
};

// Throws error(failure::usage) for shards that do not belong together or are not all there,
// error(failure::input) for unreadable ones, error(failure::output) where `out` has results already
// or cannot be written. All checks come before the first file is written.
merge_result merge(const merge_request& request);

}  // namespace kselect::harness::shards
