#pragma once
// One proven selection on rows in host memory, for `kselect select` and `kselect knn`.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/run/input_rows.hpp"
#include "kselect/algorithm.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

struct selection {
  std::vector<std::byte> values;      // Q x outputs_per_row of the problem's type
  std::vector<std::int64_t> indices;  // Q x k; empty if the payload has no indices
};

// Runs the algorithm once and proves its answer. Throws error(failure::unsupported) if the
// algorithm does not support the problem, error(failure::input) if the rows hold a NaN or an
// infinity that its contract excludes, and error(failure::wrong_answer) if the certificate fails.
// If there are no rows, or n or k is 0, the selection is empty.
selection select_rows(const algorithm& entry, const problem& p, std::span<const std::byte> rows,
                      backend& place, const row_places& ragged = {});

// int64 if the algorithm writes it, else int32.
index_type preferred_index(const algorithm& entry);

}  // namespace kselect::harness
