// The filter by wgmma: products of 64 x 128 scores by a warp group, from registers and shared
// memory.
//
// A piece of the work is 256 queries and one part of the corpus, which a block multiplies a tile of
// 128 vectors at a time. A multiprocessor has one block, which takes pieces in turns (pieces.cuh).
//
// A block has three warp groups. A thread of the last one brings tiles and their starts by bulk
// copies into a ring of buffers. The other two take 128 queries each, which stay in registers as
// fragments, and both multiply them with every tile, so shared memory serves the corpus alone. They
// take turns, so that one filters while the other multiplies. Most registers go to them.
//
// Per thread: 64 registers of queries (2 times 64 rows, 128 components), 128 sums. A third slab of
// components would not fit; filter_slabs_wgmma.cu multiplies longer vectors.
//
// Of a graph whose pairs are multiplied once (half_pairs.cuh) the ring brings limits of columns,
// too, and each group collects hits in shared memory of its own.

#include <cstddef>
#include <limits>
#include <type_traits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/filter_wgmma.hpp"
#include "search/knn/fused/pieces.cuh"
#include "search/knn/fused/ring.cuh"
#include "search/knn/fused/wgmma_pairs.cuh"
#include "search/knn/fused/wgmma_survivors.cuh"

namespace kselect::search::fused {
namespace {

using hopper::best_of;
using hopper::block_rows;
using hopper::columns_of_thread;
using hopper::consumers;
using hopper::group_threads;
using hopper::row_halves;
using hopper::share;
using hopper::shared_address;

// 3 * 128 threads begin with 168 registers each (65536 / 384, rounded down to a multiple of 8).
constexpr int registers_of_producer = 24, registers_of_consumer = 240;
static_assert(registers_of_producer + consumers * registers_of_consumer <= 3 * 168);
constexpr int first_turn = 1;                      // named barriers: one for each consumer,
constexpr int first_own = first_turn + consumers;  // and one for each consumer's own threads

// `each`: queries differ in what they leave out.
template <output wanted, int slabs, bool each>
struct wgmma_kernel {
  static_assert(wanted != output::matrix && slabs <= most_slabs_of_wgmma);
  static_assert(!each || wanted == output::scored);
  static constexpr bool halves = wanted == output::halves;
  static constexpr bool compares = wanted == output::scored || halves;
  static constexpr int max_threads = group_threads * (consumers + 1);
  static constexpr int min_blocks = 1;
  static constexpr int steps = slabs * slab_width / 16;  // products of 16 components
  using buffers = hopper::ring<slabs, halves>;
  using position = hopper::cursor<buffers::stages>;
  using pieces = hopper::pieces_of_block<!halves>;
  struct row_counters {
    std::uint32_t found[block_rows];
  };
  struct hits_of_groups {
    hopper::group_hits of[consumers];
  };
  using storage = std::conditional_t<halves, hits_of_groups, row_counters>;
  using args = filter_args;

  template <class Simt>
  __device__ static void run(Simt& simt, storage& shared, const args& a) {
    const buffers memory(simt.dynamic_shared());
    const share first(a, simt.block(), halves);
    const int thread = simt.thread(), group = thread / group_threads;
    if constexpr (halves) {
      if (thread < consumers) shared.of[thread].count = 0;
    } else {
      if (thread < block_rows) shared.found[thread] = 0;
    }
    if (thread == 0) hopper::init_stages(memory, first.active * group_threads);
    if constexpr (!compares) zero_counters(simt, a);
    __syncthreads();
    if (group == consumers) {
      hopper::leave_registers<registers_of_producer>();
      if (thread % group_threads == 0) produce(simt, memory, first, a);
    } else {
      hopper::take_registers<registers_of_consumer>();
      if (group < first.active) {
        const member own{group, thread % group_threads, first.active == consumers};
        consume(simt, memory, first, a, shared, own);
      }
    }
  }

 private:
  template <class Simt>
  __device__ static void produce(const Simt& simt, const buffers& memory, share own,
                                 const args& a) {
    position at;
    for (pieces turn(simt, a);; own = share(a, turn.next(), halves)) {
      for (int i = 0; i < own.tiles; ++i, at.next()) bring(memory, at, a, own.first_tile + i);
      if (turn.is_last()) return;
    }
  }
  __device__ __forceinline__ static void bring(const buffers& memory, const position& at,
                                               const args& a, std::int64_t tile) {
    const auto* const tiles = reinterpret_cast<const char*>(a.corpus.slabs.data);
    hopper::wait(memory.empty(at.stage), at.parity ^ 1);
    const shared_address full = memory.full(at.stage);
    hopper::expect_bytes(full, buffers::tile_bytes + buffers::start_bytes);
    hopper::copy_bulk(memory.tile(at.stage), tiles + tile * buffers::tile_bytes,
                      buffers::tile_bytes, full);
    hopper::copy_bulk(memory.starts(at.stage), a.starts.data + tile * tile_rows,
                      buffers::numbers_bytes, full);
    if constexpr (halves) {
      hopper::copy_bulk(memory.limits(at.stage), a.thresholds.data + tile * tile_rows,
                        buffers::numbers_bytes, full);
    }
  }

  // What a thread of a consumer holds: fragments of its queries and their thresholds, or bounds of
  // a graph's, or the maxima of a group of tiles so far.
  struct queries {
    std::uint32_t fragments[row_halves][steps][4];
    float limits[row_halves][2];
  };
  // Of a row that is not there no score passes; maxima begin below all scores.
  static constexpr float limit_without =
      compares ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();

  // `row`: the thread's first row in the tile of queries. Of a tile that is not there, beside the
  // last one, nothing passes, whatever is multiplied.
  __device__ __forceinline__ static void load(queries& q, const args& a, int tile, int row,
                                              int lane) {
    const auto* const words =
        reinterpret_cast<const std::uint32_t*>(a.queries.slabs.data) +
        std::int64_t{min(tile, a.query_tiles - 1)} * slabs * slab_vectors * 4 + lane % 4;
#pragma unroll
    for (int m = 0; m < row_halves; ++m) {
#pragma unroll
      for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const int place =
              k / 4 * slab_vectors + place_in_slab(row + 64 * m + r % 2 * 8, k % 4 * 2 + r / 2);
          q.fragments[m][k][r] = __ldg(words + 4 * place);
        }
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::int64_t query = std::int64_t{tile} * tile_rows + row + 64 * m + 8 * h;
        const bool filtered = compares && query < a.rows;
        const float* const from = halves ? a.bounds.data : a.thresholds.data;
        q.limits[m][h] = filtered ? __ldg(from + query) : limit_without;
      }
    }
  }

  // A thread of a consumer. `turns`: both groups have queries.
  struct member {
    int group, thread;
    bool turns;
    __device__ int lane() const { return thread % 32; }
    __device__ int row() const { return thread / 32 * 16 + lane() / 4; }  // its first of 128
  };

  template <class Simt>
  __device__ __forceinline__ static void consume(Simt& simt, const buffers& memory, share own,
                                                 const args& a, storage& shared, const member& of) {
    if (of.turns && of.group == 1) {
      hopper::arrive_named(first_turn, consumers * group_threads);
    }
    position at;
    for (pieces turn(simt, a);; own = share(a, turn.next(), halves)) {
      queries q;
      load(q, a, own.first_query_tile + of.group, of.row(), of.lane());
      for (int i = 0; i < own.tiles; ++i, at.next()) {
        hopper::group_sums sums;
        const bool last_turn = i + 1 == own.tiles && turn.is_last();
        products(sums, q, memory, at, own, a, of, last_turn);
        take(simt, sums, q, memory, at.stage, own, i, a, shared, of);
      }
      if constexpr (wanted == output::scored) store_counts(own, a, shared, of);
      if (turn.is_last()) break;
    }
    if constexpr (halves) {
      hopper::sync_named(first_own + of.group, group_threads);
      shared.of[of.group].flush(simt, a.lists, of.thread, group_threads);
    }
  }

  // The group's products with the tile in a stage, in its turn.
  __device__ __forceinline__ static void products(hopper::group_sums& sums, const queries& q,
                                                  const buffers& memory, const position& at,
                                                  const share& own, const args& a, const member& of,
                                                  bool last_turn) {
    hopper::wait(memory.full(at.stage), at.parity);
    start(sums, memory.starts(at.stage) + of.lane() % 4 * 8,
          a.starts.data + std::int64_t{own.first_query_tile + of.group} * tile_rows + of.row());
    if (of.turns) hopper::sync_named(first_turn + of.group, consumers * group_threads);
    multiply(sums, q, memory.tile(at.stage));
    // The last turn of all has no successor.
    if (of.turns && (of.group == 0 || !last_turn)) {
      hopper::arrive_named(first_turn + 1 - of.group, consumers * group_threads);
    }
    hopper::wait_products();
    hopper::hold(sums[0]);
    hopper::hold(sums[1]);
  }

  // What is wanted of tile i of a part.
  template <class Simt>
  __device__ __forceinline__ static void take(Simt& simt, const hopper::group_sums& sums,
                                              queries& q, const buffers& memory, int stage,
                                              const share& own, int i, const args& a,
                                              storage& shared, const member& of) {
    const int query_tile = own.first_query_tile + of.group, tile = own.first_tile + i;
    const int first_column = tile * tile_rows + of.lane() % 4 * 2;
    if constexpr (halves) {
      const hopper::pair_tile<Simt> pairs{simt,
                                          shared.of[of.group],
                                          a,
                                          query_tile * tile_rows + of.row(),
                                          first_column,
                                          memory.limits(stage) + of.lane() % 4 * 8};
      pairs.emit(sums, q.limits, tile - query_tile);
    }
    hopper::arrive(memory.empty(stage));
    if constexpr (wanted == output::maxima) {
      raise(sums, q);
      if ((i + 1) % a.group == 0 || i + 1 == own.tiles) {
        write_maxima(q, a, query_tile, of.row(), (tile - a.first_tile) / a.group);
      }
    } else if constexpr (!halves) {
      const hopper::tile_survivors<each> to{a, shared.found + of.group * tile_rows,
                                            std::int64_t{query_tile} * tile_rows, own.part,
                                            first_column};
      to.emit(sums, q.limits, of.row());
    }
  }

  // Of a piece, when the group has met all of its tiles. The counters begin again.
  __device__ static void store_counts(const share& own, const args& a, storage& shared,
                                      const member& of) {
    hopper::sync_named(first_own + of.group, group_threads);
    const int query_tile = own.first_query_tile + of.group;
    std::uint32_t& found = shared.found[of.group * tile_rows + of.thread];
    if (query_tile < a.query_tiles) {
      const std::int64_t row = std::int64_t{query_tile} * tile_rows + of.thread;
      a.lists.counts.data[row * a.lists.splits + own.part] = found;
    }
    found = 0;
    hopper::sync_named(first_own + of.group, group_threads);
  }

  // Sums begin with the starts of their columns; those of a graph's pairs with both vectors'.
  // `from`: the starts of the thread's first columns; `rows`: and of its first row.
  __device__ __forceinline__ static void start(hopper::group_sums& sums, shared_address from,
                                               const float* rows) {
    float of_row[row_halves][2] = {};
    if constexpr (halves) {
#pragma unroll
      for (int r = 0; r < 2 * row_halves; ++r) {
        of_row[r / 2][r % 2] = __ldg(rows + 64 * (r / 2) + 8 * (r % 2));
      }
    }
#pragma unroll
    for (int j = 0; j < columns_of_thread / 2; ++j) {
      const float2 both = hopper::load_two(from + j * 8 * sizeof(float));
#pragma unroll
      for (int r = 0; r < 2 * row_halves; ++r) {
        const int at = 4 * j + 2 * (r % 2);
        sums[r / 2][at] = halves ? of_row[r / 2][r % 2] + both.x : both.x;
        sums[r / 2][at + 1] = halves ? of_row[r / 2][r % 2] + both.y : both.y;
      }
    }
    hopper::hold(sums[0]);
    hopper::hold(sums[1]);
  }

  // Begins the products with a tile.
  __device__ __forceinline__ static void multiply(hopper::group_sums& sums, const queries& q,
                                                  shared_address tile) {
    hopper::begin_products();
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      const auto slab = static_cast<std::uint32_t>(k / 4 * slab_bytes);
      const std::uint64_t columns = hopper::descriptor_of(tile + slab + k % 4 * 32);
      hopper::multiply_add(sums[0], q.fragments[0][k], columns);
      hopper::multiply_add(sums[1], q.fragments[1][k], columns);
    }
    hopper::commit_products();
  }

  __device__ __forceinline__ static void raise(const hopper::group_sums& sums, queries& q) {
#pragma unroll
    for (int m = 0; m < row_halves; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) q.limits[m][h] = fmaxf(q.limits[m][h], best_of(sums[m], h));
    }
  }

  // The maxima of a group of tiles: a thread has one of each of its rows.
  __device__ __forceinline__ static void write_maxima(queries& q, const args& a, int query_tile,
                                                      int row, int number) {
    static_assert(maxima_of_tile == 4, "lanes that hold a row");
    if (query_tile >= a.query_tiles) return;
    asm volatile("" : "+r"(row));  // computed here, as in tile_survivors
    float* const to = a.matrix.data +
                      (std::int64_t{query_tile} * tile_rows + row) * a.matrix_pitch +
                      std::int64_t{number} * maxima_of_tile + threadIdx.x % 4;
#pragma unroll
    for (int m = 0; m < row_halves; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        to[(64 * m + 8 * h) * a.matrix_pitch] = q.limits[m][h];
        q.limits[m][h] = limit_without;
      }
    }
  }
};

template <output wanted, int slabs, bool each>
status launch(const executor& where, filter_args args, int splits) {
  using kernel = wgmma_kernel<wanted, slabs, each>;
  // Pieces of pairs have one or two tiles of queries, and the readers of a block's ring are fixed.
  const std::int64_t blocks_of_part = (args.query_tiles + consumers - 1) / consumers;
  const std::int64_t pieces =
      kernel::halves
          ? pair_blocks{args.last_tile, args.part, consumers}.count_of(args.share, args.shares)
          : blocks_of_part * splits;
  if (pieces == 0) return {};  // more shares than blocks
  args.pieces = static_cast<int>(pieces);
  const std::int64_t blocks = kernel::halves ? pieces : blocks_that_take(pieces, *where.device);
  return simt::launch<kernel, simt::launched_on::cuda>(
      where, {blocks, kernel::max_threads, kernel::buffers::bytes}, args);
}

template <output wanted, bool each>
status launch(const executor& where, const filter_args& args, int splits) {
  return args.slabs == 1 ? launch<wanted, 1, each>(where, args, splits)
                         : launch<wanted, 2, each>(where, args, splits);
}

}  // namespace

status filter_by_wgmma(const executor& where, output wanted, const filter_args& args, int splits) {
  if (const std::string reason = why_not_wgmma(*where.device, args.slabs); !reason.empty()) {
    return {status_code::unsupported, reason};
  }
  if (wanted == output::matrix) {
    return {status_code::unsupported, "wgmma filters only; a matrix of scores is by mma.sync"};
  }
  if (wanted == output::maxima) return launch<output::maxima, false>(where, args, splits);
  if (wanted == output::halves) return launch<output::halves, false>(where, args, splits);
  return args.allowed.each() ? launch<output::scored, true>(where, args, splits)
                             : launch<output::scored, false>(where, args, splits);
}

}  // namespace kselect::search::fused
