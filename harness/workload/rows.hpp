#pragma once
// The generated input of a problem, on the host.

#include <cstddef>
#include <span>

#include "harness/workload/workload.hpp"

namespace kselect::harness {

// Fills `out` (problem.input_bytes() bytes, laid out as the problem says) from the problem's
// distribution and seed. The elements do not depend on the number of threads or the layout. Padding
// between rows (pitch > n) is filled with the byte 0xa5, so that reading it is noticed.
//
// Row 0 of `out` is the generator's row `first_row`, so that rows can be made in pieces.
void generate_rows(const workload& p, std::span<std::byte> out, int threads,
                   std::int64_t first_row = 0);

}  // namespace kselect::harness
