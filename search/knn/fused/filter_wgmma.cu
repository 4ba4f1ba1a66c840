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
// components would not fit; longer vectors are multiplied by mma.sync.

#include <cstddef>
#include <limits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/filter_wgmma.hpp"
#include "search/knn/fused/hopper.cuh"
#include "search/knn/fused/plan.hpp"
#include "search/knn/fused/ring.cuh"

namespace kselect::search::fused {
namespace {

using hopper::shared_address;

constexpr int group_threads = 128;
constexpr int consumers = query_tiles_of_wgmma;  // groups, of one tile of queries each
constexpr int block_rows = consumers * tile_rows;
constexpr int halves = 2;  // products of 64 rows that make up a group's 128
constexpr int columns_of_thread = 32;
// 3 * 128 threads begin with 168 registers each (65536 / 384, rounded down to a multiple of 8).
constexpr int registers_of_producer = 24, registers_of_consumer = 240;
static_assert(registers_of_producer + consumers * registers_of_consumer <= 3 * 168);
constexpr int first_turn = 1;                      // named barriers: one for each consumer,
constexpr int first_own = first_turn + consumers;  // and one for each consumer's own threads

// The block's share of the work.
struct share {
  int first_query_tile, part, first_tile, tiles, active;
  __device__ share(const filter_args& a, int block) {
    const int blocks_of_part = (a.query_tiles + consumers - 1) / consumers;
    first_query_tile = block % blocks_of_part * consumers;
    part = block / blocks_of_part;
    first_tile = a.first_tile + part * a.part;
    tiles = min(a.part, a.last_tile - first_tile);
    active = min(consumers, a.query_tiles - first_query_tile);
  }
};

// `each`: queries differ in what they leave out.
template <output wanted, int slabs, bool each>
struct wgmma_kernel {
  static_assert(wanted != output::matrix && slabs <= most_slabs_of_wgmma);
  static_assert(!each || wanted == output::scored);
  static constexpr int max_threads = group_threads * (consumers + 1);
  static constexpr int min_blocks = 1;
  static constexpr int steps = slabs * slab_width / 16;  // products of 16 components
  using buffers = hopper::ring<slabs>;
  using position = hopper::cursor<buffers::stages>;
  struct storage {
    std::uint32_t found[block_rows];
  };
  using args = filter_args;

  template <class Simt>
  __device__ static void run(Simt& simt, storage& shared, const args& a) {
    const buffers memory(simt.dynamic_shared());
    const share own(a, simt.block());
    const int thread = simt.thread(), group = thread / group_threads;
    if (thread < block_rows) shared.found[thread] = 0;
    if (thread == 0) {
      for (int s = 0; s < buffers::stages; ++s) {
        hopper::init_barrier(memory.full(s), 1);
        hopper::init_barrier(memory.empty(s), own.active * (group_threads / 32));
      }
      hopper::publish_barriers();
    }
    __syncthreads();
    if (group == consumers) {
      hopper::leave_registers<registers_of_producer>();
      if (thread % group_threads == 0) produce(memory, own, a);
    } else {
      hopper::take_registers<registers_of_consumer>();
      if (group < own.active) consume(memory, own, a, shared, group, thread % group_threads);
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
                        buffers::start_bytes, full);
    }
  }

  // What a thread of a consumer holds: fragments of its queries and their thresholds, or the maxima
  // of a group of tiles so far.
  struct queries {
    std::uint32_t fragments[halves][steps][4];
    float limits[halves][2];
  };
  // Of a row that is not there no score passes; maxima begin below all scores.
  static constexpr float limit_without = wanted == output::scored
                                             ? std::numeric_limits<float>::infinity()
                                             : -std::numeric_limits<float>::infinity();

  // `row`: the thread's first row in the tile of queries.
  __device__ __forceinline__ static void load(queries& q, const args& a, int tile, int row,
                                              int lane) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(a.queries.slabs.data) +
                              std::int64_t{tile} * slabs * slab_vectors * 4 + lane % 4;
#pragma unroll
    for (int m = 0; m < halves; ++m) {
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
        const bool filtered = wanted == output::scored && query < a.rows;
        q.limits[m][h] = filtered ? __ldg(a.thresholds.data + query) : limit_without;
      }
    }
  }

  __device__ __forceinline__ static void consume(const buffers& memory, const share& own,
                                                 const args& a, storage& shared, int group,
                                                 int thread) {
    const int lane = thread % 32, row = thread / 32 * 16 + lane / 4;
    const int query_tile = own.first_query_tile + group;
    const bool turns = own.active == consumers;
    queries q;
    load(q, a, query_tile, row, lane);
    if (turns && group == 1) hopper::arrive_named(first_turn, consumers * group_threads);
    position at;
    for (int i = 0; i < own.tiles; ++i, at.next()) {
      hopper::sums_of_64 sums[halves];
      hopper::wait(memory.full(at.stage), at.parity);
      start(sums, memory.starts(at.stage) + lane % 4 * 8);
      if (turns) hopper::sync_named(first_turn + group, consumers * group_threads);
      multiply(sums, q, memory.tile(at.stage));
      // The last turn of all has no successor.
      if (turns && (group == 0 || i + 1 < own.tiles)) {
        hopper::arrive_named(first_turn + 1 - group, consumers * group_threads);
      }
      hopper::wait_products();
      hopper::hold(sums[0]);
      hopper::hold(sums[1]);
      if (lane == 0) hopper::arrive(memory.empty(at.stage));
      if constexpr (wanted == output::maxima) {
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
  }

  __device__ static void store_counts(const share& own, const args& a, const storage& shared,
                                      int group, int thread) {
    hopper::sync_named(first_own + group, group_threads);
    const std::int64_t row = std::int64_t{own.first_query_tile + group} * tile_rows + thread;
    a.lists.counts.data[row * a.lists.splits + own.part] = shared.found[group * tile_rows + thread];
  }

  // Sums begin with the starts of their columns. `from`: the starts of the thread's first columns.
  __device__ __forceinline__ static void start(hopper::sums_of_64 (&sums)[halves],
                                               shared_address from) {
#pragma unroll
    for (int j = 0; j < columns_of_thread / 2; ++j) {
      const float2 both = hopper::load_two(from + j * 8 * sizeof(float));
#pragma unroll
      for (int m = 0; m < halves; ++m) {
        sums[m][4 * j] = sums[m][4 * j + 2] = both.x;
        sums[m][4 * j + 1] = sums[m][4 * j + 3] = both.y;
      }
    }
    hopper::hold(sums[0]);
    hopper::hold(sums[1]);
  }

  // Begins the products with a tile.
  __device__ __forceinline__ static void multiply(hopper::sums_of_64 (&sums)[halves],
                                                  const queries& q, shared_address tile) {
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

  // The thread's best score of a row.
  __device__ __forceinline__ static float best_of(const hopper::sums_of_64& sums, int h) {
    float best = sums[2 * h];
#pragma unroll
    for (int j = 0; j < columns_of_thread / 2; ++j) {
      best = fmaxf(best, fmaxf(sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]));
    }
    return best;
  }

  __device__ __forceinline__ static void emit(const hopper::sums_of_64 (&sums)[halves],
                                              const queries& q, int row, const segment& to) {
#pragma unroll
    for (int m = 0; m < halves; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float best = best_of(sums[m], h);
        if (best > q.limits[m][h]) {
          keep(sums[m], h, q.limits[m][h], best, row + 64 * m + 8 * h, to);
        }
      }
    }
  }

  __device__ __forceinline__ static void raise(const hopper::sums_of_64 (&sums)[halves],
                                               queries& q) {
#pragma unroll
    for (int m = 0; m < halves; ++m) {
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
    for (int m = 0; m < halves; ++m) {
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
  return simt::launch<kernel, simt::launched_on::cuda>(
      where, {blocks_of_part * splits, kernel::max_threads, kernel::buffers::bytes}, args);
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
  return args.allowed.each() ? launch<output::scored, true>(where, args, splits)
                             : launch<output::scored, false>(where, args, splits);
}

}  // namespace kselect::search::fused
