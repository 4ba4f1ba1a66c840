// Heap reduction: Barrientos, "Procesamiento de consultas kNN en espacios metricos utilizando
// GPUs", master's thesis, UCM 2011, Sec. 3.1.2, Alg. 5; "Heap-Based k-Nearest Neighbor Search on
// GPUs", XXI Jornadas de Paralelismo, 2010. The stages are in heap_reduction/block_heaps.cuh.
//
// A row a block. Every thread keeps the k least elements of its share of the row in a heap in
// global memory. The first warp reduces these heaps to 32 in shared memory, and the first thread
// those to one.
//
//   heap-reduction        a launch a row
//   batch-heap-reduction  all rows in one launch
//   ...+tT                blocks of T threads; default: by n and k
//
// Cost: a row is read once, in 16-byte loads. Of a thread's n/T elements about k ln(n/(kT)) enter
// its full heap, with log k reads and writes each. Then each lane offers k T/32 entries to its
// heap, and one thread offers 32 k. So many threads pay only for large n/k, and T = sqrt(32 n/k)
// balances the first two stages. Workspace: T k entries for each resident block.
//
// Deviations, and why:
//  - The thesis gives each block as many threads as fit; here T follows the balance above.
//  - A thread's heap is no larger than the n/T elements that it sees.
//  - Stage 2 reads the heaps in the order of their slots instead of popping them: the same entries,
//    for k reads instead of k log k reads and writes.
//  - A fixed number of blocks walks over the rows, so that the workspace does not grow with Q.
//  - An entry is a key and a position in one integer: ties are decided, and the answer is sorted.
//
// Where the pseudocode errs: in reduccion_warp the heaps are counted from tid to T (ID_Block + 1),
// which includes those of all blocks before. A block reduces its own T heaps.
//
// Entries: heap-reduction, batch-heap-reduction

#include <algorithm>
#include <array>

#include "algorithms/heap_reduction/block_heaps.cuh"
#include "kernels/gpu_rows.cuh"
#include "kselect/candidate.hpp"
#include "kselect/simt/device_size.hpp"

namespace kselect::heap_reduction {
namespace {

using kernels::answer;
using kernels::answer_view;
using kernels::position;
using kernels::rows_view;

template <class T, answer what>
using candidate_of =
    std::conditional_t<what == answer::pairs, keyed_candidate<T>, bare_candidate<T>>;

template <class T, answer what>
struct kernel {
  using candidate = candidate_of<T, what>;
  using entry = typename candidate::type;
  struct storage {
    reduction_storage reduction;
  };
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    simt::global<entry> heaps;
    int capacity;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const int k = static_cast<int>(a.matrix.k);
    block_heaps<Simt, entry> heaps(simt, shared.reduction, a.heaps,
                                   static_cast<entry*>(simt.dynamic_shared()), a.capacity, k);
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      heaps.clear();
      kernels::for_each_element(
          simt, kernels::row_at(simt, a.matrix, row), static_cast<position>(simt.thread()),
          static_cast<position>(simt.threads()), [&](T value, position at) {
            heaps.offer(candidate::make(selection_key(value, a.matrix.wanted), at));
          });
      heaps.reduce();
      for (int j = simt.thread(); j < k; j += simt.threads()) {
        const entry e = heaps.best(j);
        kernels::write_answer<what>(simt, a.out, row * k + j, candidate::key(e),
                                    static_cast<position>(candidate::index(e)), a.matrix.wanted);
      }
      simt.sync_block();  // the next reduction overwrites this row's answer
    }
  }
};

// ---- shapes

struct variant {
  bool batch = true;
  int threads = 0;  // 0: by n and k
};

int threads_of(const variant& v, const problem& p) {
  if (v.threads != 0) return v.threads;
  int threads = simt::warp_size;
  while (threads < simt::thread_limit && std::int64_t{threads} * threads < 32 * p.n / p.k) {
    threads *= 2;
  }
  return threads;
}

std::int64_t capacity_of(const variant& v, const problem& p) {
  // With an unaligned head, 16-byte loads and a tail, a thread may see one load more than its
  // share.
  constexpr std::int64_t of_loads = 16 / sizeof(float) + 2;
  return std::min(p.k, p.n / threads_of(v, p) + of_loads);
}

// As many blocks as are resident; each has its own heaps.
std::int64_t blocks_of(const variant& v, const problem& p, const device& where) {
  return v.batch ? std::min(simt::resident_blocks(where, threads_of(v, p)), p.q) : 1;
}

// The decisions of a call.
struct shape {
  std::int64_t blocks;
  std::int64_t capacity;  // of a thread's heap
  int threads;
};

template <class T, answer what>
using entry_of = typename candidate_of<T, what>::type;

template <class T, answer what>
simt::global<entry_of<T, what>> carve(const shape& s, simt::carver& memory) {
  return memory.take<entry_of<T, what>>(s.blocks * heap_entries(s.threads, s.capacity));
}

template <class T, answer what, bool batch>
status start(const shape& s, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  simt::carver pieces(memory.data());
  typename kernel<T, what>::args a;
  a.heaps = carve<T, what>(s, pieces);
  a.capacity = static_cast<int>(s.capacity);
  const simt::grid grid{s.blocks, s.threads, shared_heap_bytes<entry_of<T, what>>(p.k)};
  if constexpr (batch) {
    a.matrix = kernels::rows_of<T>(p, buffers);
    a.out = kernels::answer_in<T>(p, buffers);
    return simt::launch<kernel<T, what>>(on, grid, a);
  } else {
    for (std::int64_t row = 0; row < p.q; ++row) {
      a.matrix = kernels::one_row_of<T>(p, buffers, row);
      a.out = kernels::one_answer_in<T>(p, buffers, row);
      const status launched = simt::launch<kernel<T, what>>(on, grid, a);
      if (!launched.ok()) return launched;
    }
    return {};
  }
}

// The largest k whose heaps fit into shared memory.
template <class Entry>
std::int64_t largest_k(const device& where) {
  const std::size_t taken = sizeof(reduction_storage);
  const std::size_t free = where.shared_bytes < taken ? 0 : where.shared_bytes - taken;
  return static_cast<std::int64_t>(free / shared_heap_bytes<Entry>(1));
}

template <variant v>
call_plan plan_for(const problem& p, const device& where) {
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    const std::int64_t most = largest_k<entry_of<T, what>>(where);
    if (p.k > most) {
      return call_plan::refused("k > " + std::to_string(most) +
                                ": 33 heaps of k entries do not fit into shared memory");
    }
    const shape s{blocks_of(v, p, where), capacity_of(v, p), threads_of(v, p)};
    simt::carver sizes(nullptr);
    carve<T, what>(s, sizes);
    return call_plan::of<&start<T, what, v.batch>>(p, sizes.used(), s);
  });
}

template <variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "heap reduction", "Barrientos 2011, Sec. 3.1.2, Alg. 5");
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.plan = &plan_for<v>;
  return a;
}

constexpr std::array variants = {
    entry<variant{.batch = false}>("heap-reduction"),
    entry<variant{}>("batch-heap-reduction"),
    entry<variant{.batch = true, .threads = 512}>("batch-heap-reduction+t512"),
};

}  // namespace
}  // namespace kselect::heap_reduction

namespace kselect::entries {

std::span<const algorithm> heap_reduction() { return heap_reduction::variants; }

}  // namespace kselect::entries
