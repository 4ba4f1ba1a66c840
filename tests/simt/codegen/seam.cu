// The kernel of hand.cu, written with the verbs. -DPLANTED adds work that hand.cu lacks, so that a
// test can see check.py fail.

#include "kselect/simt/launch.hpp"

namespace seam {

struct filter {
  struct storage {
    int counts[32];
  };
  struct args {
    kselect::simt::global<const float> in;
    kselect::simt::global<float> out;
    kselect::simt::global<int> total;
    float pivot;
  };
  static constexpr int max_threads = 256;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t start = std::int64_t{simt.block()} * 1024;
    const auto row = simt.slice(a.in, start, 1024);
    simt.let_next_start();
    simt.wait_for_previous();
    const auto four = simt.load(kselect::simt::as_vec<4>(row), simt.thread());
    const bool wanted = four[0] < a.pivot;
    const std::uint32_t votes = simt.ballot(kselect::simt::full_mask, wanted);
    int sum = (four[1] < a.pivot) + (four[2] < a.pivot) + (four[3] < a.pivot);
    for (int distance = 16; distance > 0; distance /= 2) {
      sum += simt.shfl_xor(kselect::simt::full_mask, sum, distance);
    }
#if defined(PLANTED)
    sum += simt.shfl_xor(kselect::simt::full_mask, sum, 1);
#endif
    if (simt.lane() == 0) shared.counts[simt.warp()] = simt.popc(votes) + sum;
    simt.sync_block();
    simt.count(kselect::simt::counter::candidates, sum);
    if (wanted) {
      simt.store(a.out, start + 32 * simt.warp() + simt.popc(votes & simt.lanemask_lt()), four[0]);
    }
    if (simt.thread() == 0) simt.atomic_add(a.total, 0, shared.counts[0]);
  }
};

kselect::status launch_filter(const kselect::executor& where, const filter::args& a) {
  return kselect::simt::launch<filter>(where, {64, 256}, a);
}

}  // namespace seam
