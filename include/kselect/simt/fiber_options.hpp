#pragma once
// How the fiber executor runs a kernel: the order of lanes, and what it counts.

#include <array>
#include <cstddef>
#include <cstdint>

#include "kselect/names.hpp"
#include "kselect/simt/counters.hpp"

namespace kselect {
namespace simt {

// The order in which runnable lanes run, each until it waits. in_order: lowest first; reversed:
// highest first; random: by the seed. Blocks follow the same order, but run in order if they await
// each other.
enum class schedule : std::uint8_t { in_order, reversed, random };

inline constexpr std::size_t stack_limit = 64 << 10;  // stack bytes that a kernel may rely on

struct fiber_options {
  schedule order = schedule::in_order;
  std::uint64_t seed = 0;                     // for schedule::random
  simt::counters* counters = nullptr;         // a successful launch adds its counts here
  simt::places* places = nullptr;             // and its counts by place (count_at) here
  int host_threads = 0;                       // 0: device.threads; they share the blocks
  std::size_t stack_bytes = 2 * stack_limit;  // of one lane; at least stack_limit
  bool poison_inactive_reads = false;  // a shuffle from an inactive lane gives poison, not an error
  bool mixed_block_syncs = false;      // different sync_block calls may meet, as with bar.sync 0
};

}  // namespace simt

constexpr auto names_of(simt::schedule) {
  return std::to_array<named<simt::schedule>>({{simt::schedule::in_order, "in_order"},
                                               {simt::schedule::reversed, "reversed"},
                                               {simt::schedule::random, "random"}});
}

}  // namespace kselect
