#pragma once
// The exchange of neighbour lists between the ranks of a job, and their merging: each rank gets its
// share of the queries from all ranks, merges them, and rank 0 collects.
//
// Two ways. Through the hosts: by the communicator, merged on the processor. Between GPUs: by NCCL,
// merged there by the kernel of merge_kernel.cuh; what goes between GPUs then takes the way between
// GPUs (NVLink, the network card), and the communicator only brings the ranks together.

#include <memory>

#include "runtime/backend/backend.hpp"
#include "search/exchange/communicator.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"
#include "search/knn/tiled/tiled_request.hpp"
#include "search/search.hpp"

namespace kselect::search {

class list_exchange {
 public:
  list_exchange() = default;
  list_exchange(const list_exchange&) = delete;
  list_exchange& operator=(const list_exchange&) = delete;
  virtual ~list_exchange() = default;

  // Collective. Makes the lists that each rank has of all queries the lists of the whole corpus, on
  // rank 0; elsewhere what is returned says nothing. Between GPUs it needs 12 bytes a neighbour of
  // device memory, three times, and throws error(failure::resources) where that is not there or the
  // other GPUs do not answer in time, error(failure::unsupported) for what NCCL says.
  virtual neighbour_lists merged(neighbour_lists mine) = 0;

  // Seconds of all calls so far, on this rank.
  struct seconds {
    double moving = 0;  // with the waits for other ranks
    double merging = 0;
  };
  const seconds& taken() const { return taken_; }

 protected:
  seconds taken_;
};

// Collective. NCCL where `kind` and all ranks allow it. Throws on all ranks agreed_error with
// failure::unsupported where NCCL was asked for and cannot be: another executor, a build without
// NCCL, no libnccl, two ranks of one GPU.
bool choose_nccl(exchange_kind kind, communicator& ranks, const backend& place);

// Collective. Throws as merged() does.
std::unique_ptr<list_exchange> open_list_exchange(bool nccl, communicator& ranks, backend& place);

}  // namespace kselect::search
