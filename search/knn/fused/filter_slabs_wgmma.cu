// The filter by wgmma for vectors of any length, of float16, bfloat16 or bytes: both operands come
// from shared memory, slab by slab.
//
// A piece of the work is 128 queries and one part of the corpus, which a block multiplies two tiles
// of 128 vectors at a time. It takes pieces in turns (pieces.cuh). It has three warp groups. A
// thread of the last one brings slabs (64 components, or 128 bytes) by bulk copies into a ring of
// buffers. The other two take 64 queries each and all columns, and keep the sums over the slabs:
// 128 registers a thread. They run freely: one filters while the other still multiplies its last
// slab.
// Queries pass through the ring, too. So a block brings 1.5 bytes for each byte of the corpus. (To
// keep as many of their slabs as there is room for in shared memory took as long, within 4 % at 192
// to 1536 components.) Rows that are missing from a last tile of queries are not brought. What lies
// in their place changes only their own sums, which nothing reads.
//
// Products of bytes are exact in int32, and are compared there (score_sums). Their starts become
// integers once for a warp group, in shared memory of its own.

#include <type_traits>

#include "kselect/simt/launch.hpp"
#include "search/knn/fused/filter_wgmma.hpp"
#include "search/knn/fused/pieces.cuh"
#include "search/knn/fused/slab_lists.cuh"
#include "search/knn/fused/slab_products.cuh"
#include "search/knn/fused/slab_ring.cuh"

namespace kselect::search::fused {
namespace {

using hopper::group_threads;
using hopper::shared_address;
using hopper::sums_of_tile;
using hopper::together;

constexpr int consumers = hopper::slab_groups;
constexpr int group_rows = tile_rows / consumers;
constexpr std::uint32_t row_bytes = 16 * slab_chunks;
constexpr int slab_steps = slab_chunks / 2;  // products of 32 bytes of a row
// 3 * 128 threads begin with 168 registers each (65536 / 384, rounded down to a multiple of 8).
constexpr int registers_of_producer = 40, registers_of_consumer = 232;
static_assert(registers_of_producer + consumers * registers_of_consumer <= 3 * 168);
constexpr int first_own = 1;  // named barriers: one for each consumer's threads

template <output wanted, simt::product factors>
struct slab_kernel {
  static_assert(wanted == output::maxima || wanted == output::scored);
  static constexpr int max_threads = group_threads * (consumers + 1);
  static constexpr int min_blocks = 1;
  static_assert(together * sums_of_tile == 128, "those of one instruction");
  static constexpr bool of_maxima = wanted == output::maxima;
  using sums_of = score_sums<factors>;
  using sum = typename sums_of::sum;
  using sums = sum[together * sums_of_tile];
  using buffers = hopper::slab_ring;
  using position = hopper::cursor<buffers::stages>;
  using share = hopper::slab_share;
  struct no_starts {};
  struct integer_starts {
    std::int32_t of[consumers][2][together * tile_rows];
  };
  struct storage {
    hopper::slab_counters counters;
    std::conditional_t<sums_of::integers, integer_starts, no_starts> starts;
  };
  using args = filter_args;

  template <class Simt>
  __device__ static void run(Simt& simt, storage& shared, const args& a) {
    const buffers memory(simt.dynamic_shared(), a);
    const int thread = simt.thread(), group = thread / group_threads;
    if (thread < tile_rows) shared.counters.found[thread] = 0;
    if (thread == 0) hopper::init_stages(memory, consumers * group_threads);
    if constexpr (of_maxima) zero_counters(simt, a);
    __syncthreads();
    if (group == consumers) {
      hopper::leave_registers<registers_of_producer>();
      if (thread % group_threads == 0) produce(simt, memory, a);
    } else {
      hopper::take_registers<registers_of_consumer>();
      consume(simt, memory, a, shared, group, thread % group_threads);
    }
  }

 private:
  // Bytes of a slab of the queries that are there: whole eights of rows, which the swizzle keeps.
  __device__ static std::uint32_t bytes_of_queries(const share& own, const args& a) {
    const std::int64_t left = a.rows - std::int64_t{own.query_tile} * tile_rows;
    const int rows = left < tile_rows ? static_cast<int>(left) : tile_rows;
    return static_cast<std::uint32_t>((rows + 7) / 8) * 8 * row_bytes;
  }

  template <class Simt>
  __device__ static void produce(const Simt& simt, const buffers& memory, const args& a) {
    position at;
    share own(a, simt.block(), of_maxima);
    for (hopper::pieces_of_block turn(simt, a);; own = share(a, turn.next(), of_maxima)) {
      const std::uint32_t of_queries = bytes_of_queries(own, a);
      for (int i = 0; i < own.steps; ++i) {
        for (int s = 0; s < a.slabs; ++s, at.next()) {
          bring(memory, at, own, a, of_queries, i, s);
        }
      }
      if (turn.is_last()) return;
    }
  }
  // Slab s of the queries and of the tiles of step i, with the first slab their starts.
  __device__ __forceinline__ static void bring(const buffers& memory, const position& at,
                                               const share& own, const args& a,
                                               std::uint32_t of_queries, int i, int s) {
    const auto* const vectors = reinterpret_cast<const char*>(a.corpus.slabs.data);
    const char* const queries = reinterpret_cast<const char*>(a.queries.slabs.data) +
                                std::int64_t{own.query_tile} * a.slabs * slab_bytes;
    hopper::wait(memory.empty(at.stage), at.parity ^ 1);
    const shared_address full = memory.full(at.stage);
    hopper::expect_bytes(
        full, together * buffers::a_slab + of_queries + (s == 0 ? buffers::start_bytes : 0));
    hopper::copy_bulk(memory.rows(at.stage), queries + s * slab_bytes, of_queries, full);
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const std::int64_t tile = own.tile_to_bring(i, t);
      hopper::copy_bulk(memory.columns(at.stage) + t * buffers::a_slab,
                        vectors + (tile * a.slabs + s) * slab_bytes, buffers::a_slab, full);
      if (s == 0) {
        hopper::copy_bulk(memory.starts(at.stage) + t * buffers::numbers_bytes,
                          a.starts.data + tile * tile_rows, buffers::numbers_bytes, full);
      }
    }
  }

  template <class Simt>
  __device__ __forceinline__ static void consume(const Simt& simt, const buffers& memory,
                                                 const args& a, storage& shared, int group,
                                                 int thread) {
    position at;
    share own(a, simt.block(), of_maxima);
    for (hopper::pieces_of_block turn(simt, a);; own = share(a, turn.next(), of_maxima)) {
      begin(own, shared.counters, group, thread);
      hopper::slab_lists<sums_of, of_maxima> lists(a, own.query_tile,
                                                   group * group_threads + thread);
      for (int i = 0; i < own.steps; ++i, at.next()) {
        sums of_step;
        products(of_step, memory, at, a, shared, group, thread, i);
        lists.emit(of_step, own, i, shared.counters);
      }
      if constexpr (!of_maxima) store_counts(a.lists, shared.counters);
      if (turn.is_last()) return;
    }
  }

  // A group's next piece. No thread of it writes to lists of the one before.
  __device__ __forceinline__ static void begin(const share& own, hopper::slab_counters& counters,
                                               int group, int thread) {
    hopper::sync_named(first_own + group, group_threads);
    if (thread == 0) {
      counters.of_group[group] = {std::int64_t{own.query_tile} * tile_rows, own.part};
    }
    hopper::sync_named(first_own + group, group_threads);
  }

  // The products of step i, whose first slab is in the stage of the cursor; leaves it at the last.
  __device__ __forceinline__ static void products(sums& of_step, const buffers& memory,
                                                  position& at, const args& a, storage& shared,
                                                  int group, int thread, int i) {
    hopper::wait(memory.full(at.stage), at.parity);
    start(of_step, memory.starts(at.stage), shared, group, thread, i);
    multiply(of_step, memory, at.stage, group);
    for (int s = 1; s < a.slabs; ++s) {
      const int before = at.stage;
      at.next();
      hopper::wait(memory.full(at.stage), at.parity);
      multiply(of_step, memory, at.stage, group);
      hopper::wait_earlier_products();
      hopper::arrive(memory.empty(before));
    }
    hopper::wait_products();
    hopper::hold_all(of_step);
    hopper::arrive(memory.empty(at.stage));
  }

  // Of a piece. The counters begin again.
  __device__ __forceinline__ static void store_counts(const survivor_lists& lists,
                                                      hopper::slab_counters& of) {
    const int thread = hopper::thread_again(), group = thread / group_threads;
    hopper::sync_named(first_own + group, group_threads);
    if (thread % group_threads >= group_rows) return;
    const int row = group * group_rows + thread % group_threads;
    const auto [first_row, part] = of.of_group[group];
    lists.counts.data[(first_row + row) * lists.splits + part] = of.found[row];
    of.found[row] = 0;
  }

  // Sums begin with the starts of their columns. A thread makes some of them integers for all of
  // its group. Two buffers take turns: who writes one has met all others since they read it.
  __device__ __forceinline__ static void start(sums& of_step, shared_address from, storage& shared,
                                               int group, int thread, int step) {
    if constexpr (sums_of::integers) {
      auto& own = shared.starts.of[group][step % 2];
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const int i = t * tile_rows + thread;
        own[i] = sums_of::start(hopper::load_one(from + i * sizeof(float)));
      }
      hopper::sync_named(first_own + group, group_threads);
      from = hopper::address_of(own);
    }
#pragma unroll
    for (int j = 0; j < together * tile_rows / 8; ++j) {
      const float2 both = hopper::load_two(from + (8 * j + thread % 4 * 2) * sizeof(float));
      if constexpr (sums_of::integers) {
        of_step[4 * j] = of_step[4 * j + 2] = __float_as_int(both.x);
        of_step[4 * j + 1] = of_step[4 * j + 3] = __float_as_int(both.y);
      } else {
        of_step[4 * j] = of_step[4 * j + 2] = both.x;
        of_step[4 * j + 1] = of_step[4 * j + 3] = both.y;
      }
    }
    hopper::hold_all(of_step);
  }

  // Begins the products with a slab.
  __device__ __forceinline__ static void multiply(sums& of_step, const buffers& memory, int stage,
                                                  int group) {
    const shared_address rows = memory.rows(stage) + group * (group_rows * row_bytes);
    const shared_address columns = memory.columns(stage);
    hopper::begin_products();
#pragma unroll
    for (int k = 0; k < slab_steps; ++k) {
      hopper::multiply_slabs<factors>(of_step, hopper::descriptor_of(rows + 32 * k),
                                      hopper::descriptor_of(columns + 32 * k));
    }
    hopper::commit_products();
  }
};

template <output wanted, simt::product factors>
status launch(const executor& where, filter_args args, int splits) {
  using kernel = slab_kernel<wanted, factors>;
  args.pieces = args.query_tiles * splits;
  return simt::launch<kernel, simt::launched_on::cuda>(
      where,
      {blocks_that_take(args.pieces, *where.device), kernel::max_threads,
       kernel::buffers::bytes(args)},
      args);
}

template <simt::product factors>
status launch(const executor& where, output wanted, const filter_args& args, int splits) {
  return wanted == output::maxima ? launch<output::maxima, factors>(where, args, splits)
                                  : launch<output::scored, factors>(where, args, splits);
}

}  // namespace

status filter_by_slabs(const executor& where, output wanted, const filter_args& args, int splits) {
  const std::string reason = why_not_by_slabs(*where.device);
  if (!reason.empty()) return {status_code::unsupported, reason};
  if (!has_by_slabs(wanted, args)) {
    return {status_code::unsupported, "wgmma by slabs has survivors and maxima of all vectors"};
  }
  if (simt::of_bytes(args.factors)) {
    return launch<simt::product::int8>(where, wanted, args, splits);
  }
  if (args.factors == simt::product::bfloat16) {
    return launch<simt::product::bfloat16>(where, wanted, args, splits);
  }
  return launch<simt::product::float16>(where, wanted, args, splits);
}

}  // namespace kselect::search::fused
