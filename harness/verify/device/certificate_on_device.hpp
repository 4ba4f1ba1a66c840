#pragma once
// Checks the certificate (harness/verify/certificate.hpp) by kernels of the backend that selected.
// Only the verdict crosses the bus: copying large rows to the host would take a sweep longer than
// all its timing.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "harness/harness.hpp"
#include "harness/verify/certificate.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

struct device_verdict {
  std::int64_t rows_checked = 0;
  std::int64_t rows_wrong = 0;
  // The lowest wrong row, if any, and the check that verify() would name. One exception: a row with
  // faults of ordering and of stability always fails on ordering. `failed` is empty if the kernels
  // did not see all of the row.
  std::int64_t first_row = -1;
  std::optional<check> failed = std::nullopt;

  explicit operator bool() const { return rows_wrong == 0; }
};

// How the work is divided. Tests use smaller pieces.
struct device_proof_shape {
  std::size_t scratch_bytes = std::size_t{256} << 20;  // limit; enough for rows of 2^31 elements
  std::int64_t stretch = 4096;                         // elements that a warp checks at a time
};

// Checks every row of the answer in `buffers` (addresses at `place`), after all work enqueued
// there. Returns empty if the host must check instead: the payload lacks values or indices, rows
// are ragged, the records of one row exceed the scratch memory, or that memory cannot be allocated.
//
// Throws failure::usage if a buffer is null, failure::unsupported if a kernel fails.
std::optional<device_verdict> verify_on_device(const problem&, const contract&, const io& buffers,
                                               backend& place, const device_proof_shape& = {});

}  // namespace kselect::harness
