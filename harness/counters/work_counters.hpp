#pragma once
// The work of every kernel, counted exactly on fibers and held against a record: a check on cost
// that needs no GPU and has no noise. One more element read, one more barrier, is a difference.
//
// Fibers run in order on one host thread, so that the numbers are those of the source alone.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/plan.hpp"

namespace kselect::harness {

using work = std::map<std::string, std::int64_t>;  // a counter's name and value, zeros left out

// By algorithm and problem, the latter as text.
using work_record = std::map<std::pair<std::string, std::string>, work>;

// Runs every cell of the config that has a kernel once and proves its answer; what an algorithm
// does not support is passed over. Throws error(failure::wrong_answer) or error(failure::cells)
// naming the cell that is wrong or fails.
work_record count_work(const sweep_config& config, const input_source& input,
                       const std::optional<std::string>& filter = std::nullopt);

// The file: {"schema":"kselect-counters/1","cells":[...]}, one line a cell so that changes read
// well.
void write_work(const work_record& counted, const std::filesystem::path& path);
// Throws error(failure::input).
work_record read_work(const std::filesystem::path& path);

struct work_difference {
  std::string algorithm, problem, counter;
  std::int64_t recorded = 0, now = 0;
};

struct work_check {
  std::vector<work_difference> more, less;
  std::vector<std::pair<std::string, std::string>> gone;   // recorded, but no longer counted
  std::vector<std::pair<std::string, std::string>> added;  // counted, not recorded yet

  // A kernel that is not recorded yet is no failure: adding an algorithm touches one file.
  bool passed() const { return more.empty() && less.empty() && gone.empty(); }
};
work_check check_work(const work_record& recorded, const work_record& now);

// "qms-warp float32/...: global_reads: recorded 4096, now 4200: +104 (+2.5 %)"
std::string to_string(const work_difference& difference);

}  // namespace kselect::harness
