#pragma once
// The host as a backend: native code, or kernels on fibers.

#include <memory>

#include "kselect/simt/fiber.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::runtime {

// kind is cpu or fiber; `fiber` gives the lane schedule (ignored for cpu).
std::unique_ptr<backend> open_host_backend(executor_kind kind, int threads,
                                           const simt::fiber_options& fiber = {});

// The hardware threads that the process may use: its affinity mask, not the machine's count.
int available_threads();

// How many threads to use where `asked` were asked for: 0 stands for all available ones. Throws
// error(failure::resources) if more are asked for than this process can start, where OpenMP would
// end the process.
int threads_to_use(int asked);

}  // namespace kselect::runtime
