#include <algorithm>

#include "harness/verify/device/words.hpp"
#include "harness/workload/device/row_kernels.cuh"
#include "harness/workload/device/rows_on_device.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

void generate_rows(backend& place, const workload& p, std::byte* out) {
  if (p.q == 0 || p.n == 0) return;
  const bool by_row = p.layout == layout::row_major;
  const std::int64_t pitch = p.effective_pitch();
  if (pitch != (by_row ? p.n : p.q)) fill_words(place, out, p.input_bytes(), 0xa5a5a5a5U);
  visit_number(p.type, [&]<class T>(T) {
    using kernel = generate_kernel<T>;
    constexpr std::int64_t threads = kernel::max_threads, most_blocks = 1 << 13;
    const std::int64_t each = threads * generator<T>::lanes;
    const simt::grid grid{
        .blocks = std::clamp((p.q * p.n + each - 1) / each, std::int64_t{1}, most_blocks),
        .threads = static_cast<int>(threads)};
    const status done = simt::launch<kernel>(
        place.executor(), grid,
        {.make = generator<T>(p.distribution, p.seed, p.n, p.k),
         .out = {reinterpret_cast<typename kernel::bits*>(out), p.input_elements()},
         .rows = p.q,
         .columns = p.n,
         .row_step = by_row ? pitch : 1,
         .column_step = by_row ? 1 : pitch});
    if (!done.ok()) throw error(failure::unsupported, done.message);
  });
}

}  // namespace kselect::harness
