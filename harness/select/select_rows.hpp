#pragma once
// One proven selection on rows in host memory: what `kselect select` and `kselect knn` are made of.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/harness.hpp"
#include "kselect/algorithm.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

struct selection {
  std::vector<std::byte> values;      // Q x outputs_per_row of the problem's type
  std::vector<std::int64_t> indices;  // Q x k; empty without indices
};

// Runs the algorithm once. Throws error(failure::unsupported) where its declaration excludes the
// problem, error(failure::input) if the rows hold a NaN or an infinity that its contract excludes,
// and error(failure::wrong_answer) when the certificate fails: a wrong answer is never returned.
// Zero rows or empty rows give an empty selection.
selection select_rows(const algorithm& entry, const problem& p, std::span<const std::byte> rows,
                      backend& place);

// int64 indices where the algorithm writes them, else int32.
index_type preferred_index(const algorithm& entry);

}  // namespace kselect::harness
