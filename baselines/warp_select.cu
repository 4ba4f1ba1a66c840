// Warp selection in the style of WarpSelect: Johnson, Douze & Jegou, "Billion-scale Similarity
// Search with GPUs", 2017 (in FAISS). Our own implementation.
//
// One warp a row, one pass. The *warp queue*, the K best so far (k rounded up to a power of two),
// stays sorted in the warp's registers. A lane puts elements better than the k-th into its own
// short *thread queue*. Once one of these might overflow, the warp sorts all thread queues together
// by a bitonic network and merges them into the warp queue. The answer is sorted.
//
// Cost: each element is read, converted and compared once. About k ln(n/k) elements of a row in
// random order pass the filter. A merge takes 36 + log2 K steps on 256 + K elements. No shared
// memory, no workspace. Registers bound K: 1024. A row never has more than one warp, so few long
// rows leave the GPU idle.
//
// Its authors tuned the thread queue to K (2 to 8 elements) and vote after each element. We read 16
// bytes a lane at a time and vote once for them, so the thread queue has 8 elements for every K.
// Warps a block are a parameter: +w1, +w8, by default 4.
//
// Entries: warp-select

#include <array>

#include "baselines/warp_select/launch.hpp"
#include "kernels/gpu_rows.cuh"

namespace kselect::warp_select {
namespace {

template <class T, int warps>
status start(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  return select_rows<T>(warps, p, buffers, on);
}

template <int warps>
call_plan plan_for(const problem& p, const device&) {
  return visit(p.type, [&]<class T>(T) { return call_plan::of<&start<T, warps>>(p); });
}

template <int warps>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "warp select", "Johnson et al. 2017 (FAISS), WarpSelect");
  a.promises.ordering = output_ordering::sorted;
  a.promises.determinism = determinism::run_to_run;
  a.promises.limits.max_k = most_queue;
  a.plan = &plan_for<warps>;
  return a;
}

constexpr std::array variants = {
    entry<4>("warp-select"),
    entry<1>("warp-select+w1"),
    entry<8>("warp-select+w8"),
};

}  // namespace
}  // namespace kselect::warp_select

namespace kselect::entries {

std::span<const algorithm> warp_select() { return warp_select::variants; }

}  // namespace kselect::entries
