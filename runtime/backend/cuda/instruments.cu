#include <cstdint>

#include "kselect/simt/cuda.cuh"
#include "runtime/backend/cuda/call.hpp"
#include "runtime/backend/cuda/instruments.hpp"

namespace kselect::runtime {
namespace {

__device__ unsigned long long global_nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ unsigned multiprocessor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

__global__ void wait_for_host(const volatile int* open, volatile int* expired,
                              unsigned long long patience) {
  const unsigned long long begin = global_nanoseconds();
  while (*open == 0) {
    if (global_nanoseconds() - begin > patience) {
      *expired = 1;
      __threadfence_system();
      return;
    }
  }
}

__global__ void find_lowest(unsigned* out) {
  if (threadIdx.x == 0) atomicMin(out, multiprocessor());
}

// Cycle counters differ between multiprocessors, so both stamps come from the same one. The first
// block that runs there writes the stamp.
__global__ void write_stamp(clock_probe::stamp* out, const unsigned* where, int turn) {
  if (multiprocessor() != *where || threadIdx.x != 0) return;
  if (atomicExch(&out->turn, turn) == turn) return;
  out->nanoseconds = global_nanoseconds();
  out->cycles = clock64();
}

__device__ unsigned unlikely_sum;

__global__ void __launch_bounds__(512) read_vectors(const uint4* data, std::int64_t count) {
  constexpr int in_flight = 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned mixed = 0;
  for (; i + (in_flight - 1) * stride < count; i += in_flight * stride) {
    uint4 part[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) part[j] = data[i + j * stride];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) mixed ^= part[j].x ^ part[j].y ^ part[j].z ^ part[j].w;
  }
  for (; i < count; i += stride) mixed ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
  // Uses every bit of every load, so that the compiler keeps the loads; it almost never writes. An
  // empty asm would not do: ptxas sees no use in it.
  if (mixed == 0x9e3779b9U) unlikely_sum = mixed;
}

}  // namespace

// ---- code ----

std::string why_code_does_not_load() {
  cudaFuncAttributes loaded{};
  const cudaError_t code = cudaFuncGetAttributes(&loaded, write_stamp);
  static_cast<void>(cudaGetLastError());
  if (!simt::detail::lacks_code(code)) return {};
  return std::string("this GPU cannot load the program's code (") + cudaGetErrorName(code) + ": " +
         cudaGetErrorString(code) +
         "): build again with CMAKE_CUDA_ARCHITECTURES naming its compute capability";
}

// ---- stream_gate ----

void stream_gate::release::operator()(flags* memory) const noexcept { cudaFreeHost(memory); }

stream_gate::stream_gate(double seconds)
    : nanoseconds_(static_cast<unsigned long long>(seconds * 1e9)) {
  void* memory = nullptr;
  require_cuda(cudaHostAlloc(&memory, sizeof(flags), cudaHostAllocMapped), "cudaHostAlloc");
  host_.reset(static_cast<flags*>(memory));
  *host_ = {1, 0};
  void* mapped = nullptr;
  require_cuda(cudaHostGetDevicePointer(&mapped, memory, 0), "cudaHostGetDevicePointer");
  device_ = static_cast<flags*>(mapped);
}

void stream_gate::close(cudaStream_t stream) {
  *static_cast<volatile int*>(&host_->open) = 0;
  *static_cast<volatile int*>(&host_->expired) = 0;
  wait_for_host<<<1, 1, 0, stream>>>(&device_->open, &device_->expired, nanoseconds_);
  require_launch("wait_for_host");
}

void stream_gate::open() { *static_cast<volatile int*>(&host_->open) = 1; }

bool stream_gate::expired() const {
  return *static_cast<const volatile int*>(&host_->expired) != 0;
}

// ---- clock_probe ----

void clock_probe::release::operator()(stamp* memory) const noexcept { cudaFree(memory); }

clock_probe::clock_probe(int multiprocessors) : blocks_(2 * multiprocessors) {
  void* memory = nullptr;
  require_cuda(cudaMalloc(&memory, 2 * sizeof(stamp) + sizeof *where_), "cudaMalloc");
  stamps_.reset(static_cast<stamp*>(memory));
  where_ = reinterpret_cast<unsigned*>(stamps_.get() + 2);
  require_cuda(cudaMemset(memory, 0, 2 * sizeof(stamp)), "cudaMemset");
  require_cuda(cudaMemset(where_, 0xff, sizeof *where_), "cudaMemset");
  // A green context may lack multiprocessor 0.
  find_lowest<<<blocks_, 32>>>(where_);
  require_launch("find_lowest");
  require_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

void clock_probe::launch(cudaStream_t stream, int which) {
  write_stamp<<<blocks_, 32, 0, stream>>>(stamps_.get() + which, where_, turn_);
  require_launch("write_stamp");
}

void clock_probe::begin(cudaStream_t stream) {
  ++turn_;
  launch(stream, 0);
}

void clock_probe::end(cudaStream_t stream) { launch(stream, 1); }

std::optional<clock_probe::reading> clock_probe::read() const {
  stamp at[2];
  require_cuda(cudaMemcpy(at, stamps_.get(), sizeof at, cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (at[0].turn != turn_ || at[1].turn != turn_ || at[1].nanoseconds <= at[0].nanoseconds) {
    return std::nullopt;
  }
  const auto passed = static_cast<double>(at[1].nanoseconds - at[0].nanoseconds);
  return reading{static_cast<double>(at[1].cycles - at[0].cycles) / passed * 1e3, passed};
}

// ---- memory ----

void read_through(cudaStream_t stream, const std::byte* data, std::size_t bytes,
                  int multiprocessors) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(uint4));
  read_vectors<<<4 * multiprocessors, 512, 0, stream>>>(reinterpret_cast<const uint4*>(data),
                                                        count);
  require_launch("read_vectors");
}

}  // namespace kselect::runtime
