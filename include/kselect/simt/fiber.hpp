#pragma once
// simt::fiber: the verbs of a kernel on the CPU, each thread of a block a fiber.
//
// The same source that runs on a GPU runs here under g++, AddressSanitizer and UBSan, with no GPU
// and no thread sanitizer's guesswork: the lanes of a block take turns on one host thread, change
// hands only inside a verb, and do so in an order that fiber_options chooses and a seed repeats.
// What only happens to work in one order fails in another. It is never timed and never a fallback.
//
// What it finds: a lane missing from a collective, or there with another call, mask or operation;
// lanes shuffled from that do not take part; a block barrier that not all threads reach, or reach
// at different calls; deadlock; global accesses out of bounds or misaligned; failed
// KSELECT_ASSERTs; reads of shared memory never written (poison 0xCD; values from inactive lanes:
// 0xDB); stacks that overflow (guard pages); a launch that overlaps the previous one and does not
// wait for it, or writes before it does; a block that waits for one that has not run; with ASan,
// accesses beyond shared memory. It is stricter
// than CUDA in two rules that cost a sound kernel nothing: a lane that has returned must not be
// named in a mask, and one rendezvous is one place in the source.
//
// As in CUDA, a thread that has returned counts as arrived at every later sync_block.
//
// What it cannot show: what a launch reads of the previous one's before it waits; races between two
// verbs beyond the orders tried (a read-modify-write of plain memory looks atomic here); weak
// memory order and missing fences; blocks that wait for each other or a lane that spins, on plain
// memory (both hang); clusters, TMA and asynchronous copies; registers, bank conflicts, coalescing:
// anything about time. Those are tested on the GPU.

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "kselect/algorithm.hpp"
#include "kselect/hd.hpp"
#include "kselect/names.hpp"
#include "kselect/simt/counters.hpp"
#include "kselect/simt/types.hpp"

namespace kselect {
namespace simt {

// The order in which the lanes that can run do run. In order: the lowest lane first, until it has
// to wait; reversed: the highest; random: any, from the seed. Blocks: in the same sense, but in
// order where they await each other.
enum class schedule : std::uint8_t { in_order, reversed, random };

inline constexpr std::size_t stack_limit = 64 << 10;  // the least a kernel may count on

struct fiber_options {
  schedule order = schedule::in_order;
  std::uint64_t seed = 0;                     // for schedule::random
  simt::counters* counters = nullptr;         // what a launch that ends ok did is added here
  simt::places* places = nullptr;             // and here, by place, what count_at told apart
  int host_threads = 0;                       // 0: device.threads; blocks are spread over them
  std::size_t stack_bytes = 2 * stack_limit;  // of one lane; at least stack_limit
  bool poison_inactive_reads = false;  // a shuffle from a lane outside the mask: poison, no error
  bool mixed_block_syncs = false;      // let different sync_block calls meet, as bar.sync 0 does
};

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
  sync_warp,
  sync_block
};

// One lane's part in a warp collective. Values travel as the low bits of 64.
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

// How a lane reaches the executor (src/simt/). Function pointers, so that `fiber` may be
// __host__ __device__ like the kernels that use it, though nothing here ever runs on a GPU.
struct runtime {
  std::uint64_t (*collective)(lane&, const collective_call&, std::source_location);
  void (*sync_block)(lane&, std::source_location);
  std::uint64_t (*atomic)(lane&, const atomic_call&, std::source_location);
  void (*bad_access)(lane&, const access&, std::source_location);  // never returns
  void (*wait_for_previous)(lane&, std::source_location);
  void (*early_write)(lane&, std::source_location);  // never returns
  void (*wrong_await)(lane&, std::source_location);  // never returns
  void (*count_at)(places&, counter, std::int64_t place, std::int64_t amount);
};

struct lane_view {
  int thread, threads;
  std::int64_t block, blocks;
  void* dynamic_shared;
  counters* counts;
  simt::places* places;   // null: not asked for
  const bool* may_write;  // false: the launch before may not have ended
  bool awaits;            // grid::awaits_earlier_blocks
  detail::lane* lane;
  const detail::runtime* runtime;
};

}  // namespace detail

class fiber {
 public:
  using site = std::source_location;

  explicit fiber(const detail::lane_view& view) : view_(view) {}

  KSELECT_HD int thread() const { return view_.thread; }
  KSELECT_HD int threads() const { return view_.threads; }  // of the block
  KSELECT_HD int lane() const { return view_.thread % warp_size; }
  KSELECT_HD int warp() const { return view_.thread / warp_size; }
  KSELECT_HD int warps() const { return view_.threads / warp_size; }  // of the block
  KSELECT_HD int block() const { return static_cast<int>(view_.block); }
  KSELECT_HD int blocks() const { return static_cast<int>(view_.blocks); }

  // Aligned to 16 bytes; beyond the kernel's storage.
  KSELECT_HD void* dynamic_shared() const { return view_.dynamic_shared; }

  KSELECT_HD static int popc(std::uint32_t bits) { return std::popcount(bits); }
  KSELECT_HD static int popc(std::uint64_t bits) { return std::popcount(bits); }
  // The position of the lowest set bit, counted from 1; 0 if there is none.
  KSELECT_HD static int ffs(std::uint32_t bits) {
    return bits == 0 ? 0 : std::countr_zero(bits) + 1;
  }
  KSELECT_HD static int ffs(std::uint64_t bits) {
    return bits == 0 ? 0 : std::countr_zero(bits) + 1;
  }
  KSELECT_HD static int clz(std::uint32_t bits) { return std::countl_zero(bits); }
  KSELECT_HD static int clz(std::uint64_t bits) { return std::countl_zero(bits); }
  // The smaller of two numbers; a NaN if either is one, and for floats the NaN without a sign.
  KSELECT_HD static float smaller(float a, float b) {
    if (a != a || b != b) return std::bit_cast<float>(0x7fffffffU);
    return a <= b ? a : b;
  }
  KSELECT_HD static double smaller(double a, double b) { return a <= b || a != a ? a : b; }
  // a * b + c, rounded once, but at least 0 and at most 1; 0 for a NaN.
  KSELECT_HD static float fma_clamped(float a, float b, float c) {
    const float sum = std::fma(a, b, c);
    return sum > 0 ? (sum < 1 ? sum : 1.0F) : 0.0F;
  }
  // 1 if a > b, and if a is 0 and b is -0; 0 else, and if either is a NaN: the sign of b - a.
  KSELECT_HD static std::uint32_t exceeds(float a, float b) {
    return a != a || b != b ? 0 : std::bit_cast<std::uint32_t>(b - a) >> 31;
  }
  KSELECT_HD std::uint32_t lanemask_lt() const { return (1U << lane()) - 1; }

  // Warp collectives: every lane of `mask` must make the same call with the same mask.
  KSELECT_HD std::uint32_t ballot(std::uint32_t mask, bool p, site at = site::current()) {
    return static_cast<std::uint32_t>(vote(detail::operation::ballot, mask, p, at));
  }
  KSELECT_HD bool any(std::uint32_t mask, bool p, site at = site::current()) {
    return vote(detail::operation::any, mask, p, at) != 0;
  }
  KSELECT_HD bool all(std::uint32_t mask, bool p, site at = site::current()) {
    return vote(detail::operation::all, mask, p, at) != 0;
  }
  template <class T>
  KSELECT_HD T shfl(std::uint32_t mask, T value, int source, int width = warp_size,
                    site at = site::current()) {
    return exchange(detail::operation::shfl, mask, value, source, width, at);
  }
  template <class T>
  KSELECT_HD T shfl_up(std::uint32_t mask, T value, int delta, int width = warp_size,
                       site at = site::current()) {
    return exchange(detail::operation::shfl_up, mask, value, delta, width, at);
  }
  template <class T>
  KSELECT_HD T shfl_down(std::uint32_t mask, T value, int delta, int width = warp_size,
                         site at = site::current()) {
    return exchange(detail::operation::shfl_down, mask, value, delta, width, at);
  }
  template <class T>
  KSELECT_HD T shfl_xor(std::uint32_t mask, T value, int lane_mask, int width = warp_size,
                        site at = site::current()) {
    return exchange(detail::operation::shfl_xor, mask, value, lane_mask, width, at);
  }
  // The lanes of `mask` whose value has the same bits.
  template <class T>
  KSELECT_HD std::uint32_t match_any(std::uint32_t mask, T value, site at = site::current()) {
    return static_cast<std::uint32_t>(view_.runtime->collective(
        *view_.lane, detail::collective_call{detail::operation::match_any, mask, to_bits(value)},
        at));
  }
  // The sum (modulo 2^32) or extreme of the lanes of `mask`, in each of them.
  KSELECT_HD std::uint32_t reduce_add(std::uint32_t mask, std::uint32_t value,
                                      site at = site::current()) {
    return reduce(detail::operation::reduce_add, mask, value, at);
  }
  KSELECT_HD std::uint32_t reduce_min(std::uint32_t mask, std::uint32_t value,
                                      site at = site::current()) {
    return reduce(detail::operation::reduce_min, mask, value, at);
  }
  KSELECT_HD std::uint32_t reduce_max(std::uint32_t mask, std::uint32_t value,
                                      site at = site::current()) {
    return reduce(detail::operation::reduce_max, mask, value, at);
  }
  KSELECT_HD void sync_warp(std::uint32_t mask, site at = site::current()) {
    view_.runtime->collective(*view_.lane,
                              detail::collective_call{detail::operation::sync_warp, mask}, at);
  }
  KSELECT_HD void sync_block(site at = site::current()) {
    view_.runtime->sync_block(*view_.lane, at);
  }

  // Global memory, checked and counted. Shared memory is read and written plainly.
  template <class T>
  KSELECT_HD std::remove_const_t<T> load(global<T> from, std::int64_t i,
                                         site at = site::current()) {
    check("load", from, i, 1, at);
    view_.counts->add(counter::global_reads, detail::elements_of<std::remove_const_t<T>>);
    view_.counts->add(counter::bytes_read, sizeof(T));
    return from.data[i];
  }
  template <class T>
  KSELECT_HD void store(global<T> to, std::int64_t i, std::type_identity_t<T> value,
                        site at = site::current()) {
    check("store", to, i, 1, at);
    check_write(at);
    view_.counts->add(counter::global_writes, detail::elements_of<T>);
    view_.counts->add(counter::bytes_written, sizeof(T));
    to.data[i] = value;
  }
  // Reads what another block of the same launch wrote, after a fence on both sides and an atomic or
  // a message in between (an await() is such a fence); never what is left of it in a cache of the
  // reader's.
  template <class T>
  KSELECT_HD std::remove_const_t<T> load_fresh(global<T> from, std::int64_t i,
                                               site at = site::current()) {
    return load(from, i, at);
  }
  // What this thread wrote before, and what others wrote before a barrier with it, is seen by
  // whoever sees what it writes afterwards.
  KSELECT_HD static void fence() {}
  // Elements first to first + count - 1: one row of a matrix, one part of a row.
  template <class T>
  KSELECT_HD global<T> slice(global<T> whole, std::int64_t first, std::int64_t count,
                             site at = site::current()) {
    check("slice", whole, first, count, at);
    return {whole.data + first, count};
  }

  // Integers of 4 or 8 bytes in shared or global memory; the value before is returned.
  template <std::integral T>
  KSELECT_HD T atomic_add(T& shared, std::type_identity_t<T> value, site at = site::current()) {
    return update(detail::atomic_op::add, shared, value, at);
  }
  template <std::integral T>
  KSELECT_HD T atomic_min(T& shared, std::type_identity_t<T> value, site at = site::current()) {
    return update(detail::atomic_op::min, shared, value, at);
  }
  template <std::integral T>
  KSELECT_HD T atomic_max(T& shared, std::type_identity_t<T> value, site at = site::current()) {
    return update(detail::atomic_op::max, shared, value, at);
  }
  template <std::integral T>
  KSELECT_HD T atomic_add(global<T> to, std::int64_t i, std::type_identity_t<T> value,
                          site at = site::current()) {
    check("atomic_add", to, i, 1, at);
    check_write(at);
    return update(detail::atomic_op::add, to.data[i], value, at);
  }
  template <std::integral T>
  KSELECT_HD T atomic_min(global<T> to, std::int64_t i, std::type_identity_t<T> value,
                          site at = site::current()) {
    check("atomic_min", to, i, 1, at);
    check_write(at);
    return update(detail::atomic_op::min, to.data[i], value, at);
  }
  template <std::integral T>
  KSELECT_HD T atomic_max(global<T> to, std::int64_t i, std::type_identity_t<T> value,
                          site at = site::current()) {
    check("atomic_max", to, i, 1, at);
    check_write(at);
    return update(detail::atomic_op::max, to.data[i], value, at);
  }

  // Leaves a message for other blocks of the launch; of what the thread wrote before it says
  // nothing without a fence().
  KSELECT_HD void post(global<message> to, std::int64_t i, message m, site at = site::current()) {
    store(to, i, m, at);
  }
  // The message that is there now, or what the memory held before.
  KSELECT_HD message look(global<message> from, std::int64_t i, site at = site::current()) {
    return load(from, i, at);
  }
  // Between two looks, so that those who post are not kept from it: a tenth of a microsecond.
  KSELECT_HD static void pause() {}
  // Waits for a message with that tag from a block with a lower number, or from before a barrier of
  // this one, in a launch with grid::awaits_earlier_blocks, and returns its payload. What was
  // written before a fence() before the message is seen by load_fresh.
  KSELECT_HD std::uint64_t await(global<message> from, std::int64_t i, std::uint64_t tag,
                                 site at = site::current()) {
    const message there = look(from, i, at);
    if (there.tag != tag || !view_.awaits) view_.runtime->wrong_await(*view_.lane, at);
    return there.payload;
  }
  // The same for one who waits for several at once: the message that is there now, or none yet.
  KSELECT_HD message look_awaited(global<message> from, std::int64_t i, std::uint64_t tag,
                                  site at = site::current()) {
    return {await(from, i, tag, at), tag};
  }

  // For a launch that overlaps this one (grid::overlaps_previous): as far as this thread's block is
  // concerned, it may start. Says nothing about what this kernel has written.
  KSELECT_HD static void let_next_start() {}
  // In a launch that overlaps the previous one: that one has ended, and what it wrote is seen. For
  // the calling thread, and for those it then synchronises with.
  KSELECT_HD void wait_for_previous(site at = site::current()) {
    view_.runtime->wait_for_previous(*view_.lane, at);
  }

  // Work of the calling lane, for the record; nothing on a GPU.
  KSELECT_HD void count(counter c, std::int64_t amount = 1) { view_.counts->add(c, amount); }
  // The same, told apart by `place` >= 0 where fiber_options::places asks for it.
  KSELECT_HD void count_at(counter c, std::int64_t place, std::int64_t amount = 1) {
    count(c, amount);
    if (view_.places != nullptr) view_.runtime->count_at(*view_.places, c, place, amount);
  }

 private:
  template <std::size_t Bytes>
  using bits_t = std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>;

  template <class T>
  KSELECT_HD static std::uint64_t to_bits(T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes exchange values of 4 or 8 bytes");
    return std::bit_cast<bits_t<sizeof(T)>>(value);
  }
  template <class T>
  KSELECT_HD static T from_bits(std::uint64_t bits) {
    return std::bit_cast<T>(static_cast<bits_t<sizeof(T)>>(bits));
  }
  KSELECT_HD std::uint64_t vote(detail::operation op, std::uint32_t mask, bool p, site at) {
    return view_.runtime->collective(*view_.lane, detail::collective_call{op, mask, p ? 1U : 0U},
                                     at);
  }
  KSELECT_HD std::uint32_t reduce(detail::operation op, std::uint32_t mask, std::uint32_t value,
                                  site at) {
    return static_cast<std::uint32_t>(
        view_.runtime->collective(*view_.lane, detail::collective_call{op, mask, value}, at));
  }
  template <class T>
  KSELECT_HD T exchange(detail::operation op, std::uint32_t mask, T value, int argument, int width,
                        site at) {
    return from_bits<T>(view_.runtime->collective(
        *view_.lane, detail::collective_call{op, mask, to_bits(value), argument, width}, at));
  }
  template <class T>
  KSELECT_HD T update(detail::atomic_op op, T& where, T value, site at) {
    return from_bits<T>(view_.runtime->atomic(
        *view_.lane,
        detail::atomic_call{op, &where, to_bits(value), sizeof(T), std::is_signed_v<T>}, at));
  }
  template <class T>
  KSELECT_HD void check(const char* verb, global<T> span, std::int64_t i, std::int64_t count,
                        site at) const {
    const bool inside = i >= 0 && count >= 0 && count <= span.size && i <= span.size - count;
    const bool aligned = reinterpret_cast<std::uintptr_t>(span.data) % alignof(T) == 0;
    if (inside && aligned) return;
    const detail::access wrong{verb, span.data, i, count, span.size, alignof(T)};
    view_.runtime->bad_access(*view_.lane, wrong, at);
  }
  KSELECT_HD void check_write(site at) const {
    if (!*view_.may_write) view_.runtime->early_write(*view_.lane, at);
  }

  detail::lane_view view_;
};

namespace detail {

// A kernel as the executor sees it, its types erased.
struct fiber_kernel {
  const char* name;
  void (*run)(fiber&, void* storage, const void* args);
  std::size_t storage_bytes;
};

template <class Kernel>
void run_on_fiber(fiber& simt, void* storage, const void* args) {
  Kernel::run(simt, *static_cast<typename Kernel::storage*>(storage),
              *static_cast<const typename Kernel::args*>(args));
}

// Runs all blocks to their end before it returns.
status launch_on_fibers(const fiber_kernel& kernel, const grid& shape, const void* args,
                        const executor& where);

}  // namespace detail
}  // namespace simt

constexpr auto names_of(simt::schedule) {
  return std::to_array<named<simt::schedule>>({{simt::schedule::in_order, "in_order"},
                                               {simt::schedule::reversed, "reversed"},
                                               {simt::schedule::random, "random"}});
}

}  // namespace kselect
