// Buffered multi-select, a row a block (bms-block) or a row a warp (bms-warp): the two ideas of the
// papers joined.
//
// Each element is read once, 16 bytes a load, and compared with a threshold (the buffered search of
// Tang et al. 2015); the few survivors are kept in shared memory and cut down to k by
// multi-selection (Komarov et al. 2014), counting in place of partitioning. Device memory is not
// touched again.
//
//   1. The first tile of the row stays in registers. Minima of disjoint groups of it give the
//      threshold (threshold.cuh).
//   2. The tile, and all that follow, are filtered by it into a list in shared memory (stream.cuh).
//      A full list is cut to about k, which lowers the threshold (survivors.cuh): any order and any
//      ties are one pass.
//   3. The list is narrowed down to the exact k smallest (narrowing.cuh, answer.cuh).
//
// Where k is a large part of n a threshold would hold little back: such rows, if they fit, stay in
// registers, and are selected from there by a bracket of the k-th value (resident_row.cuh,
// by_bracket.cuh); long lists end the same way. Where a row fits one warp and k is small, there is
// no list: step 3 works on the survivors in registers (brief_row.cuh).
//
// What limits it, on an H200, whose 132 multiprocessors can execute 29 warp instructions in the
// time that its memory takes to bring 32 elements (ncu's counts; times in
// results/nvidia-h200/goal_*):
//   k <= 32, n >= 8192   memory: 85 to 94 % of the read ceiling
//   a warp a row         waiting, step for step, with 28 warps on a multiprocessor; and
//                        instructions, 27 for 32 elements at n = 1024, k = 32, a third of them to
//                        narrow. Half are for the pipe of comparisons, which takes two cycles for
//                        each; so where the sign of a difference tells the same, it is used
//   in registers         shared memory, whose pipe is 66 % busy at n = 8192, k = 1024, with counts
//                        and with what is staged; and instructions, 30
//   k of n / 64 and up   instructions: 31 at n = 16384, k = 1024, and waiting as above
// So nothing may spill: a few registers spilt in the stream cost up to a tenth of the time. Loads
// that do not stay in L1 cost up to half the speed; a list longer than it has to be costs nothing.
//
// Rows of 16-bit numbers are read eight elements a load, and become floats' upper halves in
// registers (buffered_multi_select/element.hpp). The card has half as many instructions for each
// element then, one of which is for that: only a stream from which little passes can keep up with
// memory. Ties are many, and cost what they cost any row.
//
// Exact on every input, in the total order on bits: numbers are compared as such only to pass over
// tiles, and subtracted only where there is no NaN (row.cuh) or where one would be seen
// (by_bracket.cuh); all else compares integer keys. Which
// of equal elements are chosen, and the order of the answer, are unspecified and may differ from
// run to run.
//
// Entries: bms-warp, bms-block

#include "algorithms/buffered_multi_select/launches.hpp"
#include "kernels/gpu_rows.cuh"

namespace kselect::bms {
namespace {

template <block_variant v>
support supports(const problem& p, const device& where) {
  return visit_bits(p.type, [&]<class T>(T) { return block_supports<T>(v, p, where); });
}

template <block_variant v>
status enqueue(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  return visit_bits(p.type, [&]<class T>(T) { return block_enqueue<T>(v, p, buffers, on); });
}

template <block_variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "buffered multi-select",
                                   "kselect, after Tang et al. 2015 and Komarov et al. 2014");
  a.dtypes = set_of(dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16);
  a.supports = &supports<v>;
  a.enqueue = &enqueue<v>;
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

}  // namespace
}  // namespace kselect::bms

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_block() { return bms::variants; }

}  // namespace kselect::entries
