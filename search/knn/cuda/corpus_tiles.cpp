#if KSELECT_HAS_CUDA

#include "search/knn/cuda/corpus_tiles.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "runtime/backend/cuda/call.hpp"

namespace kselect::search {
namespace {

using steady = std::chrono::steady_clock;

double seconds_since(steady::time_point begin) {
  return std::chrono::duration<double>(steady::now() - begin).count();
}

// An event of a stream.
class event {
 public:
  event() {
    require_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(event_); }

  void record(cudaStream_t on) { require_cuda(cudaEventRecord(event_, on), "cudaEventRecord"); }
  void hold_up(cudaStream_t waits) const {
    require_cuda(cudaStreamWaitEvent(waits, event_, 0), "cudaStreamWaitEvent");
  }
  // Lets the host wait for the event. Returns at once if it was never recorded.
  void await() const { require_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

pinned_floats::pinned_floats(std::int64_t count) {
  void* memory = nullptr;
  require_cuda(cudaMallocHost(&memory, static_cast<std::size_t>(count) * sizeof(float)),
               "cudaMallocHost");
  memory_.reset(static_cast<float*>(memory));
}

corpus_source in_memory(vector_view corpus) {
  return {.count = corpus.count,
          .dimension = corpus.dimension,
          .data = corpus.data,
          .fetch = [corpus](std::int64_t first, std::int64_t count, float* out) {
            std::copy_n(corpus.data + first * corpus.dimension, count * corpus.dimension, out);
          }};
}

// A tile in device memory.
struct corpus_tiles::slot {
  slot(backend& place, std::int64_t width, std::int64_t dimension, metric m, norm_reduction how)
      : vectors(place, width, dimension, m, how) {}

  device_vectors vectors;
  event arrived;   // its bytes have been copied to the device
  event released;  // the work that used it is done
  bool summarised = false;
};

// A pinned buffer from which a tile is copied.
struct corpus_tiles::staging {
  explicit staging(std::int64_t floats) : memory(floats) {}

  pinned_floats memory;
  event left;  // its bytes have been copied to the device
};

corpus_tiles::corpus_tiles(backend& place, corpus_source source, metric m, norm_reduction how,
                           const knn_plan& plan)
    : place_(&place),
      source_(std::move(source)),
      cut_(plan.corpus),
      largest_(place, sizeof(float)),
      turns_(plan.corpus.parts, std::max<std::int64_t>(2, plan.slots)) {
  require_cuda(cudaMemsetAsync(largest_.data(), 0, sizeof(float), stream()), "cudaMemsetAsync");
  const std::int64_t dimension = source_.dimension;
  if (plan.slots == 0) {
    resident_ = std::make_unique<device_vectors>(place, source_.count, dimension, m, how);
    place.to_device(reinterpret_cast<std::byte*>(resident_->raw()),
                    std::as_bytes(std::span(source_.data,
                                            static_cast<std::size_t>(source_.count * dimension))));
    return;
  }
  for (std::size_t i = 0; i < turns_.slots(); ++i) {
    slots_.push_back(std::make_unique<slot>(place, cut_.widest(), dimension, m, how));
  }
  for (auto& one : staging_) one = std::make_unique<staging>(cut_.widest() * dimension);
  require_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreate");
}

corpus_tiles::~corpus_tiles() {
  if (copies_ == nullptr) return;
  // If an exception ended the pass, a read of the source or a copy may still be under way.
  if (loading_.valid()) loading_.wait();
  cudaStreamSynchronize(copies_);
  cudaStreamSynchronize(stream());
  cudaStreamDestroy(copies_);
}

const float* corpus_tiles::largest_weighted_square() const {
  return reinterpret_cast<const float*>(largest_.data());
}

void corpus_tiles::summarise() {
  if (!in_slots()) {
    resident_->summarise(source_.count, reinterpret_cast<float*>(largest_.data()));
  }
}

// Runs beside the work on the tile before. The slot's last user, if any, was closed before.
void corpus_tiles::load(const tile_turns::turn& what) {
  slot& into = *slots_[what.slot];
  staging& through = *staging_[loads_++ % staging_.size()];
  into.summarised = false;
  loading_ = std::async(std::launch::async, [this, &into, &through, tile = what.tile] {
    place_->serve_this_thread();
    through.left.await();
    const auto begin = steady::now();
    source_.fetch(first(tile), width(tile), through.memory.data());
    const double seconds = seconds_since(begin);
    into.released.hold_up(copies_);
    require_cuda(
        cudaMemcpyAsync(into.vectors.raw(), through.memory.data(),
                        static_cast<std::size_t>(width(tile) * source_.dimension) * sizeof(float),
                        cudaMemcpyHostToDevice, copies_),
        "cudaMemcpyAsync");
    through.left.record(copies_);
    into.arrived.record(copies_);
    return seconds;
  });
}

void corpus_tiles::next() {
  if (!in_slots()) {
    now_.tile = (now_.tile + 1) % count();
    return;
  }
  now_ = turns_.next();
  if (now_.load) load(now_);
  if (loading_.valid()) {
    const auto begin = steady::now();
    fetch_s_ += loading_.get();
    wait_s_ += seconds_since(begin);
  }
  slots_[now_.slot]->arrived.hold_up(stream());
  if (const auto after = turns_.ahead()) load(*after);
}

void corpus_tiles::summarise_tile() {
  if (!in_slots()) return;
  slot& here = *slots_[now_.slot];
  if (std::exchange(here.summarised, true)) return;
  here.vectors.summarise(width(now_.tile), reinterpret_cast<float*>(largest_.data()));
}

vectors_on_device corpus_tiles::vectors() const {
  if (!in_slots()) return whole().slice(first(now_.tile), width(now_.tile));
  return slots_[now_.slot]->vectors.view(width(now_.tile));
}

void corpus_tiles::close() {
  if (in_slots()) slots_[now_.slot]->released.record(stream());
}

}  // namespace kselect::search

#endif
