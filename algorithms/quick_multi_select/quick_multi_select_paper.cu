// Quick multi-select in the paper's own form: Komarov, Dashti & D'Souza, "Fast k-NNG Construction
// with GPU-Based Quick Multi-Select", PLOS ONE 9(5): e92409, 2014, Methods. The improved form is
// quick_multi_select.cu.
//
// A pivot partitions a row, 32 elements a warp at a time: read in (Fig. 2), pivot in shared memory
// (Fig. 3), write out of both sides to an auxiliary array (Fig. 4). If all wanted elements are on
// the left side, the search goes on there. Otherwise a reference to the left side is kept, and the
// search for the others goes on in the right side. The steps have the paper's names and are in
// paper_*.cuh: search (Algorithm 1's decisions), partition (Fig. 2-4), kernels, host_driver.
// Figures have the journal's numbers; the preprint's are one lower.
//
//   qms-warp+paper   a row a warp: "each array is handled by a single thread warp"
//   qms-block+paper  a row a block of up to 16 warps: "one thread block per query"
//   qms-host+paper   a row a block, a launch an iteration, decisions on the CPU: Algorithm 1
//
// Cost: the first partition reads n values and writes n elements. Each later one reads and writes
// what is left. The workspace is 2n elements and k references a row.
//
// The listing of Algorithm 1 was not at hand, only what the text says of it: distances, then a
// while loop of partitioning with pivot selection, and an if-then-else.
//
// What the paper leaves open, or what cannot be as it is printed, and how it is here:
//  1. The paper launches once an iteration and decides on the CPU. qms-host+paper does so; a
//     launch there serves all rows that are not found yet. In the other two entries the row's own
//     team decides, in one launch.
//  2. The paper names its step "pivot selection" and does not say how. It follows the quicksort of
//     its reference 34, whose pivot "is randomly selected"; so is this one, from the active
//     elements. The place is splitmix64's finaliser of row and iteration, so a run repeats itself.
//  3. The paper orders floats. Here keys are ordered (order.hpp), so NaN and both zeros have a
//     place in the order, for the smallest and for the largest.
//  4. The paper swaps the input and the auxiliary array. Here the input must stay as it is. The
//     first partition reads it, and the later ones swap two auxiliary arrays.
//  5. The paper does not lay out values and indices. Here a key and its position are one element.
//     The first partition reads values and makes the positions.
//  6. If L = 0, the pivot was the least active element, and elements equal to it never split. The
//     next pivot is then the key above it, so these ties go left. If K <= L after that, any K of
//     them will do. If no key is above the pivot, all active elements are equal to it.
//  7. The paper says what follows K < L and K > L. Here K = L is treated like K < L. The search
//     ends as soon as all active elements are wanted, which includes k = n.
//  8. In the last segments some threads have no element. Their places in shared memory lie between
//     the two sides, and they write nothing.
//  9. A block has as many warps as the row fills with a segment, at most 16. In qms-warp+paper a
//     block has eight warps: the paper's GPU is full with 1024 warps or 128 blocks.
// 10. The paper does not say where the stack is, or how the answer is gathered. Here the stack has
//     room for k references a row in global memory (qms-host+paper: on the CPU). In the end every
//     reference's elements are copied to the answer, in the order in which they were found.
// 11. Warps of present GPUs need a barrier where the paper's ran in lockstep. One thread updates
//     the counters g_< and g_>=, which are in shared memory as in Fig. 4.
//
// Where the text contradicts itself:
//  - It sets a thread's bit to 1 if its element is greater than or equal to the pivot. Its example
//    and its formulas count the elements below the pivot as 1. So does this code.
//  - The example writes thread 0's bit leftmost. There B >> (31 - i) keeps the bits of threads 0 to
//    i; the example shifts by 29 where thread 3's formula gives 28. _ballot has thread 0's bit
//    lowest, and there B << (31 - i) keeps the same bits.
//  - The preprint counts the others by _popc(~b), which also counts the zeros that the shift
//    brought in. Here the votes are inverted first, then shifted.
//  - Both counts include the thread itself, so they are counted from 1. The first place from the
//    right is then 32 - 1. The preprint has 31 - _popc(), one less.
//  - "threads whose id is less than _popc(B) (number of elements that are greater than the pivot)"
//    write the left side, whose elements are less.
//
// Entries: qms-warp+paper, qms-block+paper, qms-host+paper

#include <algorithm>
#include <array>
#include <type_traits>

#include "algorithms/quick_multi_select/paper_host_driver.cuh"
#include "kselect/simt/carver.hpp"

namespace kselect::qms_paper {
namespace {

enum class form : std::uint8_t { warp, block, host };

int threads_of_block(const problem& p) {
  const std::int64_t segments = (p.n + simt::warp_size - 1) / simt::warp_size;
  return static_cast<int>(std::min<std::int64_t>(segments, most_warps)) * simt::warp_size;
}

template <class T, bool indexed>
workspace_view<T, indexed> carve(form how, const problem& p, simt::carver& memory) {
  workspace_view<T, indexed> w{};
  w.memory.auxiliary_0 = memory.take<element<order_key_t<T>, indexed>>(p.q * p.n);
  w.memory.auxiliary_1 = memory.take<element<order_key_t<T>, indexed>>(p.q * p.n);
  if (how == form::host) {
    w.jobs = memory.take<job<order_key_t<T>>>(p.q);
    w.results = memory.take<partition_result<order_key_t<T>>>(p.q);
    w.runs = memory.take<run_of_answer>(p.q);
  } else {
    w.stacks = memory.take<reference>(p.q * p.k);
  }
  return w;
}

template <class T, bool indexed, form how>
status start(const problem& p, const io& buffers, std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  auto w = carve<T, indexed>(how, p, pieces);
  w.memory.rows = kernels::rows_of<T>(p, buffers);
  w.memory.out = kernels::answer_in<T>(p, buffers);
  if constexpr (how == form::warp) {
    const simt::grid shape{(p.q + rows_per_block - 1) / rows_per_block,
                           rows_per_block * simt::warp_size};
    return simt::launch<search_kernel<T, indexed, false>>(on, shape, {w.memory, w.stacks});
  } else if constexpr (how == form::block) {
    const simt::grid shape{p.q, threads_of_block(p)};
    return simt::launch<search_kernel<T, indexed, true>>(on, shape, {w.memory, w.stacks});
  } else {
    return host_driver<T, indexed>(threads_of_block(p), w, on).run();
  }
}

// Calls use(T{}, std::bool_constant<whether indices are wanted>{}).
template <class Use>
auto visit_elements(const problem& p, const Use& use) {
  return visit(p.type, [&]<class T>(T value) {
    return p.has_indices() ? use(value, std::true_type{}) : use(value, std::false_type{});
  });
}

template <form how>
call_plan plan_for(const problem& p, const device&) {
  return visit_elements(p, [&]<class T, bool indexed>(T, std::bool_constant<indexed>) {
    simt::carver sizes(nullptr);
    carve<T, indexed>(how, p, sizes);
    return call_plan::of<&start<T, indexed, how>>(p, sizes.used());
  });
}

template <form how>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "quick multi-select", "Komarov et al. 2014, Methods");
  a.promises.determinism = determinism::gpu_to_gpu;  // nothing depends on the GPU
  a.promises.limits.max_n = 0xffffffff;
  a.promises.synchronises = how == form::host;
  a.plan = &plan_for<how>;
  return a;
}

constexpr std::array variants = {entry<form::warp>("qms-warp+paper"),
                                 entry<form::block>("qms-block+paper"),
                                 entry<form::host>("qms-host+paper")};

}  // namespace
}  // namespace kselect::qms_paper

namespace kselect::entries {

std::span<const algorithm> quick_multi_select_paper() { return qms_paper::variants; }

}  // namespace kselect::entries
