#pragma once
// Where a sweep's rows come from: the generator, or distances between the vectors of a dataset.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/backend/host_memory.hpp"
#include "harness/config/cells.hpp"
#include "harness/config/config.hpp"
#include "kselect/problem.hpp"

namespace kselect {

class input_source {
 public:
  virtual ~input_source() = default;

  // How many base vectors and queries there are; empty for the generator, which has no end.
  virtual std::optional<dataset_sizes> sizes() const = 0;
  // What a record says about the input besides the problem, and what enters a cell's key.
  virtual nlohmann::ordered_json description() const = 0;
  // Writes the problem's rows (problem.input_bytes() bytes in the problem's layout).
  virtual void fill(const problem& p, std::span<std::byte> rows) const = 0;
};

// Loads the dataset, if the config names one; `dataset` overrides its base path. Throws what the
// file readers throw.
std::unique_ptr<input_source> open_input(const sweep_config& config,
                                         const std::optional<std::string>& dataset, int threads);

// The rows of the problem last asked for, kept while the next problem has the same ones.
class row_cache {
 public:
  explicit row_cache(const input_source& source) : source_(source) {}
  // Valid until the next call; throws error(failure::resources) if the rows do not fit.
  std::span<const std::byte> rows(const problem& p);
  // Makes the next call produce the rows anew.
  void forget() { held_.reset(); }
  // Counts up whenever rows() had to make new rows.
  std::int64_t generation() const { return generation_; }

 private:
  const input_source& source_;
  std::optional<problem> held_;
  host_buffer rows_;
  std::int64_t generation_ = 0;
};

}  // namespace kselect
