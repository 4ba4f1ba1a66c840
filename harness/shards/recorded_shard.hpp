#pragma once
// The records of one shard of a sweep, finished or not.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/plan/plan.hpp"
#include "harness/plan/shard.hpp"

namespace kselect::harness::shards {

struct recorded_line {
  std::string key;
  cell_status status = cell_status::error;
  std::string title;  // "ALGORITHM PROBLEM", as --dry-run prints it
  std::string cell;   // algorithm, executor and the whole problem: equal on all machines
  std::string place;  // "FILE:LINE"
  std::string text;   // the record, without its checksum
};

struct recorded_shard {
  std::filesystem::path directory;
  nlohmann::ordered_json meta;
  harness::shard which;          // 1/1 if the records predate shards
  std::string plan;              // sweep_part::plan; empty if they predate shards
  std::size_t planned = 0;       // cells of the shard; 0 if they predate shards
  std::size_t cells_of_all = 0;  // likewise
  std::int64_t predicted_us = 0;
  // In the order recorded, each key once. The last settled record of a key counts, or its last
  // record if none is settled, as in a resumed run.
  std::vector<recorded_line> lines;

  // For messages: "DIR (shard 2/3)".
  std::string name() const;
  std::string host() const;
  // What times depend on: processor, threads and GPUs. It excludes the host's name, so that equal
  // nodes of a cluster are one machine.
  nlohmann::ordered_json machine() const;
};

// Whether a resumed run does not try the cell again: it is ok or unsupported.
bool is_settled(cell_status status);

// Reads a run directory. While the sweep runs, this gives the finished cells. Throws
// error(failure::input) if files are missing or damaged.
recorded_shard read_shard(const std::filesystem::path& directory);

}  // namespace kselect::harness::shards
