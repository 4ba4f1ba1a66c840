#pragma once
// The exchange and merging of neighbour lists between the ranks of a job. Each rank gets the lists
// of its share of the queries from all ranks and merges them; rank 0 collects the results.
//
// There are two ways. Through the hosts: the communicator moves the lists, and the CPU merges them.
// Between GPUs: NCCL moves them over NVLink or the network card, the kernel of merge_kernel.cuh
// merges them, and the communicator only synchronises the ranks.

#include <cstdint>
#include <memory>
#include <vector>

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

  // Allocates host memory for tiles of at most so many queries. Without it, or for longer tiles,
  // merged() allocates.
  virtual void reserve(std::int64_t /*queries*/, std::int64_t /*k*/) {}

  // A tile's lists of the whole corpus on rank 0, whose ranked() means nothing, as all do on other
  // ranks. `lacking`: rows of queries whose neighbours are not certain, ascending, on all ranks.
  struct answer {
    neighbour_lists lists;
    std::vector<std::int64_t> lacking = {};
  };
  // Collective. `mine`: the rank's lists of all queries. Each has k neighbours or, through the
  // hosts, the beginning of these (merge_beginnings). Only then may queries lack some. Between GPUs
  // it needs three times 12 bytes of device memory a neighbour. It then throws
  // error(failure::resources) if the memory is not there or the other GPUs do not answer in time,
  // and error(failure::unsupported) for errors of NCCL.
  virtual answer merged(neighbour_lists mine, std::int64_t k) = 0;

  // Whether another thread may call merged() while the executor works: if it enqueues nothing
  // there.
  virtual bool beside() const { return true; }

  // Seconds of all calls so far, on this rank.
  struct seconds {
    double moving = 0;  // waits for other ranks included
    double merging = 0;
  };
  const seconds& taken() const { return taken_; }

 protected:
  seconds taken_;
};

// Collective. Chooses NCCL if `kind` and all ranks allow it. If NCCL was asked for but is
// impossible (another executor, a build without NCCL, no libnccl, two ranks of one GPU), throws
// agreed_error with failure::unsupported on all ranks.
bool choose_nccl(exchange_kind kind, communicator& ranks, const backend& place);

// Collective. Throws as merged() does.
std::unique_ptr<list_exchange> open_list_exchange(bool nccl, communicator& ranks, backend& place);

}  // namespace kselect::search
