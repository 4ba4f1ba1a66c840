// Threads share the rows by blocks of one row. The split does not show: Philox has no state.

#include "harness/workload/rows.hpp"

#include <algorithm>
#include <cstring>

#include "harness/workload/generator.hpp"

namespace kselect::harness {
namespace {

// Columns per task, a multiple of every generator's lanes.
constexpr std::int64_t task_columns = 1 << 14;

template <class T>
void fill_columns(const workload& p, const generator<T>& make, std::int64_t first_row,
                  std::int64_t row, std::int64_t first, T* out) {
  constexpr std::int64_t lanes = generator<T>::lanes;
  const std::int64_t last = std::min(first + task_columns, p.n);
  for (std::int64_t column = first; column < last; column += lanes) {
    T block[lanes];
    make.block(first_row + row, column / lanes, block);
    const std::int64_t count = std::min(lanes, last - column);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      out[p.offset(row, column + lane)] = block[lane];
    }
  }
}

}  // namespace

void generate_rows(const workload& p, std::span<std::byte> out, int threads,
                   std::int64_t first_row) {
  if (p.q == 0 || p.n == 0) return;
  const std::int64_t dense = p.layout == layout::row_major ? p.n : p.q;
  if (p.effective_pitch() != dense) std::memset(out.data(), 0xa5, out.size());
  visit_number(p.type, [&]<class T>(T) {
    const generator<T> make(p.distribution, p.seed, p.n, p.k);
    T* const data = reinterpret_cast<T*>(out.data());
    const std::int64_t tasks_per_row = (p.n + task_columns - 1) / task_columns;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
    for (std::int64_t task = 0; task < p.q * tasks_per_row; ++task) {
      fill_columns(p, make, first_row, task / tasks_per_row, task % tasks_per_row * task_columns,
                   data);
    }
  });
}

}  // namespace kselect::harness
