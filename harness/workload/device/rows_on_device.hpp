#pragma once
// The generated input of a problem, made by a kernel where algorithms read it (cuda, fiber).

#include <cstddef>

#include "harness/harness.hpp"
#include "harness/workload/workload.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

// Enqueues what the host's generate_rows does (harness/workload/rows.hpp), byte for byte, into
// problem.input_bytes() bytes of the place's memory. Throws error(failure::unsupported) if the
// place cannot run kernels.
void generate_rows(backend& place, const workload& p, std::byte* out);

}  // namespace kselect::harness
