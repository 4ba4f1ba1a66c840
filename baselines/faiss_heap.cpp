// FAISS's CPU heap (faiss/utils/Heap.h; Douze et al., "The Faiss Library", 2024): a binary heap of
// the k best values with their indices, in one pass over the row, as in FAISS's exhaustive
// searches. An adapter, compiled if FAISS's headers are installed.
//
// The heap starts with the row's first k elements. FAISS starts with sentinels, which infinities
// and the largest finite value would not displace. Floats are compared, so rows with NaN are
// excluded and the two zeros tie. FAISS has no form without indices: for values alone it works in
// scratch memory. Nothing is tuned. FAISS itself splits queries among threads as +omp does.
//
// Entries: cpu/faiss_heap

#include <algorithm>
#include <array>
#include <span>

#include <omp.h>

#include "kselect/algorithm.hpp"

#if KSELECT_HAS_FAISS
#include <faiss/utils/Heap.h>
#endif

namespace kselect::entries {
namespace {

template <bool parallel>
int thread_count(const problem& p, const device& where) {
  return parallel ? static_cast<int>(std::min<std::int64_t>(where.threads, p.q)) : 1;
}

#if KSELECT_HAS_FAISS

// The k best of one row in values[] and ids[], best first.
template <class Order>
void select_row(const typename Order::T* row, std::int64_t n, std::int64_t k,
                typename Order::T* values, std::int64_t* ids) {
  const auto size = static_cast<std::size_t>(k);
  for (std::int64_t i = 0; i < k; ++i) {
    faiss::heap_push<Order>(static_cast<std::size_t>(i + 1), values, ids, row[i], i);
  }
  for (std::int64_t i = k; i < n; ++i) {
    if (Order::cmp(values[0], row[i])) {
      faiss::heap_replace_top<Order>(size, values, ids, row[i], i);
    }
  }
  faiss::heap_reorder<Order>(size, values, ids);
}

template <bool parallel>
status start(const int& threads, const problem& p, const io& buffers,
             std::span<std::byte> workspace, const executor&) {
  auto* const scratch = reinterpret_cast<std::int64_t*>(workspace.data());
  visit(p.type, [&]<class T>(T) {
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (parallel)
    for (std::int64_t r = 0; r < p.q; ++r) {
      const T* const row = static_cast<const T*>(buffers.input) + p.offset(r, 0);
      T* const values = static_cast<T*>(buffers.values) + r * p.k;
      std::int64_t* const ids = scratch + omp_get_thread_num() * p.k;
      if (p.direction == direction::smallest) {
        select_row<faiss::CMax<T, std::int64_t>>(row, p.n, p.k, values, ids);
      } else {
        select_row<faiss::CMin<T, std::int64_t>>(row, p.n, p.k, values, ids);
      }
      if (!p.has_indices()) continue;
      visit(p.index, [&]<class Index>(Index) {
        std::transform(ids, ids + p.k, static_cast<Index*>(buffers.indices) + r * p.k,
                       [](std::int64_t id) { return static_cast<Index>(id); });
      });
    }
  });
  return {};
}

template <bool parallel>
call_plan plan_for(const problem& p, const device& where) {
  const int threads = thread_count<parallel>(p, where);
  return call_plan::of<&start<parallel>>(
      p, static_cast<std::size_t>(p.k * threads) * sizeof(std::int64_t), threads);
}
constexpr std::string_view missing = {};

#else

template <bool>
constexpr decltype(algorithm::plan) plan_for = nullptr;
constexpr std::string_view missing =
    "built without FAISS: its headers were not found (Debian: libfaiss-dev)";

#endif

template <bool parallel>
constexpr algorithm entry(std::string_view name) {
  algorithm a;
  a.name = name;
  a.family = "heap";
  a.source = "FAISS, utils/Heap.h";
  a.promises.ordering = output_ordering::sorted;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.promises.nan = nan_policy::unsupported;
  a.promises.zeros = zero_policy::merged;
  a.promises.synchronises = true;
  a.executors = set_of(executor_kind::cpu);
  a.dtypes = set_of(dtype::float32, dtype::float64);
  a.missing = missing;
  a.threaded = parallel;
  a.plan = plan_for<parallel>;
  return a;
}

constexpr std::array variants = {
    entry<false>("cpu/faiss_heap"),
    entry<true>("cpu/faiss_heap+omp"),
};

}  // namespace

std::span<const algorithm> faiss_heap() { return variants; }

}  // namespace kselect::entries
