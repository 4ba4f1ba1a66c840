#pragma once
// The host as a place to run: native code, or kernels thread by thread on fibers.

#include <memory>

#include "kselect/simt/fiber.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

// kind is cpu or fiber; `fiber` says in which order lanes run (ignored for cpu).
std::unique_ptr<backend> open_host_backend(executor_kind kind, int threads,
                                           const simt::fiber_options& fiber = {});

// Hardware threads this process may use (its affinity mask, not the machine's count).
int available_threads();

}  // namespace kselect::runtime
