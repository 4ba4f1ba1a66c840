#pragma once
// The results of a k-NN search as they are found: two .npy files that grow tile by tile under a
// temporary name, and a journal of the finished tiles, so that a killed job can be resumed.
//
//     INDICES.partial  DISTANCES.partial   the rows so far, in their targets' directories
//     INDICES.job/                         a journal (harness/record/journal.hpp): first the
//                                          request, then one record a finished tile of queries;
//                                          and inputs.json, the inputs' hashes by identity
//
// A tile is recorded only after its rows are on the disk. Resuming checks the headers and the rows
// of recorded tiles and cuts off all rows after them. So no recorded tile is computed again or
// lost. commit() renames the files to their targets. Where a target is a symbolic link, all of
// these are beside the file that it names.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/record/file.hpp"
#include "harness/record/journal.hpp"
#include "search/search.hpp"

namespace kselect::search {

struct result_request {
  std::filesystem::path indices;    // int64 [queries][k]
  std::filesystem::path distances;  // float32 [queries][k]
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::string job;      // one line of JSON, an object: all that the answer depends on
  bool resume = false;  // continue an unfinished job, if there is one
};

// Where the rows of a target are until the job ends.
std::filesystem::path partial_file(const std::filesystem::path& target);

// Where a job keeps what it knows of its inputs (runtime/io/content_hashes.hpp).
std::filesystem::path known_inputs_of(const std::filesystem::path& indices);

class result_store {
 public:
  // Sets disk space aside for all rows to come, where the file system can. Throws
  // error(failure::output) if a file cannot be written, if the disk has not that room, if there is
  // an unfinished job but no `resume`, or if another process holds it; error(failure::usage),
  // naming the difference, if the job there is another one; error(failure::input) if its files are
  // damaged.
  explicit result_store(const result_request& request, file_system& files = system_files());

  // The first query without a result.
  std::int64_t done() const { return done_; }
  bool resumed() const { return resumed_; }

  // Appends the next `count` queries, durable on return. Throws error(failure::output). Earlier
  // records remain valid then, and the job can be resumed.
  void append(std::int64_t count, std::span<const float> distances,
              std::span<const std::int64_t> indices);
  // After the last query: renames the files to their targets and removes the job's directory.
  void commit();

 private:
  struct tile {
    std::int64_t first, count;
    std::string hash;
  };
  void start();
  void require_room() const;
  std::vector<tile> recorded_tiles(std::span<const record_line> lines);
  void resume(std::span<const record_line> lines);
  void require_same_job(const record_line& line) const;
  std::filesystem::path rows_of(const std::filesystem::path& target) const;
  void check_headers() const;
  void check_tile(std::int64_t first, std::int64_t count, const std::string& hash) const;
  void open_partial_files();
  void reserve();
  void append_tile(std::int64_t count, std::span<const float> distances,
                   std::span<const std::int64_t> indices);

  result_request request_;
  file_system& system_;
  std::filesystem::path directory_;
  std::optional<journal> journal_;
  std::optional<file> indices_, distances_;
  std::int64_t done_ = 0;
  bool resumed_ = false;
};

}  // namespace kselect::search
