// Batched radix select: all rows at once, digits of 8 or 11 bits, with a buffer of survivors.
//
// Alabi et al. 2012 select from one row. This is today's form of radix selection (Zhang et al.,
// "Parallel Top-K Algorithms on GPU", SC 2023, in RAFT and CUB), our own implementation:
//
//   radix-select+block  one block a row, all passes in one launch, counts and candidates in shared
//                       memory: no workspace
//   radix-select+grid   several blocks a row, one launch a pass (radix_select_grid.cuh):
//                       for few long rows
//   radix-select        chooses between the two by the shape
//   +8bit, +11bit       the digit; default: by the row's length
// Ragged rows take one block each.
//
// Cost: the row is read at least twice, first to count, then to write and to keep candidates. With
// 11-bit digits it is read a third time if more elements than the buffer takes share the k-th key's
// first digit. It stops early once all remaining elements are wanted. Shared memory: 4 bytes a bin,
// up to 4096 candidates. k is not limited.
//
// The authors' tuning that we kept: 11-bit digits, no buffer if it would save nothing, no return to
// the host. Our tuning: 16-byte loads, four in flight; candidates in shared memory; 8-bit digits
// for rows so short that clearing and searching 2048 bins would cost more than reading them again.
//
// Entries: radix-select

#include <algorithm>

#include "baselines/radix_select.cuh"
#include "baselines/radix_select_grid.cuh"
#include "kernels/ragged_rows.cuh"
#include "kselect/simt/device_size.hpp"

namespace kselect::radix {
namespace {

enum class form : std::uint8_t { automatic, block, grid };

struct variant {
  form how;
  int bits;  // of a digit; 0: by the row's length
};

// ---- a row a block

struct block_counters {
  std::uint32_t written, tied, kept;
};

template <class Key>
struct block_sink {
  block_counters& counters;
  Key* keys;            // in dynamic shared memory
  position* positions;  // null unless pairs are wanted

  template <class Simt>
  KSELECT_HD position next_written(Simt& simt) {
    return simt.atomic_add(counters.written, 1U);
  }
  template <class Simt>
  KSELECT_HD position next_tied(Simt& simt) {
    return simt.atomic_add(counters.tied, 1U);
  }
  template <class Simt>
  KSELECT_HD position next_kept(Simt& simt) {
    return simt.atomic_add(counters.kept, 1U);
  }
  template <class Simt>
  KSELECT_HD void keep(Simt&, position place, Key k, position at) {
    keys[place] = k;
    if (positions != nullptr) positions[place] = at;
  }
  template <class Simt>
  KSELECT_HD Key key_at(Simt&, position i) const {
    return keys[i];
  }
  template <class Simt>
  KSELECT_HD position position_at(Simt&, position i) const {
    return positions != nullptr ? positions[i] : 0;
  }
};

// `Rows`: rows_view or ragged_view.
template <class T, int bits, answer what, class Rows>
struct block_form {
  static constexpr int max_threads = 512;
  static constexpr int min_blocks = sizeof(T) == 4 ? 3 : 2;  // as registers allow
  using key = order_key_t<T>;

  struct storage {
    bin_storage<bits> digits;
    block_counters counters;
  };
  struct args {
    Rows matrix;
    answer_view<T> out;
    position capacity;  // candidates that fit in dynamic shared memory
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const keys = static_cast<key*>(simt.dynamic_shared());
    auto* const positions =
        what == answer::pairs ? reinterpret_cast<position*>(keys + a.capacity) : nullptr;
    block_sink<key> sink{shared.counters, keys, positions};
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      if (simt.thread() == 0) shared.counters = {};
      if constexpr (std::is_same_v<Rows, rows_view<T>>) {
        pass_over<T, bits, what, Simt, block_sink<key>> pass(simt, shared.digits, sink, a.matrix,
                                                             a.out, row, a.capacity);
        select(simt, shared, a, a.matrix, pass);
      } else {
        select_ragged(simt, shared, a, sink, row);
      }
      simt.sync_block();  // the next row uses the same storage
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static void select_ragged(Simt& simt, storage& shared, const args& a,
                                       block_sink<key>& sink, std::int64_t row) {
    const auto thread = static_cast<position>(simt.thread());
    const auto threads = static_cast<position>(simt.threads());
    const auto elements = kernels::row_at(simt, a.matrix, row);
    const auto length = static_cast<position>(elements.size);
    const position k = kernels::wanted_of(simt, a.matrix, row);
    const auto out = kernels::outputs_at(simt, a.out, row * a.matrix.k, a.matrix.k);
    kernels::fill_outputs(simt, a.matrix, out, k < length ? k : length, a.matrix.k, thread,
                          threads);
    if (length <= k) {
      kernels::write_elements(simt, elements, out, thread, threads);
    } else if (k != 0) {
      const rows_view<T> alone{elements, 1, length, length, k, a.matrix.wanted};
      pass_over<T, bits, what, Simt, block_sink<key>> pass(simt, shared.digits, sink, alone, out, 0,
                                                           a.capacity);
      select(simt, shared, a, alone, pass);
    }
  }

  template <class Simt, class Pass>
  KSELECT_HD static void select(Simt& simt, storage& shared, const args& a,
                                const rows_view<T>& matrix, Pass& pass) {
    state<key> s = initial_state<key>(matrix.n, matrix.k);
    for (int number = 0;; ++number) {
      clear_bins(simt, shared.digits);
      simt.sync_block();
      pass.run(s, number, static_cast<position>(simt.thread()),
               static_cast<position>(simt.threads()));
      if (settled<what>(s)) return;
      simt.sync_block();
      find_bin(simt, shared.digits, s.wanted);
      s = advanced(s, shared.digits, number, a.capacity);
      simt.sync_block();  // the next pass overwrites the found bin
    }
  }
};

template <class T, int bits, answer what>
struct block_kernel : block_form<T, bits, what, rows_view<T>> {};
template <class T, answer what>
struct ragged_block_kernel : block_form<T, 11, what, kernels::ragged_view<T>> {};

// ---- shapes

inline constexpr std::int64_t short_row = 4096;

int bits_of(const variant& v, const problem& p) {
  if (v.bits != 0) return v.bits;
  return p.n <= short_row ? 8 : 11;
}

// Threads of the block form: at least 16 elements each, or the passes' fixed cost dominates.
int block_threads(const problem& p, const device& where) {
  const std::int64_t most = simt::block_threads(where, 512);
  std::int64_t threads = 64;
  while (threads < most && threads * 16 < p.n) threads *= 2;
  return static_cast<int>(threads);
}

// Whether to use several blocks a row: if rows are too few to fill the card, and long enough to pay
// for a launch a pass.
bool on_grid(const variant& v, const problem& p, const device& where) {
  if (v.how != form::automatic) return v.how == form::grid;
  return p.q < std::int64_t{2} * where.multiprocessors && p.n > simt::long_row(where);
}

position block_capacity(const problem& p) {
  constexpr std::int64_t most = 4096;  // 32 KiB of float32 pairs: four blocks of 512 threads fit
  return static_cast<position>(std::clamp<std::int64_t>(p.n / 4, 32, most));
}

struct block_shape {
  int threads;
  position capacity;
};

template <class T, int bits, answer what>
status start_blocks(const block_shape& shape, const problem& p, const io& buffers,
                    std::span<std::byte>, const executor& on) {
  const std::size_t candidate =
      sizeof(order_key_t<T>) + (what == answer::pairs ? sizeof(position) : 0);
  // Rows are cheap to start, so the hardware's scheduler balances them.
  const std::int64_t blocks = std::min<std::int64_t>(p.q, 1 << 24);
  return simt::launch<block_kernel<T, bits, what>>(
      on, {blocks, shape.threads, shape.capacity * candidate},
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), shape.capacity});
}

template <class T, answer what>
status start_ragged(const block_shape& shape, const problem& p, const io& buffers,
                    std::span<std::byte>, const executor& on) {
  const std::size_t candidate =
      sizeof(order_key_t<T>) + (what == answer::pairs ? sizeof(position) : 0);
  return simt::launch<ragged_block_kernel<T, what>>(
      on, {std::min<std::int64_t>(p.q, 1 << 24), shape.threads, shape.capacity * candidate},
      {kernels::ragged_rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), shape.capacity});
}

template <class T, int bits, answer what>
status start_grid(const grid_shape& shape, const problem& p, const io& buffers,
                  std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  return select_on_grid<T, bits, what>(kernels::rows_of<T>(p, buffers),
                                       kernels::answer_in<T>(p, buffers),
                                       carve_grid<T, bits>(p, p.q, pieces), shape, on);
}

// ---- the interface

// Calls f.template operator()<bits>().
template <class F>
decltype(auto) visit_bits(int bits, F&& f) {
  return bits == 8 ? f.template operator()<8>() : f.template operator()<11>();
}

call_plan ragged_plan(const problem& p, const device& where) {
  const block_shape shape{block_threads(p, where), block_capacity(p)};
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    return call_plan::of<&start_ragged<T, what>>(p, 0, shape);
  });
}

template <variant v>
call_plan plan_for(const problem& p, const device& where) {
  if (p.ragged()) return ragged_plan(p, where);
  return kernels::visit_answer(p, [&]<class T, answer what>() {
    return visit_bits(bits_of(v, p), [&]<int bits>() {
      if (!on_grid(v, p, where)) {
        const block_shape shape{block_threads(p, where), block_capacity(p)};
        return call_plan::of<&start_blocks<T, bits, what>>(p, 0, shape);
      }
      simt::carver sizes(nullptr);
      carve_grid<T, bits>(p, p.q, sizes);
      return call_plan::of<&start_grid<T, bits, what>>(p, sizes.used(),
                                                       grid_shape_of(p, p.q, where));
    });
  });
}

template <variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(
      name, "radix select", "Alabi et al. 2012, batched as in Zhang et al. 2023 (AIR Top-K)");
  a.payloads = set_of(payload::values, payload::values_and_indices, payload::kth_value);
  if (v.how == form::automatic && v.bits == 0) a.ragged = a.executors;
  a.plan = &plan_for<v>;
  return a;
}

constexpr std::array variants = {
    entry<variant{form::automatic, 0}>("radix-select"),
    entry<variant{form::automatic, 8}>("radix-select+8bit"),
    entry<variant{form::automatic, 11}>("radix-select+11bit"),
    entry<variant{form::block, 0}>("radix-select+block"),
    entry<variant{form::grid, 0}>("radix-select+grid"),
};

}  // namespace
}  // namespace kselect::radix

namespace kselect::entries {

std::span<const algorithm> radix_select() { return radix::variants; }

}  // namespace kselect::entries
