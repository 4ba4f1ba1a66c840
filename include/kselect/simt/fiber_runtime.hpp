#pragma once
// What a lane (fiber.hpp) asks of the executor that runs it (src/simt/).

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "kselect/simt/counters.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::simt {

namespace detail {

class lane;

enum class operation : std::uint8_t {
  ballot,
  any,
  all,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
  match_any,
  reduce_add,
  reduce_min,
  reduce_max,
  multiply_add,
  load_matrices,
  sync_warp,
  sync_block
};

// One lane's part in a warp collective. `value` holds the lane's value in its low bits.
struct collective_call {
  operation op;
  std::uint32_t mask;
  std::uint64_t value = 0;
  int argument = 0;  // shuffles: source lane, delta or lane mask
  int width = warp_size;
};

enum class atomic_op : std::uint8_t { add, min, max };

struct atomic_call {
  atomic_op op;
  void* address;
  std::uint64_t operand;
  int bytes;
  bool is_signed;
};

struct access {
  const char* verb;
  const void* base;
  std::int64_t index, count, size;  // elements
  std::size_t alignment;
};

// How a lane calls the executor (src/simt/). Function pointers let `fiber` be __host__ __device__,
// as the kernels require; nothing here runs on a GPU.
struct runtime {
  std::uint64_t (*collective)(lane&, const collective_call&, std::source_location);
  void (*sync_block)(lane&, std::source_location);
  std::uint64_t (*atomic)(lane&, const atomic_call&, std::source_location);
  void (*bad_access)(lane&, const access&, std::source_location);  // never returns
  void (*wait_for_previous)(lane&, std::source_location);
  void (*early_write)(lane&, std::source_location);  // never returns
  void (*wrong_await)(lane&, std::source_location);  // never returns
  void (*count_at)(places&, counter, std::int64_t place, std::int64_t amount);
  void (*count_step)(lane&, counter);
};

struct lane_view {
  int thread, threads;
  std::int64_t block, blocks;
  void* dynamic_shared;
  counters* counts;
  simt::places* places;   // null: not asked for
  const bool* may_write;  // false: the previous launch may still run
  bool awaits;            // grid::awaits_earlier_blocks
  detail::lane* lane;
  const detail::runtime* runtime;
};

}  // namespace detail

}  // namespace kselect::simt
