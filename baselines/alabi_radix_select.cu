// Radix select, one row at a time: Alabi, Blanchard, Gordon & Steinbach, "Fast k-Selection
// Algorithms for Graphics Processing Units", J. Exp. Algorithmics 17, 2012, as Komarov et al. (Fig.
// 8 in PLOS ONE, 7 in the preprint) measured it. The whole card works on one row, and the host
// launches the rows in a loop.
//
//   alabi-radix         the k-th element alone, as published
//   alabi-radix+gather  the k smallest, with positions if wanted: the passes write them as they
//                       narrow the row down, for a fair comparison with selections of k
//
// Cost: one launch a digit and two more for every row, so launches dominate for short rows. The row
// is read two or three times. This is the grid form of radix_select.cu, which explains the passes.
//
// Deviations, each of which makes it faster: the original returns to the host for the counts of
// each digit, here they stay on the device; it moves the survivors of every pass, here only few
// survivors are moved; digits have 11 bits. Keys are those of order.hpp, so NaN and both zeros are
// ordered.
//
// Our tuning (bin_counts.cuh): blocks of 512 threads, or +t128 and +t256; about 1024 threads a
// multiprocessor; at least 16 elements a thread.
//
// Entries: alabi-radix

#include "baselines/radix_select_grid.cuh"

namespace kselect::radix {
namespace {

inline constexpr int digit_bits = 11;

template <class T, answer what>
status row_after_row(const grid_shape& shape, const problem& p, const io& buffers,
                     std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  const grid_memory<T> w = carve_grid<T, digit_bits>(p, 1, pieces);
  status done;
  for (std::int64_t row = 0; done.ok() && row < p.q; ++row) {
    done = select_on_grid<T, digit_bits, what>(kernels::one_row_of<T>(p, buffers, row),
                                               kernels::one_answer_in<T>(p, buffers, row), w, shape,
                                               on);
  }
  return done;
}

template <int wanted_threads>
call_plan plan_for(const problem& p, const device& where) {
  return kernels::visit_answer(p, [&]<class T, answer what>() {
    simt::carver sizes(nullptr);
    carve_grid<T, digit_bits>(p, 1, sizes);
    return call_plan::of<&row_after_row<T, what>>(p, sizes.used(),
                                                  grid_shape_of(p, 1, where, wanted_threads));
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name, enum_set<payload> payloads) {
  algorithm a =
      kernels::gpu_entry(name, "radix select (one row)", "Alabi et al. 2012, radix select");
  a.payloads = payloads;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("alabi-radix", kernels::kth_alone),
    entry<128>("alabi-radix+t128", kernels::kth_alone),
    entry<256>("alabi-radix+t256", kernels::kth_alone),
    entry<0>("alabi-radix+gather", kernels::k_smallest),
    entry<128>("alabi-radix+gather+t128", kernels::k_smallest),
    entry<256>("alabi-radix+gather+t256", kernels::k_smallest),
};

}  // namespace
}  // namespace kselect::radix

namespace kselect::entries {

std::span<const algorithm> alabi_radix_select() { return radix::variants; }

}  // namespace kselect::entries
