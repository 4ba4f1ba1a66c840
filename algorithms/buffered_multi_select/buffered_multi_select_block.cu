// Buffered multi-select, one block a row (bms-block) or one warp a row (bms-warp). It joins the
// ideas of two papers: the buffered search (Tang et al. 2015) and multi-selection (Komarov et al.
// 2014).
//
// Each element is read once, in 16-byte loads, and compared with a threshold (buffered search). The
// few survivors stay in shared memory. Multi-selection, by counting instead of partitioning, cuts
// them down to k. Device memory is not touched again.
// (The files named below are in steps/ and warp/.)
//
//   1. The first tile of the row stays in registers. Minima of disjoint groups of its elements give
//      the threshold (threshold.cuh).
//   2. The threshold filters this tile and all others into a list in shared memory (stream.cuh). A
//      full list is cut to about k, which lowers the threshold (survivors.cuh). So rows in any
//      order and with any ties take one pass.
//   3. The list is narrowed to the exact k smallest (narrowing.cuh, answer.cuh).
//
// If k is a large part of n, a threshold holds little back. Rows that fit then stay in registers,
// and a bracket of the k-th value selects from them (resident_row.cuh, by_bracket.cuh). Long lists
// end the same way. If a row fits one warp and k is small, there is no list: step 3 works on the
// survivors in registers (brief_row.cuh).
//
// What limits it on an H200 (times in results/nvidia-h200/goal_*):
//   k <= 32, n >= 8192   memory: 85 to 94 % of the read ceiling
//   a warp a row         latency of dependent steps, and instructions, many of them for narrowing.
//                        Comparisons have the slowest pipe, so signs of differences replace them
//   in registers         shared memory, busy with counts and staged elements, and instructions
//   k of n / 64 and up   instructions and latency
// So nothing may spill: even a few spilled registers slow the stream. Loads whose lines leave L1
// early cost more still; a list longer than necessary costs nothing.
//
// Rows of 16-bit numbers have eight elements a load, which become upper halves of floats in
// registers (element.hpp). This leaves half as many instructions for each element, and one of them
// converts it. So only a stream that few elements pass keeps up with memory. Ties are many and cost
// nothing extra.
//
// Integers and 8-bit types are words (steps/element.hpp): one instance a width, which compares them
// as integers.
//
// Short answers are put in order at the end if the caller wants that (block/in_order_kernel.cuh).
//
// Rows of lengths of their own have kernels of their own (block/ragged_kernel.cuh).
//
// Exact on every input, in the total order on bits. Floats are compared as numbers only to pass
// over tiles. They are subtracted only where there is no NaN (row.cuh) or where a NaN would be seen
// (by_bracket.cuh). Everything else compares integer keys. Which of equal elements are chosen, and
// the order of the answer, are unspecified and may differ from run to run.
//
// Entries: bms-warp, bms-block

#include "algorithms/buffered_multi_select/in_order.hpp"
#include "kernels/gpu_rows.cuh"

namespace kselect::bms {
namespace {

template <block_variant v>
call_plan plan_for(const problem& p, const device& where) {
  return visit_bits(p.type, [&]<class T>(T) {
    if (p.ragged()) return ragged_plan<T>(v, p, where);
    if (p.has_values() || is_word<T>) return block_plan<T>(v, p, where);
    // The kernels of equal rows are tuned with values; a store of k of them is little.
    return plan_without_values(block_plan<T>(v, with_values(p), where));
  });
}

template <block_variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "buffered multi-select",
                                   "kselect, after Tang et al. 2015 and Komarov et al. 2014");
  a.dtypes = every_dtype;
  a.payloads = set_of(payload::values, payload::values_and_indices, payload::indices);
  a.ragged = a.executors;
  a.plan = &plan_for<v>;
  return a;
}

constexpr std::array variants = {
    entry<block_variant{true, 0}>("bms-warp"),
    entry<block_variant{false, 0}>("bms-block"),
    entry<block_variant{false, 128}>("bms-block+t128"),
    entry<block_variant{false, 256}>("bms-block+t256"),
    entry<block_variant{false, 512}>("bms-block+t512"),
    entry<block_variant{false, 1024}>("bms-block+t1024"),
};
constexpr std::array<block_variant, variants.size()> shapes = {
    {{true, 0}, {false, 0}, {false, 128}, {false, 256}, {false, 512}, {false, 1024}}};

}  // namespace

call_plan plan_of_block_in_order(const algorithm& member, const problem& p, const device& where) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (member.name != variants[i].name) continue;
    return visit_bits(p.type, [&]<class T>(T) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, float16>) {
        return block_plan_in_order<T>(shapes[i], p, where);
      }
      return call_plan::refused("answers of this type are put in order by a step of their own");
    });
  }
  return call_plan::refused("its answers are put in order by a step of their own");
}

}  // namespace kselect::bms

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_block() { return bms::variants; }

}  // namespace kselect::entries
