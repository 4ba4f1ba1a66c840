#pragma once
// What one shard of a sweep has left in its directory so far, finished or not.

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
  std::string place;  // "FILE:LINE"
  std::string text;   // the record, without its checksum
};

struct recorded_shard {
  std::filesystem::path directory;
  nlohmann::ordered_json meta;
  harness::shard which;          // 1/1 of records from before there were shards
  std::string plan;              // sweep_part::plan; empty there
  std::size_t planned = 0;       // cells of the shard; 0 there
  std::size_t cells_of_all = 0;  // 0 there
  std::int64_t predicted_us = 0;
  // In the order recorded, each key once: as in a resumed run, what is settled stands, else the
  // last attempt.
  std::vector<recorded_line> lines;

  // "DIR (shard 2/3)"
  std::string name() const;
  std::string host() const;
  // What times depend on: processor, threads and GPUs, but no name of a host, so that the nodes of
  // one kind of a cluster are one machine.
  nlohmann::ordered_json machine() const;
};

// ok and unsupported: what a resumed run does not try again.
bool is_settled(cell_status status);

// Reads a run directory; beside a running sweep it sees what is finished. Throws
// error(failure::input) where files are missing or damaged.
recorded_shard read_shard(const std::filesystem::path& directory);

}  // namespace kselect::harness::shards
