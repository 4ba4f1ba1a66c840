// FAISS's selection on the GPU (Johnson, Douze & Jegou, "Billion-scale similarity search with
// GPUs", 2017), as its exhaustive searches call it on a tile of distances. An adapter, compiled
// with -DKSELECT_FAISS_GPU=ON if a FAISS with GPU support is found.
//
//   faiss-gpu/block   runBlockSelect: a block a row, a queue a warp, merged at the end
//   faiss-gpu/warp    runWarpSelect: WarpSelect, a warp a row
//
// FAISS's documented calls (bfKnn, the indexes) also compute distances; these two only select. They
// are declared in installed headers (gpu/utils/*SelectKernel.cuh) and defined in FAISS's library,
// but are no documented interface. They have 64-bit indices since FAISS 1.7.4. Queue lengths and
// block sizes are FAISS's own, by k.
//
// FAISS writes values, best first, and 64-bit indices. For 32-bit indices our kernel narrows those
// from the workspace, as FAISS does for its users: one pass over the answer. For values alone the
// indices stay in the workspace.
//
// Limits: float32, k <= 2048. Queues compare floats and start with the largest finite float and
// index -1, which infinities do not displace. So rows with NaN or infinities are excluded.
//
// Entries: faiss-gpu/block, faiss-gpu/warp

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "kernels/gpu_rows.cuh"

#if KSELECT_HAS_FAISS_GPU
#include <faiss/gpu/utils/BlockSelectKernel.cuh>
#include <faiss/gpu/utils/WarpSelectKernel.cuh>
#endif

namespace kselect::faiss_gpu_select {
namespace {

enum class method : std::uint8_t { block, warp };

#if KSELECT_HAS_FAISS_GPU

// ---- indices of the wanted type

struct narrow_kernel {
  struct storage {};
  struct args {
    simt::global<const std::int64_t> from;
    simt::global<std::int32_t> to;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         i < a.to.size; i += stride) {
      simt.store(a.to, i, static_cast<std::int32_t>(simt.load(a.from, i)));
    }
  }
};

bool writes_in_place(const problem& p) { return p.has_indices() && p.index == index_type::int64; }

// Room for FAISS's indices if the caller wants another type or none.
simt::global<std::int64_t> wide_indices(const problem& p, simt::carver& pieces) {
  return pieces.take<std::int64_t>(writes_in_place(p) ? 0 : p.q * p.k);
}

// ---- the call

// A view of rows x columns elements; rows begin `pitch` elements apart.
template <class T>
faiss::gpu::Tensor<T, 2, true> tensor(T* data, std::int64_t rows, std::int64_t columns,
                                      std::int64_t pitch) {
  using size = typename faiss::gpu::Tensor<T, 2, true>::IndexType;
  const size sizes[2] = {static_cast<size>(rows), static_cast<size>(columns)};
  const size strides[2] = {static_cast<size>(pitch), 1};
  return faiss::gpu::Tensor<T, 2, true>(data, sizes, strides);
}

template <method by>
void select(const problem& p, const io& buffers, faiss::idx_t* indices, cudaStream_t stream) {
  // FAISS only reads the input, but its tensors are not const.
  auto* const input = const_cast<float*>(static_cast<const float*>(buffers.input));
  auto rows = tensor(input, p.q, p.n, p.effective_pitch());
  auto values = tensor(static_cast<float*>(buffers.values), p.q, p.k, p.k);
  auto positions = tensor(indices, p.q, p.k, p.k);
  const bool largest = p.direction == direction::largest;
  const int k = static_cast<int>(p.k);
  if constexpr (by == method::block) {
    faiss::gpu::runBlockSelect(rows, values, positions, largest, k, stream);
  } else {
    faiss::gpu::runWarpSelect(rows, values, positions, largest, k, stream);
  }
}

template <method by>
status start(const problem& p, const io& buffers, std::span<std::byte> memory, const executor& on) {
  static_assert(sizeof(faiss::idx_t) == sizeof(std::int64_t));
  simt::carver pieces(memory.data());
  const auto wide = wide_indices(p, pieces);
  auto* const indices =
      writes_in_place(p) ? static_cast<std::int64_t*>(buffers.indices) : wide.data;
  try {
    select<by>(p, buffers, indices, static_cast<cudaStream_t>(on.stream));
  } catch (const std::exception& problem) {
    return {status_code::failed, std::string("FAISS: ") + problem.what()};
  }
  if (!p.has_indices() || writes_in_place(p)) return {};
  constexpr int threads = 256;
  const std::int64_t blocks = std::min<std::int64_t>((wide.size + threads - 1) / threads, 1 << 16);
  return simt::launch<narrow_kernel>(
      on, {blocks, threads}, {wide, {static_cast<std::int32_t*>(buffers.indices), wide.size}});
}

template <method by>
call_plan plan_for(const problem& p, const device&) {
  simt::carver sizes(nullptr);
  wide_indices(p, sizes);
  return call_plan::of<&start<by>>(p, sizes.used());
}
constexpr std::string_view missing = {};

#else

template <method>
constexpr decltype(algorithm::plan) plan_for = nullptr;
constexpr std::string_view missing =
    "built without FAISS for GPUs: configure with -DKSELECT_FAISS_GPU=ON where FAISS 1.7.4 or "
    "newer with GPU support and nvcc are found";

#endif

template <method by>
constexpr algorithm entry(std::string_view name, std::string_view source) {
  algorithm a = kernels::gpu_entry(name, "library top-k", source);
  a.promises.ordering = output_ordering::sorted;
  a.promises.nan = nan_policy::unsupported;
  a.promises.zeros = zero_policy::merged;
  a.promises.infinities = false;
  a.promises.limits.max_k = 2048;
  a.promises.limits.max_q = std::numeric_limits<int>::max();
  a.executors = set_of(executor_kind::cuda);
  a.dtypes = set_of(dtype::float32);
  a.missing = missing;
  a.plan = plan_for<by>;
  return a;
}

constexpr std::array variants = {
    entry<method::block>("faiss-gpu/block", "FAISS, runBlockSelect; Johnson et al. 2017"),
    entry<method::warp>("faiss-gpu/warp", "FAISS, runWarpSelect; Johnson et al. 2017"),
};

}  // namespace
}  // namespace kselect::faiss_gpu_select

namespace kselect::entries {

std::span<const algorithm> faiss_gpu_select() { return faiss_gpu_select::variants; }

}  // namespace kselect::entries
