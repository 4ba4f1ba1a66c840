#pragma once
// Counts the exact work of every kernel on fibers and compares it with a record. This checks the
// cost without a GPU and without noise: one more element read or one more barrier is a difference.
//
// Fibers run in order on one host thread, so the counts depend on the source alone.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/plan.hpp"

namespace kselect::harness {

using work = std::map<std::string, std::int64_t>;  // a counter's name and value; zeros are left out

// The work by algorithm and problem, the problem as text.
using work_record = std::map<std::pair<std::string, std::string>, work>;

// Runs every cell of the config that has a kernel once on fibers and proves its answer. Skips what
// an algorithm does not support. Throws error(failure::wrong_answer) or error(failure::cells),
// which names the wrong or failed cell.
work_record count_work(const sweep_config& config, const input_source& input,
                       const std::optional<std::string>& filter = std::nullopt);

// Writes {"schema":"kselect-counters/1","cells":[...]}, one line per cell so that diffs are
// readable.
void write_work(const work_record& counted, const std::filesystem::path& path);
// Throws error(failure::input) if the file cannot be read or is no such record.
work_record read_work(const std::filesystem::path& path);

struct work_difference {
  std::string algorithm, problem, counter;
  std::int64_t recorded = 0, now = 0;
};

struct work_check {
  std::vector<work_difference> more, less;
  std::vector<std::pair<std::string, std::string>> gone;   // recorded, but not counted now
  std::vector<std::pair<std::string, std::string>> added;  // counted, but not recorded

  // Added kernels pass, so that a new algorithm needs no change of the record.
  bool passed() const { return more.empty() && less.empty() && gone.empty(); }
};
work_check check_work(const work_record& recorded, const work_record& now);

// As "qms-warp float32/...: global_reads: recorded 4096, now 4200: +104 (+2.5 %)".
std::string to_string(const work_difference& difference);

}  // namespace kselect::harness
