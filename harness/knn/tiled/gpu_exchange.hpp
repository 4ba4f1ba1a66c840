#pragma once
// The exchange of neighbour lists between the GPUs of a job by NCCL, merged there by the kernel of
// merge_kernel.cuh. What goes between GPUs then takes the way between GPUs (NVLink, the network
// card), not that through the host; MPI only brings the ranks together.

#include <memory>
#include <string>

#include "harness/backend/backend.hpp"
#include "harness/exchange/communicator.hpp"
#include "harness/knn/tiled/neighbour_lists.hpp"

namespace kselect {

class gpu_exchange {
 public:
  gpu_exchange() = default;
  gpu_exchange(const gpu_exchange&) = delete;
  gpu_exchange& operator=(const gpu_exchange&) = delete;
  virtual ~gpu_exchange() = default;

  // Collective. Makes the lists that each rank has of all queries the lists of the whole corpus, on
  // rank 0; elsewhere what is returned says nothing. Needs 12 bytes a neighbour of device memory,
  // three times. Throws error(failure::resources) where that is not there or the other GPUs do not
  // answer in time, error(failure::unsupported) for what NCCL says.
  virtual neighbour_lists merged(neighbour_lists mine) = 0;
};

// Why there can be none on this rank: another executor, a build without NCCL, no libnccl here.
// Empty if there can.
std::string why_no_gpu_exchange(const backend& place);

// Collective; every rank needs a GPU of its own. Throws as merged() does.
std::unique_ptr<gpu_exchange> open_gpu_exchange(communicator& ranks, backend& place);

}  // namespace kselect
