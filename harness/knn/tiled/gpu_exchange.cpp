#include "harness/knn/tiled/gpu_exchange.hpp"

#include "harness/error.hpp"
#if KSELECT_HAS_NCCL
#include "harness/knn/tiled/cuda/nccl_exchange.hpp"
#endif

namespace kselect {

std::string why_no_gpu_exchange(const backend& place) {
  if (place.description().kind != executor_kind::cuda) return "NCCL is for executor cuda";
#if KSELECT_HAS_NCCL
  return why_no_nccl();
#else
  return "this build has no NCCL: build with CUDA where nccl.h is found";
#endif
}

std::unique_ptr<gpu_exchange> open_gpu_exchange([[maybe_unused]] communicator& ranks,
                                                backend& place) {
  if (const std::string why = why_no_gpu_exchange(place); !why.empty()) {
    throw error(failure::unsupported, why);
  }
#if KSELECT_HAS_NCCL
  return open_nccl_exchange(ranks, place);
#else
  return nullptr;
#endif
}

}  // namespace kselect
