#pragma once
// The generated input of a problem, made by a kernel in the backend's memory (cuda, fiber).

#include <cstddef>

#include "harness/harness.hpp"
#include "harness/workload/workload.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// Enqueues a kernel that writes the same bytes as the host's generate_rows
// (harness/workload/rows.hpp) to `out`: problem.input_bytes() bytes of the backend's memory. Throws
// error(failure::unsupported) if the backend cannot run kernels.
void generate_rows(backend& place, const workload& p, std::byte* out);

}  // namespace kselect::harness
