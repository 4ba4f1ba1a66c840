// NCCL is loaded by name at run time, like NVML, so the program does not need libnccl. Its
// communicator is non-blocking. Every wait is polled against the job's limit; after it the
// communicator is aborted, because NCCL's kernels would spin for ever if a rank is gone.
//
// Each rank sends every other rank the lists of that rank's queries, in one group of sends and
// receives that run concurrently. It merges the lists that it got and sends the result to rank 0.

#include <array>
#include <chrono>
#include <cstring>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/backend/cuda/call.hpp"
#include "runtime/distance/cuda/device_array.hpp"
#include "search/knn/tiled/cuda/nccl_exchange.hpp"
#include "search/knn/tiled/merge_kernel.cuh"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/times.hpp"

namespace kselect::search {
namespace {

constexpr char library_name[] = "libnccl.so.2";

struct nccl_functions {
  void* library = nullptr;
  std::string why;  // a function is missing; empty if none is
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;

  nccl_functions() : library(dlopen(library_name, RTLD_NOW | RTLD_LOCAL)) {
    if (library == nullptr) {
      why = dlerror();
      return;
    }
    find(get_unique_id, "ncclGetUniqueId");
    find(init_rank, "ncclCommInitRankConfig");
    find(async_error, "ncclCommGetAsyncError");
    find(abort, "ncclCommAbort");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(error_string, "ncclGetErrorString");
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) why = std::string(library_name) + " has no " + name;
  }
};

const nccl_functions& nccl() {
  static const nccl_functions functions;
  return functions;
}

// Distances and indices of some lists in device memory.
struct device_lists {
  // Makes room for so many neighbours. If that needs larger buffers, their contents are lost.
  void reserve(backend& place, std::int64_t neighbours) {
    if (neighbours <= room) return;
    distances = {};  // freed before the larger ones are allocated
    indices = {};
    distances = make_array<float>(place, neighbours);
    indices = make_array<std::int64_t>(place, neighbours);
    room = neighbours;
  }
  std::int64_t room = 0;
  device_buffer distances, indices;
};

template <class T>
simt::global<T> elements(const device_buffer& memory, std::int64_t count) {
  return {as<std::remove_const_t<T>>(memory), count};
}

class nccl_exchange final : public list_exchange {
 public:
  nccl_exchange(communicator& ranks, backend& place) : ranks_(ranks), place_(place) {
    ncclUniqueId id{};
    if (ranks.rank() == 0) check(nccl().get_unique_id(&id), "ncclGetUniqueId");
    ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    // NCCL takes the current device and needs its context.
    require_cuda(cudaFree(nullptr), "the GPU's context");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(nccl().init_rank(&communicator_, ranks.size(), id, ranks.rank(), &config),
          "ncclCommInitRank");
    settle("ncclCommInitRank");
  }
  // Aborts instead of destroying: abort waits for no other rank, and nothing is under way.
  ~nccl_exchange() override {
    if (communicator_ != nullptr) nccl().abort(communicator_);
  }

  // Copies, sends and the merge are in order with the search's kernels on one stream.
  bool beside() const override { return false; }

  answer merged(neighbour_lists mine, std::int64_t k) override {
    const std::int64_t queries = mine.queries(), size = ranks_.size();
    const std::vector<std::int64_t> shares = shares_of(queries, ranks_.size());
    const std::int64_t share = shares[static_cast<std::size_t>(ranks_.rank())];
    own_.reserve(place_, queries * k);
    received_.reserve(place_, size * share * k);
    merged_.reserve(place_, share * k);
    // NCCL's kernels wait for those of other GPUs, and an allocation may wait for kernels. So no
    // rank begins before all have their memory.
    ranks_.meet();
    {
      const lap moving(taken_.moving);
      place_.to_device(own_.distances.data(), std::as_bytes(std::as_const(mine).distances()));
      place_.to_device(own_.indices.data(), std::as_bytes(std::as_const(mine).indices()));
      trade(own_, received_, shares, k);
      await("the exchange of neighbours");
    }
    {
      const lap merging(taken_.merging);
      merge(received_, merged_, share, k);
      await("the merge of neighbours");
    }
    const lap moving(taken_.moving);
    // `own_` has been sent and has the answer's size, so it is reused.
    collect(merged_, own_, shares, k);
    await("the collection of neighbours");
    if (ranks_.rank() != 0) return {std::move(mine)};
    place_.to_host(std::as_writable_bytes(mine.distances()), own_.distances.data());
    place_.to_host(std::as_writable_bytes(mine.indices()), own_.indices.data());
    return {std::move(mine)};
  }

 private:
  using steady = std::chrono::steady_clock;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(place_.executor().stream); }

  void check(ncclResult_t code, const char* what) const {
    if (code == ncclSuccess || code == ncclInProgress) return;
    throw error(failure::unsupported,
                std::string("NCCL: ") + what + ": " + nccl().error_string(code));
  }

  // Polls until `done`. Throws if the limit has passed.
  template <class Done>
  void within_limit(const char* what, const Done& done) {
    const auto begin = steady::now();
    while (!done()) {
      const std::chrono::duration<double> waited = steady::now() - begin;
      if (waited.count() > ranks_.wait_limit_s()) {
        nccl().abort(communicator_);
        communicator_ = nullptr;
        throw error(failure::resources,
                    std::string("NCCL: ") + what +
                        " did not end within --wait-limit: another GPU hangs or is gone. What is "
                        "finished is kept: continue with --resume");
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  // Waits until the communicator has processed the last call.
  void settle(const char* what) {
    within_limit(what, [&] {
      ncclResult_t state = ncclSuccess;
      check(nccl().async_error(communicator_, &state), what);
      check(state, what);
      return state == ncclSuccess;
    });
  }

  // Waits until the stream's work is done.
  void await(const char* what) {
    within_limit(what, [&] {
      ncclResult_t state = ncclSuccess;
      check(nccl().async_error(communicator_, &state), what);
      check(state, what);
      const cudaError_t queried = cudaStreamQuery(stream());
      if (queried != cudaErrorNotReady) require_cuda(queried, what);
      return queried == cudaSuccess;
    });
  }

  struct place_in {
    const device_lists& lists;
    std::int64_t first, count;  // neighbours
  };
  void send(const place_in& from, int to) {
    check(nccl().send(as<float>(from.lists.distances) + from.first, count(from), ncclFloat32, to,
                      communicator_, stream()),
          "ncclSend");
    check(nccl().send(as<std::int64_t>(from.lists.indices) + from.first, count(from), ncclInt64, to,
                      communicator_, stream()),
          "ncclSend");
  }
  void receive(const place_in& to, int from) {
    check(nccl().receive(as<float>(to.lists.distances) + to.first, count(to), ncclFloat32, from,
                         communicator_, stream()),
          "ncclRecv");
    check(nccl().receive(as<std::int64_t>(to.lists.indices) + to.first, count(to), ncclInt64, from,
                         communicator_, stream()),
          "ncclRecv");
  }
  static std::size_t count(const place_in& p) { return static_cast<std::size_t>(p.count); }

  void trade(const device_lists& own, const device_lists& received,
             const std::vector<std::int64_t>& shares, std::int64_t k) {
    const std::int64_t share = shares[static_cast<std::size_t>(ranks_.rank())];
    check(nccl().group_start(), "ncclGroupStart");
    std::int64_t first = 0;
    for (int r = 0; r < ranks_.size(); ++r) {
      const std::int64_t theirs = shares[static_cast<std::size_t>(r)];
      send({own, first * k, theirs * k}, r);
      receive({received, r * share * k, share * k}, r);
      first += theirs;
    }
    check(nccl().group_end(), "ncclGroupEnd");
    settle("the exchange of neighbours");
  }

  void merge(const device_lists& received, const device_lists& merged, std::int64_t share,
             std::int64_t k) {
    const std::int64_t size = ranks_.size();
    if (share * k == 0) return;
    const merge_arguments all{
        .distances = elements<const float>(received.distances, size * share * k),
        .indices = elements<const std::int64_t>(received.indices, size * share * k),
        .merged_distances = elements<float>(merged.distances, share * k),
        .merged_indices = elements<std::int64_t>(merged.indices, share * k),
        .lists = size,
        .queries = share,
        .k = k};
    const status outcome = simt::launch<merge_kernel>(place_.executor(), merge_grid(all), all);
    if (!outcome.ok()) throw error(failure::unsupported, "the merge kernel: " + outcome.message);
  }

  void collect(const device_lists& merged, const device_lists& answer,
               const std::vector<std::int64_t>& shares, std::int64_t k) {
    check(nccl().group_start(), "ncclGroupStart");
    send({merged, 0, shares[static_cast<std::size_t>(ranks_.rank())] * k}, 0);
    std::int64_t first = 0;
    for (int r = 0; r < ranks_.size() && ranks_.rank() == 0; ++r) {
      const std::int64_t theirs = shares[static_cast<std::size_t>(r)];
      receive({answer, first * k, theirs * k}, r);
      first += theirs;
    }
    check(nccl().group_end(), "ncclGroupEnd");
    settle("the collection of neighbours");
  }

  communicator& ranks_;
  backend& place_;
  device_lists own_, received_, merged_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::string why_no_nccl() { return nccl().why; }

std::unique_ptr<list_exchange> open_nccl_exchange(communicator& ranks, backend& place) {
  return std::make_unique<nccl_exchange>(ranks, place);
}

}  // namespace kselect::search
