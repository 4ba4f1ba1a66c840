#pragma once
// The certificate (harness/verify/certificate.hpp) checked where rows and answer lie, by kernels of
// the place that selected: nothing but the verdict crosses the bus. A copy of large rows for the
// host costs a sweep more than all its timing.

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
  // Of the lowest wrong row, if any. `failed` is the check that verify() would name, but that a row
  // with faults of ordering and of stability fails on ordering whichever comes first; it is empty
  // where the kernels did not see all of the row, so that nothing is known about it.
  std::int64_t first_row = -1;
  std::optional<check> failed = std::nullopt;

  explicit operator bool() const { return rows_wrong == 0; }
};

// How the work is cut; tests cut it finer.
struct device_proof_shape {
  std::size_t scratch_bytes = std::size_t{256} << 20;  // at most; enough for rows of 2^31 elements
  std::int64_t stretch = 4096;                         // elements that a warp looks at in one go
};

// Checks every row of the answer in `buffers` (addresses at `place`). What was enqueued there
// before is waited for. Empty where this cannot be done, so that the host has to: a payload without
// indices, rows too long for the scratch memory, or no room for that.
//
// Throws failure::usage when a buffer is null, failure::unsupported when a kernel fails.
std::optional<device_verdict> verify_on_device(const problem&, const contract&, const io& buffers,
                                               backend& place, const device_proof_shape& = {});

}  // namespace kselect::harness
