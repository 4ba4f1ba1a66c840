#include "runtime/backend/cuda_backend.hpp"

// Compiled in every build; empty if the configuration found no CUDA.
#if KSELECT_HAS_CUDA

#include <algorithm>
#include <array>
#include <chrono>
#include <cuda_runtime_api.h>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "runtime/backend/cuda/green_context.hpp"
#include "runtime/backend/cuda/instruments.hpp"
#include "runtime/backend/cuda/queries.hpp"
#include "runtime/backend/cuda/staged_copies.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/backend/shared_cut.hpp"
#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

// A sample whose clock is below this share of the peak is discarded (as in nvbench).
constexpr double lowest_clock = 0.75;
// Shorter spans give no clock: %globaltimer advances in steps of up to a microsecond.
constexpr double shortest_reading_ns = 50e3;

// Resources that are created when the GPU is first used.
struct live_device {
  live_device(int multiprocessors) : gate(gate_of_loaded_code()), probe(multiprocessors) {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaEventCreate(&begin), "cudaEventCreate");
    require(cudaEventCreate(&end), "cudaEventCreate");
  }
  ~live_device() {
    cudaFree(flush);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaStreamDestroy(side);
    cudaStreamDestroy(stream);
  }
  live_device(const live_device&) = delete;
  live_device& operator=(const live_device&) = delete;

  cudaStream_t stream = nullptr;
  cudaStream_t side = nullptr;  // copies memory while `stream` is held or works
  cudaEvent_t begin = nullptr, end = nullptr;
  stream_gate gate;
  clock_probe probe;
  void* flush = nullptr;  // the memory that evict() reads
  // Made for the first copy of many bytes; the second one for copies beside the work.
  std::optional<staged_copies> staged, staged_beside;

 private:
  // Checks for code before the first launch. Otherwise the error would blame a kernel.
  static stream_gate gate_of_loaded_code() {
    if (const std::string why = why_code_does_not_load(); !why.empty()) {
      throw error(failure::unsupported, why);
    }
    return stream_gate{};
  }
};

class cuda_backend final : public backend {
 public:
  cuda_backend(int threads, int number, int multiprocessors) : number_(number) {
    choose_gpu();
    device_ = describe_gpu(properties_of(number));
    if (multiprocessors > 0) {
      green_.emplace(number, multiprocessors);
      device_.multiprocessors = green_->multiprocessors();
    }
    device_.threads = threads_to_use(threads);
    require_cut(device_);
    // A confined backend resets no persisting L2 lines: its green context may not call that, and no
    // entry of ours makes lines persist.
    keeps_lines_ = !green_ && attribute(cudaDevAttrMaxPersistingL2CacheSize, number) > 0;
    peak_mhz_ = attribute(cudaDevAttrClockRate, number) / 1e3;
  }

  int number() const override { return number_; }
  std::optional<confinement> confined() const override {
    if (!green_) return std::nullopt;
    return confinement{green_->multiprocessors(), green_->of()};
  }
  void serve_this_thread() const override {
    enter();
    if (!green_) choose_gpu();
  }

  const device& description() const override { return device_; }
  kselect::executor executor() const override {
    return {.device = &device_, .stream = live().stream, .fiber = nullptr};
  }

  std::byte* allocate(std::size_t bytes) override {
    enter();
    void* memory = nullptr;
    const cudaError_t code = cudaMalloc(&memory, bytes == 0 ? 1 : bytes);
    if (code != cudaSuccess) {
      cudaGetLastError();  // a failed allocation leaves the context usable
      // If the context is lost, every call fails; then memory was not the reason.
      const bool full = code == cudaErrorMemoryAllocation;
      throw error(
          full ? failure::resources : failure::unsupported,
          fmt::format("cannot allocate {:.1f} MiB on {}: {}",
                      static_cast<double>(bytes) / (1 << 20), device_.name, describe(code)));
    }
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) noexcept override { cudaFree(memory); }

  void to_device(std::byte* to, std::span<const std::byte> from) override {
    live_device& gpu = live();
    if (from.size() < staged_copies::worthwhile_bytes || is_pinned(from)) {
      return move(to, from.data(), from.size(), gpu.stream);
    }
    made(gpu.staged).to_device(to, from, gpu.stream);
  }
  void to_host(std::span<std::byte> to, const std::byte* from) override {
    live_device& gpu = live();
    if (to.size() < staged_copies::worthwhile_bytes || is_pinned(to)) {
      return move(to.data(), from, to.size(), gpu.stream);
    }
    made(gpu.staged).to_host(to, from, gpu.stream);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    move(to, from, bytes, live().stream);
  }
  void to_device_beside(std::byte* to, std::span<const std::byte> from) override {
    live_device& gpu = live();
    if (is_pinned(from)) return move(to, from.data(), from.size(), gpu.side);
    made(gpu.staged_beside).to_device(to, from, gpu.side);
  }
  void to_host_beside(std::span<std::byte> to, const std::byte* from) override {
    live_device& gpu = live();
    if (is_pinned(to)) return move(to.data(), from, to.size(), gpu.side);
    made(gpu.staged_beside).to_host(to, from, gpu.side);
  }

  // The first copy of a stream in a direction takes milliseconds, even of few bytes.
  void get_ready_beside() override {
    made(live().staged_beside);
    std::array<std::byte, 1> some{};
    const device_buffer there(*this, some.size());
    to_device_beside(there.data(), some);
    to_host_beside(some, there.data());
  }

  std::shared_ptr<void> pin(std::span<std::byte> memory) override {
    enter();
    if (cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable) == cudaSuccess) {
      return {memory.data(), [](void* pinned) { cudaHostUnregister(pinned); }};
    }
    cudaGetLastError();  // without it copies are slower
    return {};
  }

  status synchronise() override {
    const cudaError_t code = cudaStreamSynchronize(live().stream);
    if (code == cudaSuccess) return {};
    return {status_code::failed, describe(code)};
  }

  // A lost context fails every later call; any other error is reported once.
  std::string lost() override {
    if (!live_) return {};
    cudaStreamQuery(live_->stream);
    const cudaError_t code = cudaStreamQuery(live_->stream);
    return code == cudaSuccess || code == cudaErrorNotReady ? std::string() : describe(code);
  }

  // Gapless: gate, clock stamp, event, work, event, clock stamp; the gate opens when all are
  // queued. Otherwise the idle GPU passes the first event before the launch arrives, so the time
  // includes the launch gap.
  timed_run time(const std::function<status()>& enqueue, bool gapless) override {
    live_device& gpu = live();
    if (gapless) gpu.gate.close(gpu.stream);
    gpu.probe.begin(gpu.stream);
    require(cudaEventRecord(gpu.begin, gpu.stream), "cudaEventRecord");
    status outcome = enqueue();
    // Reports only this call's errors. Opens the gate in every case.
    const cudaError_t recorded = cudaEventRecord(gpu.end, gpu.stream);
    if (recorded == cudaSuccess) gpu.probe.end(gpu.stream);
    gpu.gate.open();
    const status finished = synchronise();
    if (!outcome.ok() || !finished.ok()) return {outcome.ok() ? finished : std::move(outcome)};
    require(recorded, "cudaEventRecord");
    if (gapless && gpu.gate.expired()) return {blocked()};
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, gpu.begin, gpu.end), "cudaEventElapsedTime");
    timed_run run{{}, static_cast<double>(milliseconds) * 1e6};
    const auto clock = gpu.probe.read();
    if (clock && clock->nanoseconds >= shortest_reading_ns) {
      run.sm_mhz = clock->mhz;
      run.throttled = clock->mhz < lowest_clock * peak_mhz_;
    }
    return run;
  }
  const char* clock_name() const override { return "cuda_event"; }

  // Evicts by reading: writes would leave dirty lines, whose write-back would fall into the timed
  // work. Reads three times the L2's size, because its addresses are hashed and its replacement is
  // not strictly LRU.
  void evict(std::span<const memory_range>) override {
    live_device& gpu = live();
    const std::size_t bytes = 3 * device_.cache_bytes / 16 * 16;
    if (gpu.flush == nullptr) gpu.flush = allocate(bytes);
    if (keeps_lines_) {
      // What an algorithm set aside for itself would be left out of the sweep.
      require(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), "cudaDeviceSetLimit");
      require(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
    }
    read_through(gpu.stream, static_cast<const std::byte*>(gpu.flush), bytes,
                 device_.multiprocessors);
    require(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
  }

  memory_ceilings measure_ceilings() override {
    const std::size_t bytes =
        std::clamp<std::size_t>(20 * device_.cache_bytes, 64 << 20, device_.memory_bytes / 8) / 32 *
        32;
    const device_buffer block(*this, bytes);
    require(cudaMemsetAsync(block.data(), 0, bytes, live().stream), "cudaMemsetAsync");
    const auto rate = [&](const std::function<status()>& work) {
      double best = 0;
      for (int i = 0; i < 5; ++i) {
        const timed_run run = time(work, true);
        if (!run.outcome.ok()) throw error(failure::unsupported, run.outcome.message);
        best = std::max(best, static_cast<double>(bytes) / run.nanoseconds * 1e9);
      }
      return best;
    };
    memory_ceilings found;
    found.read = rate([&] {
      read_through(live().stream, block.data(), bytes, device_.multiprocessors);
      return status{};
    });
    found.copy = rate([&] {
      require(cudaMemcpyAsync(block.data() + bytes / 2, block.data(), bytes / 2,
                              cudaMemcpyDeviceToDevice, live().stream),
              "cudaMemcpyAsync");
      return status{};
    });
    return found;
  }

  std::optional<graph_capture> capture(const std::function<status()>& enqueue) override;
  bool escapes_queue(const std::function<status()>& enqueue, std::span<const memory_range> watched,
                     double seconds) override;

 private:
  // Asks first, because cudaSetDevice creates a context.
  void choose_gpu() const {
    int now = 0;
    require(cudaGetDevice(&now), "cudaGetDevice");
    if (now != number_) require(cudaSetDevice(number_), "cudaSetDevice");
  }

  // Makes this backend's context current. A thread may use two backends in turns, one of them
  // confined: a sweep uploads its input by a backend of its own.
  void enter() const {
    if (green_) return green_->enter();
    green_context::leave(number_);
  }

  live_device& live() const {
    enter();
    if (!live_) live_ = std::make_unique<live_device>(device_.multiprocessors);
    return *live_;
  }

  staged_copies& made(std::optional<staged_copies>& copies) const {
    if (!copies) copies.emplace(device_.threads);
    return *copies;
  }

  static status blocked() {
    return {
        status_code::failed,
        "waited for its own work, or queued more of it than the driver holds, which its contract "
        "does not declare (`synchronises`)"};
  }

  // Both ends: pages are pinned whole, so that a neighbour's may hold one of them.
  static bool is_pinned(std::span<const std::byte> memory) {
    const auto holds = [](const std::byte* at) {
      cudaPointerAttributes found{};
      require(cudaPointerGetAttributes(&found, at), "cudaPointerGetAttributes");
      return found.type == cudaMemoryTypeHost;
    };
    return !memory.empty() && holds(&memory.front()) && holds(&memory.back());
  }
  static void move(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (bytes == 0) return;
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  int number_;
  device device_;
  mutable std::optional<green_context> green_;  // if confined; outlives all that is made in it
  double peak_mhz_ = 0;
  bool keeps_lines_ = false;  // L2 can persist lines (compute capability 8.0 and above)
  mutable std::unique_ptr<live_device> live_;  // created on first use
};

struct graph_release {
  void operator()(cudaGraph_t graph) const noexcept { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const noexcept { cudaGraphExecDestroy(graph); }
};
template <class Handle>
using graph_handle = std::unique_ptr<std::remove_pointer_t<Handle>, graph_release>;

int count_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  require(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  require(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  return static_cast<int>(std::ranges::count_if(nodes, [](cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    require(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    return type == cudaGraphNodeTypeKernel;
  }));
}

std::optional<graph_capture> cuda_backend::capture(const std::function<status()>& enqueue) {
  const cudaStream_t stream = live().stream;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
  const status outcome = enqueue();
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &recorded);
  const graph_handle<cudaGraph_t> graph(recorded);
  cudaGetLastError();  // a refused capture leaves an error, but a usable context
  if (!outcome.ok()) return graph_capture{outcome.message};
  if (ended != cudaSuccess) return graph_capture{describe(ended)};

  cudaGraphExec_t made = nullptr;
  const cudaError_t instantiated = cudaGraphInstantiate(&made, graph.get(), 0);
  const graph_handle<cudaGraphExec_t> executable(made);
  if (instantiated != cudaSuccess) return graph_capture{describe(instantiated)};
  require(cudaGraphLaunch(executable.get(), stream), "cudaGraphLaunch");
  // Here the graph was accepted, so a kernel is at fault.
  if (const status finished = synchronise(); !finished.ok()) {
    throw error(failure::unsupported, "replayed as a graph: " + finished.message);
  }
  return graph_capture{{}, count_kernels(graph.get())};
}

bool cuda_backend::escapes_queue(const std::function<status()>& enqueue,
                                 std::span<const memory_range> watched, double seconds) {
  live_device& gpu = live();
  const auto look = [&] {
    std::vector<std::byte> seen;
    for (const memory_range range : watched) {
      const std::size_t at = seen.size();
      seen.resize(at + range.size());
      require(cudaMemcpyAsync(seen.data() + at, range.data(), range.size(), cudaMemcpyDefault,
                              gpu.side),
              "cudaMemcpyAsync");
    }
    require(cudaStreamSynchronize(gpu.side), "cudaStreamSynchronize");
    return seen;
  };
  const std::vector<std::byte> before = look();
  gpu.gate.close(gpu.stream);
  const status outcome = enqueue();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::vector<std::byte> after = outcome.ok() ? look() : before;
  gpu.gate.open();
  const status finished = synchronise();
  return finished.ok() && !gpu.gate.expired() && before != after;
}

}  // namespace

std::unique_ptr<backend> open_cuda_backend(int threads, int number, int multiprocessors) {
  if (const int count = count_cuda_devices(); number < 0 || number >= count) {
    throw error(failure::unsupported,
                fmt::format("there is no GPU {}: this process sees {}", number, count));
  }
  if (const std::string why = why_no_code_for(number); !why.empty()) {
    throw error(failure::unsupported, why);
  }
  return std::make_unique<cuda_backend>(threads, number, multiprocessors);
}

}  // namespace kselect::runtime

#endif
