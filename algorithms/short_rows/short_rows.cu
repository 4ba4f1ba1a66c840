// Many short rows, several to a warp: a team of a few lanes selects from a row. Ours.
//
// A row that has a warp to itself costs the warp's fixed steps: reductions over 32 lanes, a scan, a
// ranking. For few elements these take longer than reading them. A team of few lanes has more
// elements a lane, and one instruction serves up to 16 rows.
//
// The row lies in registers. Networks of minima and maxima (network.cuh) sort what a lane has, and
// merge what the lanes of a team have. 16-bit elements are sorted with their positions, so the
// networks' answer is the row's (narrow.cuh). For 32-bit elements the networks give a bound, and
// what is not above it is ranked (wide.cuh).
//
// Cost: the row is read once. A lane spends some 10 to 20 instructions on an element, which on an
// H200 take about as long as reading it. No workspace, no barrier.
//
// Entries: short-rows

#include "algorithms/short_rows/narrow.cuh"
#include "algorithms/short_rows/wide.cuh"

namespace kselect::entries {
namespace {

template <int list>
call_plan narrow_plan(const problem& p) {
  using namespace short_rows;
  if (p.n <= 64) return call_plan::of<&start<float16, narrow_kernel<2, 32, list>>>(p);
  if (p.n <= 128) return call_plan::of<&start<float16, narrow_kernel<2, 64, list>>>(p);
  if (p.n <= 256) return call_plan::of<&start<float16, narrow_kernel<4, 64, list>>>(p);
  if (p.n <= 512) return call_plan::of<&start<float16, narrow_kernel<8, 64, list>>>(p);
  return call_plan::of<&start<float16, narrow_kernel<16, 64, list>>>(p);
}

template <int list>
call_plan wide_plan(const problem& p) {
  using namespace short_rows;
  using element = word<std::uint32_t>;
  if (p.n <= 64) return call_plan::of<&start<element, wide_kernel<4, 16, list>>>(p);
  if (p.n <= 128) return call_plan::of<&start<element, wide_kernel<4, 32, list>>>(p);
  if (p.n <= 256) return call_plan::of<&start<element, wide_kernel<4, 64, list>>>(p);
  return call_plan::of<&start<element, wide_kernel<8, 64, list>>>(p);
}

call_plan plan(const problem& p, const device&) {
  if (p.n > short_rows::longest(p.type)) return call_plan::refused("n > 512 of 32-bit elements");
  if (size_of(p.type) == 4) return p.k <= 8 ? wide_plan<8>(p) : wide_plan<16>(p);
  return p.k <= 4 ? narrow_plan<4>(p) : p.k <= 8 ? narrow_plan<8>(p) : narrow_plan<16>(p);
}

constexpr algorithm entry = [] {
  algorithm a = kernels::gpu_entry("short-rows", "few lanes a row", "kselect");
  a.promises.limits.max_n = short_rows::longest(dtype::float16);
  a.promises.limits.max_k = 16;
  a.dtypes = set_of(dtype::float32, dtype::float16, dtype::bfloat16, dtype::int32, dtype::uint32);
  a.plan = &plan;
  return a;
}();

}  // namespace

std::span<const algorithm> short_rows() { return {&entry, 1}; }

}  // namespace kselect::entries
