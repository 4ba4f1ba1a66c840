// One step of a selection, written by hand: filter a row against a pivot, count the candidates of
// every warp by ballot and by butterfly, and write them in order. check.py compares its machine
// code with that of seam.cu, the same kernel written with the verbs.

#include <cstdint>

struct storage {
  int counts[32];
};
struct arguments {
  const float* in;
  std::int64_t in_size;
  float* out;
  std::int64_t out_size;
  int* total;
  std::int64_t total_size;
  float pivot;
};

__global__ void __launch_bounds__(256, 1) filter(const __grid_constant__ arguments a) {
  __shared__ storage shared;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t start = std::int64_t{static_cast<int>(blockIdx.x)} * 1024;
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const float4 four = reinterpret_cast<const float4*>(a.in + start)[static_cast<int>(threadIdx.x)];
  const bool wanted = four.x < a.pivot;
  const std::uint32_t votes = __ballot_sync(0xffffffffU, wanted);
  int sum = (four.y < a.pivot) + (four.z < a.pivot) + (four.w < a.pivot);
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffU, sum, distance);
  }
  if (lane == 0) shared.counts[warp] = __popc(votes) + sum;
  __syncthreads();
  std::uint32_t lower;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
  if (wanted) a.out[start + 32 * warp + __popc(votes & lower)] = four.x;
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned*>(a.total), unsigned(shared.counts[0]));
}
