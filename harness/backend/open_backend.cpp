// Which executors exist on this machine, and opening one.

#include <fmt/format.h>

#include "harness/backend/backend.hpp"
#include "harness/backend/host_backend.hpp"
#include "harness/error.hpp"

#if KSELECT_HAS_CUDA
#include "harness/backend/cuda_backend.hpp"
#endif

namespace kselect {

std::string why_unavailable(executor_kind kind) {
  if (kind != executor_kind::cuda) return {};
#if KSELECT_HAS_CUDA
  return why_no_cuda_device();
#else
  return "this build has no CUDA executor (no nvcc when it was configured)";
#endif
}

std::unique_ptr<backend> open_backend(executor_kind kind, int threads) {
  if (const std::string reason = why_unavailable(kind); !reason.empty()) {
    throw error(failure::unsupported,
                fmt::format("executor {} cannot run here: {}", to_string(kind), reason));
  }
#if KSELECT_HAS_CUDA
  if (kind == executor_kind::cuda) return open_cuda_backend(threads);
#endif
  return open_host_backend(kind, threads);
}

}  // namespace kselect
