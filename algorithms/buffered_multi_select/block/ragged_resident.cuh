#pragma once
// Buffered multi-select: rows of lengths of their own that a block holds whole in registers, for k
// so large a part of the longest row that a threshold would hold little back
// (steps/resident_row.cuh). A shorter row leaves some registers empty.

#include "algorithms/buffered_multi_select/block/ragged_kernel.cuh"
#include "algorithms/buffered_multi_select/steps/resident_row.cuh"

namespace kselect::bms {

// There are as many blocks as rows: the number of a block's next row would spill registers.
template <class T, int loads>
struct ragged_resident_kernel {
  static constexpr int max_threads = 1024;
  struct storage {
    team_storage<key_of<T>> team;
    team_task task;
  };
  using args = ragged_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    using team_type = ragged_team<Simt, T, false>;
    const auto memory = team_memory<T, true>::at(simt.dynamic_shared(), a.shape);
    team_type block(simt, shared.team, memory, a.shape, a, shared.task);
    narrowing<team_type> narrow(block);
    narrow.prepare();
    const std::int64_t row = simt.block();
    const position k = kernels::wanted_of(simt, a.matrix, row);
    team_task task{};
    task.from = source::row;
    task.k = k;
    task.first = row * a.matrix.k;
    if (block.thread() == 0) shared.task = task;
    const auto elements = kernels::row_at(simt, a.matrix, row);
    write_without_selection(block, a, elements, row, k);
    block.sync();  // also lets the registers of the line above go
    if (k != 0 && k < static_cast<position>(elements.size)) {
      using reader = row_reader<team_type, loads, true>;
      reader held(block, elements, a.matrix.wanted, row);
      answer<team_type> out(block, narrow, a.out, 0, k, a.matrix.wanted);
      resident_row<reader>(block, narrow, held, k).select(out);
    }
  }

 private:
  // Fills the outputs beyond k, and writes a row of at most k elements.
  template <class Team>
  KSELECT_HD static void write_without_selection(Team& block, const args& a,
                                                 simt::global<const T> elements, std::int64_t row,
                                                 position k) {
    const auto length = static_cast<position>(elements.size);
    const auto out = kernels::outputs_at(block.simt, a.out, row * a.matrix.k, a.matrix.k);
    kernels::fill_outputs(block.simt, a.matrix, out, length < k ? length : k, a.matrix.k,
                          block.thread(), block.threads());
    if (length <= k) {
      kernels::write_elements(block.simt, elements, out, block.thread(), block.threads());
    }
  }
};

}  // namespace kselect::bms
