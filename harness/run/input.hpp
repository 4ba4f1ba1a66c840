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
  // Writes the problem's rows (problem.input_bytes() bytes in the problem's layout). Variant 0 is
  // what the problem names; others are other rows of the same kind, from another seed or other
  // queries, so that no run can profit from an earlier one.
  virtual void fill(const problem& p, std::span<std::byte> rows, int variant = 0) const = 0;
};

// Loads the dataset, if the config names one; `dataset` overrides its base path. Throws what the
// file readers throw.
std::unique_ptr<input_source> open_input(const sweep_config& config,
                                         const std::optional<std::string>& dataset, int threads);

}  // namespace kselect
