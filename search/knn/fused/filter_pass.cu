#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/filter_wgmma.hpp"

namespace kselect::search::fused {
namespace {

void refuse_others_by_wgmma(const filter_args& args) {
  if (args.factors == simt::product::float16) return;
  throw error(failure::unsupported,
              "wgmma multiplies float16 here; take wgmma_slabs or mma.sync for the others");
}
[[maybe_unused, noreturn]] void refuse_wgmma() {
  throw error(failure::unsupported,
              "this program has no wgmma body; build with CMAKE_CUDA_ARCHITECTURES naming 90");
}

// The kernel for short vectors keeps its queries in shared memory.
template <output wanted, bool each, simt::product factors>
void filter_by_mma_sync(backend& place, const filter_args& args, int splits) {
  const std::int64_t blocks =
      wanted == output::halves
          ? pair_blocks{args.last_tile, args.part, 1}.count_of(args.share, args.shares)
          : std::int64_t{args.query_tiles} * splits;
  if (blocks == 0) return;  // more shares than blocks
  const auto with = [&]<class Kernel>(Kernel) {
    start<Kernel>(place, blocks, args, Kernel::max_threads, Kernel::dynamic_bytes(args.slabs));
  };
  if (args.slabs <= filter_kernel<wanted, true, each, factors>::most_slabs_that_stay) {
    with(filter_kernel<wanted, true, each, factors>{});
  } else {
    with(filter_kernel<wanted, false, each, factors>{});
  }
}

template <output wanted, bool each>
void filter_by_mma_sync(backend& place, const filter_args& args, int splits) {
  if (simt::of_bytes(args.factors)) {
    return filter_by_mma_sync<wanted, each, simt::product::int8>(place, args, splits);
  }
  if (args.factors == simt::product::bfloat16) {
    return filter_by_mma_sync<wanted, each, simt::product::bfloat16>(place, args, splits);
  }
  filter_by_mma_sync<wanted, each, simt::product::float16>(place, args, splits);
}

template <output wanted>
void filter_by_mma_sync(backend& place, const filter_args& args, int splits) {
  if constexpr (wanted == output::scored) {
    if (args.allowed.each()) return filter_by_mma_sync<wanted, true>(place, args, splits);
  }
  filter_by_mma_sync<wanted, false>(place, args, splits);
}

}  // namespace

int filter_compiled_for([[maybe_unused]] const device& place) {
#if defined(__CUDACC__)
  if (place.kind == executor_kind::cuda) {
    return simt::compiled_for<filter_kernel<output::scored, true, false>>(place);
  }
#endif
  return 0;
}

bool wgmma_is_built() { return KSELECT_HAS_WGMMA != 0; }

void filter(backend& place, output wanted, const filter_args& args, int splits, product_body body) {
  if (body == product_body::wgmma) {
    refuse_others_by_wgmma(args);
#if KSELECT_HAS_WGMMA
    return require(filter_by_wgmma(place.executor(), wanted, args, splits));
#else
    refuse_wgmma();
#endif
  }
  if (body == product_body::wgmma_slabs && has_by_slabs(wanted, args)) {
#if KSELECT_HAS_WGMMA
    return require(filter_by_slabs(place.executor(), wanted, args, splits));
#else
    refuse_wgmma();
#endif
  }
  switch (wanted) {
    case output::matrix:
      return filter_by_mma_sync<output::matrix>(place, args, splits);
    case output::maxima:
      return filter_by_mma_sync<output::maxima>(place, args, splits);
    case output::scored:
      return filter_by_mma_sync<output::scored>(place, args, splits);
    case output::halves:
      return filter_by_mma_sync<output::halves>(place, args, splits);
  }
}

void filter_pairs(backend& place, const filter_args& args, product_body body) {
  filter(place, output::halves, args, 1, body);
}

}  // namespace kselect::search::fused
