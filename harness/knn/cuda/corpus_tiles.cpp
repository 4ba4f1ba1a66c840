#if KSELECT_HAS_CUDA

#include "harness/knn/cuda/corpus_tiles.hpp"

#include <algorithm>
#include <span>

#include "harness/distance/cuda/call.hpp"

namespace kselect {
namespace {

cudaEvent_t make_event() {
  cudaEvent_t event{};
  require_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

}  // namespace

pinned_floats::pinned_floats(std::int64_t count) {
  void* memory = nullptr;
  require_cuda(cudaMallocHost(&memory, static_cast<std::size_t>(count) * sizeof(float)),
               "cudaMallocHost");
  memory_.reset(static_cast<float*>(memory));
}

// One of the two tiles on their way. Copied: its bytes have left the staging memory and arrived.
// Released: the work that used it is done.
struct corpus_tiles::slot {
  slot(backend& place, std::int64_t width, std::int64_t dimension, metric m, norm_reduction how)
      : vectors(place, width, dimension, m, how), staging(width * dimension) {}
  ~slot() {
    cudaEventDestroy(copied);
    cudaEventDestroy(released);
  }
  slot(const slot&) = delete;
  slot& operator=(const slot&) = delete;

  device_vectors vectors;
  pinned_floats staging;
  cudaEvent_t copied = make_event();
  cudaEvent_t released = make_event();
};

corpus_tiles::corpus_tiles(backend& place, vector_view base, metric m, norm_reduction how,
                           const even_cut& cut, bool streamed)
    : place_(&place), base_(base), cut_(cut), largest_(place, sizeof(float)) {
  require_cuda(cudaMemsetAsync(largest_.data(), 0, sizeof(float), stream()), "cudaMemsetAsync");
  if (!streamed) {
    resident_ = std::make_unique<device_vectors>(place, base.count, base.dimension, m, how);
    place.to_device(
        reinterpret_cast<std::byte*>(resident_->raw()),
        std::as_bytes(std::span(base.data, static_cast<std::size_t>(base.count * base.dimension))));
    return;
  }
  for (auto& one : slots_) {
    one = std::make_unique<slot>(place, cut.widest(), base.dimension, m, how);
  }
  require_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreate");
}

corpus_tiles::~corpus_tiles() {
  if (copies_ == nullptr) return;
  // A copy may still be reading the staging memory if an exception ended the pass.
  cudaStreamSynchronize(copies_);
  cudaStreamDestroy(copies_);
}

const float* corpus_tiles::largest_weighted_square() const {
  return reinterpret_cast<const float*>(largest_.data());
}

void corpus_tiles::summarise() {
  if (!streamed()) resident_->summarise(base_.count, reinterpret_cast<float*>(largest_.data()));
}

void corpus_tiles::load(std::int64_t tile) {
  slot& into = *slots_[turn_];
  const std::int64_t floats = width(tile) * base_.dimension;
  require_cuda(cudaEventSynchronize(into.copied), "cudaEventSynchronize");
  std::copy_n(base_.data + first(tile) * base_.dimension, floats, into.staging.data());
  require_cuda(cudaStreamWaitEvent(copies_, into.released, 0), "cudaStreamWaitEvent");
  require_cuda(cudaMemcpyAsync(into.vectors.raw(), into.staging.data(),
                               static_cast<std::size_t>(floats) * sizeof(float),
                               cudaMemcpyHostToDevice, copies_),
               "cudaMemcpyAsync");
  require_cuda(cudaEventRecord(into.copied, copies_), "cudaEventRecord");
  loaded_ = tile;
}

vectors_on_device corpus_tiles::open(std::int64_t tile) {
  if (!streamed()) return whole().slice(first(tile), width(tile));
  if (loaded_ != tile) load(tile);
  slot& opened = *slots_[turn_];
  turn_ ^= 1;
  loaded_ = -1;
  require_cuda(cudaStreamWaitEvent(stream(), opened.copied, 0), "cudaStreamWaitEvent");
  opened.vectors.summarise(width(tile), reinterpret_cast<float*>(largest_.data()));
  return opened.vectors.view(width(tile));
}

void corpus_tiles::prefetch_after(std::int64_t tile) {
  if (streamed() && tile + 1 < count()) load(tile + 1);
}

void corpus_tiles::close(std::int64_t) {
  // The open tile's slot is the one that is not next.
  if (streamed()) {
    require_cuda(cudaEventRecord(slots_[turn_ ^ 1]->released, stream()), "cudaEventRecord");
  }
}

}  // namespace kselect

#endif
