#pragma once
// A backend: an opened executor with its memory, its queue of work and its clock.
//
// Native code (cpu) and fibers share the host's memory; a GPU (cuda) has its own. Code above this
// interface (trials, sweeps, k-NN, tests) is the same for all three.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kselect/algorithm.hpp"

namespace kselect::runtime {

struct timed_run {
  status outcome;
  double nanoseconds = 0;  // if ok
  // cuda: the mean SM clock during the work, if the work was long enough to tell, and whether it
  // was so far below the peak that the time must be discarded.
  std::optional<double> sm_mhz = std::nullopt;
  bool throttled = false;
};

// Measured memory bandwidth, in bytes per second; 0: not known.
struct memory_ceilings {
  double read = 0;         // of a block larger than every cache
  double copy = 0;         // bytes read plus bytes written
  double cached_read = 0;  // of blocks that stay in the innermost caches
};

// Whether an algorithm's work can be captured as a CUDA graph and replayed.
struct graph_capture {
  std::string refused = {};  // the reason if it cannot; else empty
  int kernels = 0;           // kernel launches of one call; 0 if refused
};

// The multiprocessors of a GPU that a backend's work is confined to, and how many the GPU has.
struct confinement {
  int multiprocessors = 0;
  int of = 0;
};

using memory_range = std::span<const std::byte>;

class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  // The device, as algorithms see it. A confined backend has fewer multiprocessors.
  virtual const device& description() const = 0;
  // cuda: what open_backend's `multiprocessors` led to. Empty: the work may use the whole device.
  virtual std::optional<confinement> confined() const { return std::nullopt; }
  // The index among the devices of its kind, from 0, as given to open_backend.
  virtual int number() const { return 0; }
  // Makes this GPU current for the calling thread, because CUDA chooses the GPU per thread. The
  // thread that opened the backend need not call it.
  virtual void serve_this_thread() const {}
  // The executor for enqueue. Valid as long as the backend.
  virtual kselect::executor executor() const = 0;

  // Memory that algorithms can access, aligned to 256 bytes. Throws error(failure::resources).
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  // Copies between host and device, in order with the enqueued work. Complete on return.
  virtual void to_device(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void to_host(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  // The same beside the enqueued work, which must not touch that memory. One other thread at a time
  // may call these while the backend's own thread goes on; it calls serve_this_thread() first, and
  // the backend must have been used before.
  virtual void to_device_beside(std::byte* to, std::span<const std::byte> from) {
    to_device(to, from);
  }
  virtual void to_host_beside(std::span<std::byte> to, const std::byte* from) { to_host(to, from); }
  // Takes the memory that these copies need, and makes a first one each way. Otherwise the first of
  // them takes longer.
  virtual void get_ready_beside() {}
  // Pins host memory as long as the result lives, if this place then copies from it faster.
  virtual std::shared_ptr<void> pin(std::span<std::byte>) { return {}; }
  // Waits for all enqueued work. The status reports a fault in it.
  virtual status synchronise() = 0;
  // The fault that made this backend unusable for the process, in words; empty if none. For
  // instance, a kernel's illegal access destroys the CUDA context, and only a new process gets
  // another. Does not wait for enqueued work.
  virtual std::string lost() { return {}; }

  // Calls `enqueue`, waits for its work and times that work by the backend's clock (clock_name):
  // host wall time, or device events around it. `gapless`, if supported, holds the stream until all
  // work is queued, so that no launch gap is timed. Do not use it if enqueue waits for its own work
  // or queues more than the driver's queue holds.
  virtual timed_run time(const std::function<status()>& enqueue, bool gapless = false) = 0;
  virtual const char* clock_name() const = 0;
  // Host time from the call of `enqueue` until its work is done, launches included.
  timed_run wall_time(const std::function<status()>& enqueue);

  // Evicts the working set from the caches; complete on return. A GPU evicts its whole L2.
  virtual void evict(std::span<const memory_range> working_set) = 0;
  // Measures the memory bandwidth in a fraction of a second.
  virtual memory_ceilings measure_ceilings() = 0;
  // Seconds for `threads` host threads to read these bytes once, as cached now: the mean of
  // `readings` consecutive readings. Empty if the work does not run on the host.
  virtual std::optional<double> seconds_to_read(memory_range, int /*threads*/, int /*readings*/) {
    return std::nullopt;
  }

  // Captures `enqueue` as a graph and runs it once. Empty if the backend has no graphs.
  virtual std::optional<graph_capture> capture(const std::function<status()>& enqueue);
  // Whether `enqueue` changes the watched memory while the queue is held for `seconds`. Such work
  // bypasses the queue, so events do not time it.
  virtual bool escapes_queue(const std::function<status()>& enqueue,
                             std::span<const memory_range> watched, double seconds);

  // Whether kernels of the device poison outputs, hash rows and prove answers in place
  // (harness/verify/device). Otherwise the host does so on a copy.
  virtual bool proves_in_place() const { return !shares_host_memory(); }

  // Whether the host can read this memory directly, without to_host.
  bool shares_host_memory() const { return description().kind != executor_kind::cuda; }
};

// Why this machine cannot run the executor; empty if it can.
std::string why_unavailable(executor_kind kind);

// Why the first GPU cannot run this program's code, and what to build. Empty if it can, without a
// GPU, and in a build without CUDA.
std::string why_no_gpu_code();

// The number of backends of this kind that the process can open: one per GPU, or 1 for the host. 0
// if the executor cannot run.
int count_places(executor_kind kind);

// Opens a backend with `threads` host threads (0: all that the process may use). cuda: on the GPU
// with index `number` among those that the process sees, confined to about so many of its
// `multiprocessors` (0: all) by a green context. Throws error(failure::unsupported) with the reason
// if it cannot run, and error(failure::usage) if there are no such multiprocessors.
std::unique_ptr<backend> open_backend(executor_kind kind, int threads = 0, int number = 0,
                                      int multiprocessors = 0);

class backend_release {
 public:
  backend_release() = default;
  explicit backend_release(backend* owner) : owner_(owner) {}
  void operator()(std::byte* memory) const noexcept { owner_->release(memory); }

 private:
  backend* owner_{};
};

// Owns one allocation of a backend.
class device_buffer {
 public:
  device_buffer() = default;
  device_buffer(backend& owner, std::size_t bytes)
      : memory_(owner.allocate(bytes), backend_release(&owner)), bytes_(bytes) {}

  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[], backend_release> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace kselect::runtime
