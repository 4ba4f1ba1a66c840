#pragma once
// Many short rows: how a row lies in the registers of its team, how an answer is written, and the
// launch.

#include <bit>
#include <cstdint>

#include "algorithms/short_rows/network.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::short_rows {

using kernels::position;

// Rows: as many elements as the registers of the largest team hold.
constexpr std::int64_t longest(dtype type) { return size_of(type) == 2 ? 1024 : 512; }
inline constexpr int warps_of_block = 4;

template <class T>
struct kernel_args {
  kernels::rows_view<T> matrix;
  kernels::answer_view<T> out;
  bool by_vectors;  // each row begins at a multiple of 16 bytes and ends at one
  bool whole_runs;  // an answer is as long as the kernel's list, and begins where vectors may
  factors by = {};  // of networks
};

// A lane's share of a row: `items` elements, in vectors of 16 bytes. Neighbouring lanes of a team
// hold neighbouring vectors.
template <class T, int team, int items>
struct share_of_row {
  static constexpr int width = 16 / static_cast<int>(sizeof(T));
  static constexpr int rows_of_warp = simt::warp_size / team;
  static_assert(items % width == 0);

  std::int64_t row;
  position lane;  // of the team
  bool writes;

  // Teams without a row work on the last one and write nothing, so that a warp stays together.
  template <class Simt>
  KSELECT_HD static share_of_row of(Simt& simt, std::int64_t rows) {
    const std::int64_t warp = std::int64_t{simt.block()} * warps_of_block + simt.warp();
    const std::int64_t row = warp * rows_of_warp + simt.lane() / team;
    return {row < rows ? row : rows - 1, static_cast<position>(simt.lane() % team), row < rows};
  }

  KSELECT_HD position place(int item) const { return place(item, lane); }
  KSELECT_HD static position place(int item, position of_lane) {
    return (static_cast<position>(item / width * team) + of_lane) * width +
           static_cast<position>(item % width);
  }

  // The elements' bits, those of two 16-bit ones in a register: the earlier one is the lower half.
  static constexpr int in_register = static_cast<int>(sizeof(std::uint32_t) / sizeof(T));
  using registers = std::uint32_t[items / in_register];

  // Places beyond the row's end are read as its last ones.
  template <class Simt>
  KSELECT_HD void load(Simt& simt, const kernel_args<T>& a, registers& bits) const {
    const auto elements = kernels::row_at(simt, a.matrix, row);
    const position last = a.matrix.n - 1;
    const auto within = [&](int item) { return place(item) < last ? place(item) : last; };
    if (a.by_vectors) {
      const auto vectors = simt::as_vec<width>(elements);
      KSELECT_UNROLL for (int i = 0; i < items; i += width) {
        const auto some =
            std::bit_cast<simt::vec<std::uint32_t, 4>>(simt.load(vectors, within(i) / width));
        KSELECT_UNROLL for (int w = 0; w < 4; ++w) bits[i / in_register + w] = some[w];
      }
      return;
    }
    KSELECT_UNROLL for (int i = 0; i < items; i += in_register) {
      std::uint32_t both = 0;
      KSELECT_UNROLL for (int j = 0; j < in_register; ++j) {
        both |= std::uint32_t{simt.load(elements, within(i + j)).bits} << (16 * j);
      }
      bits[i / in_register] = both;
    }
  }
  // Calls f(item) for those beyond the row's end.
  template <class F>
  KSELECT_HD void each_missing(position n, const F& f) const {
    if (n == team * items) return;
    KSELECT_UNROLL for (int i = 0; i < items; ++i) {
      if (place(i) >= n) f(i);
    }
  }
};

template <class T, class Simt>
KSELECT_HD void write(Simt& simt, const kernel_args<T>& a, std::int64_t row, position rank,
                      order_key_t<T> key, position at) {
  const std::int64_t to = row * a.matrix.k + rank;
  simt.store(a.out.values, to, from_selection_key<T>(key, a.matrix.wanted));
  if (a.out.indices_32.size != 0 || a.out.indices_64.size != 0) {
    kernels::store_index(simt, a.out, to, at);
  }
}

// Stores value(0) to value(count - 1) from place `at` on, which is a multiple of `count`.
template <int count, class Simt, class T, class Value>
KSELECT_HD void store_run(Simt& simt, simt::global<T> to, std::int64_t at, const Value& value) {
  constexpr int most = 16 / static_cast<int>(sizeof(T)), width = count < most ? count : most;
  KSELECT_UNROLL for (int first = 0; first < count; first += width) {
    simt::vec<T, width> some;
    KSELECT_UNROLL for (int i = 0; i < width; ++i) some[i] = value(first + i);
    simt.store(simt::as_vec<width>(to), (at + first) / width, some);
  }
}

// Writes the elements of ranks `first` to first + count - 1, as far as the answer has them. Single
// stores to a sector of L2 would take as long as reading the row.
template <int count, class T, class Simt>
KSELECT_HD void write_run(Simt& simt, const kernel_args<T>& a, std::int64_t row, position first,
                          const order_key_t<T> (&keys)[count], const position (&places)[count]) {
  if (!a.whole_runs) {
    KSELECT_UNROLL for (int i = 0; i < count; ++i) {
      const position rank = first + static_cast<position>(i);
      if (rank < a.matrix.k) write(simt, a, row, rank, keys[i], places[i]);
    }
    return;
  }
  const std::int64_t to = row * a.matrix.k + first;
  store_run<count>(simt, a.out.values, to,
                   [&](int i) { return from_selection_key<T>(keys[i], a.matrix.wanted); });
  if (a.out.indices_32.size != 0) {
    store_run<count>(simt, a.out.indices_32, to,
                     [&](int i) { return static_cast<std::int32_t>(places[i]); });
  } else if (a.out.indices_64.size != 0) {
    store_run<count>(simt, a.out.indices_64, to,
                     [&](int i) { return static_cast<std::int64_t>(places[i]); });
  }
}

template <class T, class Kernel>
status start(const problem& p, const io& buffers, std::span<std::byte>, const executor& on) {
  const auto whole = [](std::uint64_t bytes) { return bytes % 16 == 0; };
  const auto begins_whole = [&](const void* at) {
    return whole(reinterpret_cast<std::uintptr_t>(at));
  };
  const auto bytes_of = [](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * sizeof(T);
  };
  kernel_args<T> a{kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), false,
                   false};
  a.by_vectors =
      begins_whole(buffers.input) && whole(bytes_of(p.effective_pitch())) && whole(bytes_of(p.n));
  a.whole_runs =
      p.k == Kernel::listed && begins_whole(buffers.values) && begins_whole(buffers.indices);
  constexpr std::int64_t rows_of_block = warps_of_block * Kernel::share::rows_of_warp;
  return simt::launch<Kernel>(on, {(p.q + rows_of_block - 1) / rows_of_block, Kernel::max_threads},
                              a);
}

}  // namespace kselect::short_rows
