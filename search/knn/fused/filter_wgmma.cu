// The filter by wgmma: products of 64 x 128 scores by a warp group, from registers and shared
// memory.
//
// A block multiplies 256 queries with one part of the corpus, a tile of 128 vectors at a time. It
// has three warp groups. A thread of the last one brings tiles and their starts by bulk copies into
// a ring of buffers. The other two take 128 queries each, which stay in registers as fragments, and
// both multiply them with every tile, so shared memory serves the corpus alone. They take turns, so
// that one filters while the other multiplies. Most registers go to them.
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
#include "search/knn/fused/ring.cuh"
#include "search/knn/fused/wgmma_pairs.cuh"

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
    const share own(a, simt.block(), halves);
    const int thread = simt.thread(), group = thread / group_threads;
    if constexpr (halves) {
      if (thread < consumers) shared.of[thread].count = 0;
    } else {
      if (thread < block_rows) shared.found[thread] = 0;
    }
    if (thread == 0) hopper::init_stages(memory, own.active * (group_threads / 32));
    __syncthreads();
    if (group == consumers) {
      hopper::leave_registers<registers_of_producer>();
      if (thread % group_threads == 0) produce(memory, own, a);
    } else {
      hopper::take_registers<registers_of_consumer>();
      if (group < own.active) {
        consume(simt, memory, own, a, shared, group, thread % group_threads);
      }
    }
  }

 private:
  __device__ static void produce(const buffers& memory, const share& own, const args& a) {
    const auto* const tiles = reinterpret_cast<const char*>(a.corpus.slabs.data);
    position at;
    for (int i = 0; i < own.tiles; ++i, at.next()) {
      const std::int64_t tile = own.first_tile + i;
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

  // `row`: the thread's first row in the tile of queries.
  __device__ __forceinline__ static void load(queries& q, const args& a, int tile, int row,
                                              int lane) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(a.queries.slabs.data) +
                              std::int64_t{tile} * slabs * slab_vectors * 4 + lane % 4;
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

  template <class Simt>
  __device__ __forceinline__ static void consume(Simt& simt, const buffers& memory,
                                                 const share& own, const args& a, storage& shared,
                                                 int group, int thread) {
    const int lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    const int query_tile = own.first_query_tile + group;
    const bool turns = own.active == consumers;
    queries q;
    load(q, a, query_tile, row, lane);
    if (turns && group == 1) hopper::arrive_named(first_turn, consumers * group_threads);
    position at;
    for (int i = 0; i < own.tiles; ++i, at.next()) {
      hopper::group_sums sums;
      hopper::wait(memory.full(at.stage), at.parity);
      start(sums, memory.starts(at.stage) + lane % 4 * 8,
            a.starts.data + std::int64_t{query_tile} * tile_rows + row);
      if (turns) hopper::sync_named(first_turn + group, consumers * group_threads);
      multiply(sums, q, memory.tile(at.stage));
      // The last turn of all has no successor.
      if (turns && (group == 0 || i + 1 < own.tiles)) {
        hopper::arrive_named(first_turn + 1 - group, consumers * group_threads);
      }
      hopper::wait_products();
      hopper::hold(sums[0]);
      hopper::hold(sums[1]);
      if constexpr (halves) {
        const hopper::pair_tile<Simt> tile{simt,
                                           shared.of[group],
                                           a,
                                           query_tile * tile_rows + row,
                                           (own.first_tile + i) * tile_rows + lane % 4 * 2,
                                           memory.limits(at.stage) + lane % 4 * 8};
        tile.emit(sums, q.limits, own.first_tile + i - query_tile);
        __syncwarp();  // all lanes have read the limits
      }
      if (lane == 0) hopper::arrive(memory.empty(at.stage));
      if constexpr (halves) {
        continue;
      } else if constexpr (wanted == output::maxima) {
        raise(sums, q);
        if ((i + 1) % a.group == 0 || i + 1 == own.tiles) {
          write_maxima(q, a, query_tile, row, (own.first_tile + i - a.first_tile) / a.group);
        }
      } else {
        const segment to{a,
                         shared,
                         std::int64_t{query_tile} * tile_rows,
                         own.part,
                         group * tile_rows,
                         (own.first_tile + i) * tile_rows + lane % 4 * 2};
        emit(sums, q, row, to);
      }
    }
    if constexpr (wanted == output::scored) store_counts(own, a, shared, group, thread);
    if constexpr (halves) {
      hopper::sync_named(first_own + group, group_threads);
      shared.of[group].flush(simt, a.lists, thread, group_threads);
    }
  }

  __device__ static void store_counts(const share& own, const args& a, const storage& shared,
                                      int group, int thread) {
    hopper::sync_named(first_own + group, group_threads);
    const std::int64_t row = std::int64_t{own.first_query_tile + group} * tile_rows + thread;
    a.lists.counts.data[row * a.lists.splits + own.part] = shared.found[group * tile_rows + thread];
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

  // Where survivors of a group and tile go.
  struct segment {
    const args& a;
    storage& shared;
    std::int64_t first_row;  // of the group, among all queries
    int part;
    int first_counter;   // of the group
    int first_position;  // of the thread's first column
  };

  __device__ __forceinline__ static void emit(const hopper::group_sums& sums, const queries& q,
                                              int row, const segment& to) {
#pragma unroll
    for (int m = 0; m < row_halves; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float best = best_of(sums[m], h);
        if (best > q.limits[m][h]) {
          keep(sums[m], h, q.limits[m][h], best, row + 64 * m + 8 * h, to);
        }
      }
    }
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

  // Those of the scores that passed whose vectors the row's query may return.
  __device__ __forceinline__ static std::uint32_t among(std::uint32_t passed, int row,
                                                        const segment& to) {
    const args& a = to.a;
    const std::int64_t of_row = to.first_row + row;
    const std::int64_t query =
        a.query_of.ids.data != nullptr ? a.query_of.ids.data[of_row] : a.query_of.first + of_row;
    std::uint32_t kept = 0;
#pragma unroll 1
    for (; passed != 0; passed &= passed - 1) {
      const int i = __ffs(static_cast<int>(passed)) - 1;
      const auto position = static_cast<std::uint64_t>(to.first_position + i / 2 * 8 + i % 2);
      const auto vector =
          static_cast<std::int64_t>(position * static_cast<std::uint64_t>(a.vector_of.stride) %
                                    static_cast<std::uint64_t>(a.vector_of.count));
      const std::uint32_t word = __ldg(a.allowed.words.data + a.allowed.word_of(query, vector));
      kept |= (word >> vector % 32 & 1U) << i;
    }
    return kept;
  }

  // Appends the thread's scores of a row that are beyond the limit. Bit i of the mask is of column
  // 8 (i / 2) + i % 2 after the thread's first. `best` stands for the score of each: to choose it
  // among registers would take long, and few threads keep several at once (survivor_lists).
  __device__ __forceinline__ static void keep(const hopper::sums_of_64& sums, int h, float limit,
                                              float best, int row, const segment& to) {
    std::uint32_t passed = 0;
#pragma unroll
    for (int i = 0; i < columns_of_thread; ++i) {
      passed |= (sums[i / 2 * 4 + 2 * h + i % 2] > limit ? 1U : 0U) << i;
    }
    // Computed here, in the rare branch: for all rows in advance it would not fit in the registers.
    asm volatile("" : "+r"(row));
    if constexpr (each) {
      passed = among(passed, row, to);
      if (passed == 0) return;
    }
    const std::uint32_t place = atomicAdd(to.shared.found + to.first_counter + row, __popc(passed));
    const survivor_lists& lists = to.a.lists;
    const auto room = static_cast<std::uint32_t>(lists.room);
    // Where a list runs over, it does not matter which survivors it lacks: its row is done again.
    const std::uint32_t left = place < room ? room - place : 0;
    while (static_cast<std::uint32_t>(__popc(passed)) > left) passed &= passed - 1;
    std::int64_t at =
        ((to.first_row + row) * lists.splits + to.part) * std::int64_t{lists.room} + place;
    for (; passed != 0; passed &= passed - 1, ++at) {
      const int i = __ffs(static_cast<int>(passed)) - 1;
      lists.positions.data[at] = to.first_position + i / 2 * 8 + i % 2;
      lists.scores.data[at] = best;
    }
  }
};

template <output wanted, int slabs, bool each>
status launch(const executor& where, const filter_args& args, int splits) {
  using kernel = wgmma_kernel<wanted, slabs, each>;
  const std::int64_t blocks_of_part = (args.query_tiles + consumers - 1) / consumers;
  const std::int64_t blocks =
      kernel::halves
          ? pair_blocks{args.last_tile, args.part, consumers}.count_of(args.share, args.shares)
          : blocks_of_part * splits;
  if (blocks == 0) return {};  // more shares than blocks
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
