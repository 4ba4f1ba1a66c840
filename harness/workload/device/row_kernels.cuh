#pragma once
// The kernel of rows_on_device.hpp.

#include <bit>
#include <cstdint>

#include "harness/workload/generator.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::harness {

// Writes element (row, column) to row * row_step + column * column_step. A thread makes one Philox
// block of elements at a time. In either layout, neighbouring threads write neighbouring memory.
template <class T>
struct generate_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using bits = order_key_t<T>;
  struct args {
    generator<T> make;
    simt::global<bits> out;
    std::int64_t rows, columns, row_step, column_step;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    constexpr std::int64_t lanes = generator<T>::lanes;
    const std::int64_t blocks = (a.columns + lanes - 1) / lanes;
    const bool along_rows = a.column_step == 1;
    const std::int64_t stride = std::int64_t{simt.blocks()} * simt.threads();
    std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    for (; i < a.rows * blocks; i += stride) {
      const std::int64_t row = along_rows ? i / blocks : i % a.rows;
      const std::int64_t block = along_rows ? i % blocks : i / a.rows;
      T made[lanes];
      a.make.block(row, block, made);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t column = block * lanes + lane;
        if (column >= a.columns) break;
        simt.store(a.out, row * a.row_step + column * a.column_step,
                   std::bit_cast<bits>(made[lane]));
      }
    }
  }
};

}  // namespace kselect::harness
