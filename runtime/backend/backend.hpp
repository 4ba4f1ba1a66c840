#pragma once
// A place where algorithms run: its memory, its queue of work, and whether it exists here at all.
//
// Native host code (cpu) and kernels on fibers (fiber) share the host's memory; a GPU (cuda) has
// its own. Everything above this line - trials, sweeps, k-NN, tests - is the same for all three.

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
  // cuda: the mean SM clock around the work, where that took long enough to tell, and whether it
  // lay so far below the GPU's peak that the time is not the algorithm's.
  std::optional<double> sm_mhz = std::nullopt;
  bool throttled = false;
};

// The fastest that memory was seen to move bytes, in bytes a second; 0: not known.
struct memory_ceilings {
  double read = 0;         // of a block that no cache holds
  double copy = 0;         // bytes read plus bytes written
  double cached_read = 0;  // of blocks that stay in the innermost caches
};

// Whether the work of an algorithm can be recorded as a CUDA graph and replayed.
struct graph_capture {
  std::string refused = {};  // why not; empty if it can
  int kernels = 0;           // launches of one call; 0 if refused
};

using memory_range = std::span<const std::byte>;

class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  // What algorithms may ask about this place.
  virtual const device& description() const = 0;
  // Of the places of its kind, from 0, as open_backend was told.
  virtual int number() const { return 0; }
  // Makes this place the one that CUDA calls of the calling thread go to, as a GPU is chosen thread
  // by thread. The thread that opened it needs no such call.
  virtual void serve_this_thread() const {}
  // What enqueue gets. Valid as long as the backend is.
  virtual kselect::executor executor() const = 0;

  // Memory that algorithms can reach, aligned to 256 bytes; throws error(failure::resources).
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  // Copies between the host and this place, ordered with the enqueued work and finished on return.
  virtual void to_device(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void to_host(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  // Waits for all enqueued work; a fault in it is the returned status.
  virtual status synchronise() = 0;
  // The fault that made this place useless to this process, in words; empty while there was none. A
  // kernel's illegal access, say, takes the process' CUDA context with it, and nothing gives that
  // back but a new process. Does not wait for enqueued work.
  virtual std::string lost() { return {}; }

  // Calls `enqueue`, waits for the work it started, and takes the time of that work by this place's
  // own clock (clock_name): host wall time, or device events around the work. `gapless`, where the
  // place can: the work starts only when all of it is queued, so that no launch gap is inside; not
  // for an enqueue that waits for its own work, or queues more than the driver's queue holds.
  virtual timed_run time(const std::function<status()>& enqueue, bool gapless = false) = 0;
  virtual const char* clock_name() const = 0;
  // Host time from the call of `enqueue` until its work is done, launches and all.
  timed_run wall_time(const std::function<status()>& enqueue);

  // Removes the working set from the caches; finished on return. (A GPU's L2 is emptied whole.)
  virtual void evict(std::span<const memory_range> working_set) = 0;
  // Measures for a fraction of a second.
  virtual memory_ceilings measure_ceilings() = 0;
  // Seconds in which `threads` host threads read these bytes once, from where they are: the mean of
  // `readings`, one right after the other. Empty where the host does not do the work.
  virtual std::optional<double> seconds_to_read(memory_range, int /*threads*/, int /*readings*/) {
    return std::nullopt;
  }

  // Records `enqueue` as a graph and runs that once; empty where there are no graphs.
  virtual std::optional<graph_capture> capture(const std::function<status()>& enqueue);
  // Whether work of `enqueue` changes the watched memory although this place's queue is held back
  // for `seconds`: work outside the queue, which no event around it sees.
  virtual bool escapes_queue(const std::function<status()>& enqueue,
                             std::span<const memory_range> watched, double seconds);

  // Whether outputs are poisoned, rows hashed and answers proven where they lie, by kernels of this
  // place (harness/verify/device), instead of by the host on a copy.
  virtual bool proves_in_place() const { return !shares_host_memory(); }

  // Whether the host can read this memory in place, without to_host.
  bool shares_host_memory() const { return description().kind != executor_kind::cuda; }
};

// Why the executor cannot run on this machine; empty if it can.
std::string why_unavailable(executor_kind kind);

// Why the GPU that is here cannot run this program, which was built for others, and what to build;
// empty if it can, without a GPU, and in a build without CUDA.
std::string why_no_gpu_code();

// How many of them this process could open, each on a GPU of its own; 1 for those of the host. 0
// where the executor cannot run.
int count_places(executor_kind kind);

// Opens it with `threads` host threads (0: all this process may use), on executor cuda on the
// number-th of the GPUs that this process sees, from 0; throws error(failure::unsupported) with the
// reason where it cannot run.
std::unique_ptr<backend> open_backend(executor_kind kind, int threads = 0, int number = 0);

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
