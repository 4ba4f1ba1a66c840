// Says which executors this machine has, and opens one.

#include <fmt/format.h>

#include "runtime/backend/backend.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"

#if KSELECT_HAS_CUDA
#include "runtime/backend/cuda_backend.hpp"
#endif

namespace kselect::runtime {

std::string why_unavailable(executor_kind kind) {
  if (kind != executor_kind::cuda) return {};
#if KSELECT_HAS_CUDA
  return why_no_cuda_device();
#else
  return "this build has no CUDA executor (configured without nvcc, or with KSELECT_CUDA=OFF)";
#endif
}

std::string why_no_gpu_code() {
#if KSELECT_HAS_CUDA
  if (count_cuda_devices() > 0) return why_no_code_for(0);
#endif
  return {};
}

int count_places(executor_kind kind) {
  if (!why_unavailable(kind).empty()) return 0;
#if KSELECT_HAS_CUDA
  if (kind == executor_kind::cuda) return count_cuda_devices();
#endif
  return 1;
}

std::unique_ptr<backend> open_backend(executor_kind kind, int threads, [[maybe_unused]] int number,
                                      int multiprocessors) {
  if (const std::string reason = why_unavailable(kind); !reason.empty()) {
    throw error(failure::unsupported,
                fmt::format("executor {} cannot run here: {}", to_string(kind), reason));
  }
#if KSELECT_HAS_CUDA
  if (kind == executor_kind::cuda) return open_cuda_backend(threads, number, multiprocessors);
#endif
  if (multiprocessors != 0) {
    throw error(failure::usage, fmt::format("executor {} has no multiprocessors to confine its "
                                            "work to: only cuda has",
                                            to_string(kind)));
  }
  return open_host_backend(kind, threads);
}

}  // namespace kselect::runtime
