#pragma once
// Ordered selection: completes answers of ragged rows, and names their elements.
//
// The steps before this one take any row for one of k elements. The member fills what a short row
// lacks with the worst key, so these places are sorted last, whatever the row holds, NaNs included.
// Here they get the fill that the problem asks for. A row that wants fewer than k has its best in
// order by then, and the others are filled. Last of all a map names the elements, because ties are
// settled by positions.

#include "algorithms/ordered_select/answer.cuh"
#include "kernels/ragged_rows.cuh"

namespace kselect::ordered {

using kernels::ragged_view;

template <class T>
struct complete_args {
  ragged_view<T> matrix;
  answer_view<T> out;  // [rows][k]
  kernels::numbers_view map;
  std::int64_t map_step;  // numbers of the map from one row to the next
  bool named;             // by the map
};

template <class T>
complete_args<T> complete_args_of(const problem& p, const io& buffers) {
  complete_args<T> a;
  a.matrix = kernels::ragged_rows_of<T>(p, buffers);
  a.out = kernels::answer_in<T>(p, buffers);
  a.named = p.map != row_numbers::none;
  // How many numbers a map has is the caller's matter: as many as rows reach.
  constexpr std::int64_t any = std::int64_t{1} << 40;
  a.map = kernels::numbers_of(p.map, buffers.map, p.map_of_input ? p.input_elements() : any);
  a.map_step = p.map_of_input ? a.matrix.pitch : 0;
  return a;
}

// A thread an output.
template <class T>
struct complete_kernel {
  static constexpr int max_threads = 256;
  struct storage {};
  using args = complete_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.wait_for_previous();
    const std::int64_t step = std::int64_t{simt.blocks()} * simt.threads();
    for (std::int64_t at = std::int64_t{simt.block()} * simt.threads() + simt.thread();
         at < a.matrix.rows * a.matrix.k; at += step) {
      const std::int64_t row = at / a.matrix.k;
      const auto j = static_cast<position>(at - row * a.matrix.k);
      const auto range = kernels::range_of(simt, a.matrix, row);
      const position wanted = kernels::wanted_of(simt, a.matrix, row);
      if (j >= wanted || j >= range.length) {
        const auto one = kernels::outputs_at(simt, a.out, at, 1);
        kernels::fill_outputs(simt, a.matrix, one, 0, 1, 0, 1);
      } else if (a.named) {
        const std::int64_t first = row * a.map_step + range.start;
        const std::int64_t place = a.out.indices_32.size != 0 ? simt.load(a.out.indices_32, at)
                                                              : simt.load(a.out.indices_64, at);
        kernels::store_index(simt, a.out, at, kernels::number_at(simt, a.map, first + place));
      }
    }
  }
};

}  // namespace kselect::ordered
