#pragma once
// simt::fiber: the verbs of a kernel on the CPU. Each thread of a block is a fiber.
//
// It runs the GPU's source under g++, AddressSanitizer and UBSan, without a GPU. The lanes of a
// block take turns on one host thread and switch only inside a verb. fiber_options chooses the
// order of turns; a seed repeats it. Code that is right in one order only fails in another. Fibers
// are never timed and never a fallback.
//
// They detect: a lane missing from a collective, or there with another call, mask or operation;
// shuffles from lanes outside the mask; a block barrier that some threads miss or reach at another
// call; deadlock; global accesses out of bounds or misaligned; failed KSELECT_ASSERTs; reads of
// unwritten shared memory (poison 0xCD) and of inactive lanes (0xDB); stack overflow (guard pages);
// an overlapping launch that does not wait for the previous one, or writes before it waits; a block
// that waits for one that has not run; with ASan, accesses beyond shared memory. Two rules are
// stricter than CUDA's: a mask must not name a lane that has returned, and one rendezvous is one
// place in the source. As in CUDA, a thread that has returned counts as arrived at every later
// sync_block.
//
// They cannot detect: reads of the previous launch's data before the wait; races between two verbs
// in orders not tried (a plain read-modify-write looks atomic); weak memory order and missing
// fences; blocks or lanes that spin on plain memory (they hang); clusters, TMA, asynchronous
// copies; anything about time, such as registers, bank conflicts and coalescing. GPU tests cover
// those.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "kselect/algorithm.hpp"
#include "kselect/hd.hpp"
#include "kselect/simt/counters.hpp"
#include "kselect/simt/fiber_options.hpp"
#include "kselect/simt/fiber_runtime.hpp"
#include "kselect/simt/products.hpp"
#include "kselect/simt/types.hpp"

namespace kselect {
namespace simt {

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

  // Aligned to 16 bytes. Lies after the kernel's storage.
  KSELECT_HD void* dynamic_shared() const { return view_.dynamic_shared; }

  KSELECT_HD static int popc(std::uint32_t bits) { return std::popcount(bits); }
  KSELECT_HD static int popc(std::uint64_t bits) { return std::popcount(bits); }
  // The position of the lowest set bit, counted from 1; 0 if no bit is set.
  KSELECT_HD static int ffs(std::uint32_t bits) {
    return bits == 0 ? 0 : std::countr_zero(bits) + 1;
  }
  KSELECT_HD static int ffs(std::uint64_t bits) {
    return bits == 0 ? 0 : std::countr_zero(bits) + 1;
  }
  KSELECT_HD static int clz(std::uint32_t bits) { return std::countl_zero(bits); }
  KSELECT_HD static int clz(std::uint64_t bits) { return std::countl_zero(bits); }
  // `sum` and the products of four signed bytes each.
  KSELECT_HD static std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
    for (int byte = 0; byte < 4; ++byte) {
      sum += static_cast<std::int8_t>(a >> 8 * byte) * static_cast<std::int8_t>(b >> 8 * byte);
    }
    return sum;
  }
  // The smaller of two numbers; NaN if either is NaN. For floats that NaN is 0x7fffffff.
  KSELECT_HD static float smaller(float a, float b) {
    if (a != a || b != b) return std::bit_cast<float>(0x7fffffffU);
    return a <= b ? a : b;
  }
  KSELECT_HD static double smaller(double a, double b) { return a <= b || a != a ? a : b; }
  KSELECT_HD static std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
  // a * b + c, rounded once and clamped to [0, 1]; 0 for a NaN.
  KSELECT_HD static float fma_clamped(float a, float b, float c) {
    const float sum = std::fma(a, b, c);
    return sum > 0 ? (sum < 1 ? sum : 1.0F) : 0.0F;
  }
  // The sign of b - a: 1 if a > b, or if a is +0 and b is -0; else 0. 0 if either is a NaN.
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
  // The sum (modulo 2^32) or extreme over the lanes of `mask`, returned to each of them.
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

  // A warp's matrix product, and its registers from shared memory: products.hpp. All lanes of the
  // warp call them. In load_matrices, lane 8 j + r names row r, of 16 bytes, of matrix j; into[j]
  // is then components 2 c and 2 c + 1 (of two bytes) of row g of that matrix.
  template <product factors>
  KSELECT_HD void multiply_add(product_sum<factors> (&d)[4], const std::uint32_t (&a)[4],
                               std::uint32_t b0, std::uint32_t b1, site at = site::current()) {
    const detail::product_call own{factors, a, {b0, b1}, d};
    meet_all(detail::operation::multiply_add, &own, at);
  }
  KSELECT_HD void load_matrices(std::uint32_t (&into)[4], const void* row,
                                site at = site::current()) {
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
      view_.runtime->bad_access(*view_.lane, {"load_matrices", row, 0, 1, 1, 16}, at);
    }
    const detail::matrices_call own{row, into};
    meet_all(detail::operation::load_matrices, &own, at);
  }

  // Copies 16 bytes from global to shared memory while the thread goes on. wait_copies<n>() waits
  // until at most the n latest of the thread's committed groups are under way. Other threads see
  // the bytes after a barrier that follows. Fibers copy at once.
  template <class T>
  KSELECT_HD void copy_async(void* shared, global<T> from, std::int64_t i,
                             site at = site::current()) {
    static_assert(sizeof(T) == 16);
    if (reinterpret_cast<std::uintptr_t>(shared) % 16 != 0) {
      view_.runtime->bad_access(*view_.lane, {"copy_async", shared, 0, 1, 1, 16}, at);
    }
    *static_cast<std::remove_const_t<T>*>(shared) = load(from, i, at);
  }
  KSELECT_HD static void commit_copies() {}
  template <int n>
  KSELECT_HD static void wait_copies() {}

  // Global memory: checked and counted. Shared memory is accessed directly.
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
  // Reads data that another block of this launch wrote; bypasses stale lines of L1. Needs a fence
  // on both sides and an atomic or a message between them. An await() is such a fence.
  template <class T>
  KSELECT_HD std::remove_const_t<T> load_fresh(global<T> from, std::int64_t i,
                                               site at = site::current()) {
    return load(from, i, at);
  }
  // Orders writes: whoever sees this thread's later writes also sees its earlier ones, and those
  // that other threads made before a barrier with it.
  KSELECT_HD static void fence() {}
  // Elements first to first + count - 1, such as one row or a part of it.
  template <class T>
  KSELECT_HD global<T> slice(global<T> whole, std::int64_t first, std::int64_t count,
                             site at = site::current()) {
    check("slice", whole, first, count, at);
    return {whole.data + first, count};
  }

  // On integers of 4 or 8 bytes in shared or global memory. Returns the previous value.
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

  // Posts a message for other blocks of the launch. Without a fence() it orders no earlier writes.
  KSELECT_HD void post(global<message> to, std::int64_t i, message m, site at = site::current()) {
    store(to, i, m, at);
  }
  // The message posted last, or the memory's earlier contents.
  KSELECT_HD message look(global<message> from, std::int64_t i, site at = site::current()) {
    return load(from, i, at);
  }
  // Back-off between two looks in a spin loop, about 0.1 us, so that posting blocks make progress.
  KSELECT_HD static void pause() {}
  // Waits for a message with `tag` and returns its payload. Requires grid::awaits_earlier_blocks.
  // The sender must be a block with a lower number, or this block before a barrier. After it,
  // load_fresh sees what the sender wrote before its fence().
  KSELECT_HD std::uint64_t await(global<message> from, std::int64_t i, std::uint64_t tag,
                                 site at = site::current()) {
    const message there = look(from, i, at);
    if (there.tag != tag || !view_.awaits) view_.runtime->wrong_await(*view_.lane, at);
    return there.payload;
  }
  // One poll of an await(), to wait for several messages at once: the tag may be missing yet.
  KSELECT_HD message look_awaited(global<message> from, std::int64_t i, std::uint64_t tag,
                                  site at = site::current()) {
    return {await(from, i, tag, at), tag};
  }

  // Lets an overlapping next launch (grid::overlaps_previous) start, as far as this thread's block
  // is concerned. It does not publish this kernel's writes.
  KSELECT_HD static void let_next_start() {}
  // In an overlapping launch: waits until the previous launch has ended and its writes are visible,
  // to this thread and to those that it then synchronises with.
  KSELECT_HD void wait_for_previous(site at = site::current()) {
    view_.runtime->wait_for_previous(*view_.lane, at);
  }

  // Counts work of the calling lane. No code on a GPU.
  KSELECT_HD void count(counter c, std::int64_t amount = 1) { view_.counts->add(c, amount); }
  // The same by `place` >= 0, if fiber_options::places asks for it.
  KSELECT_HD void count_at(counter c, std::int64_t place, std::int64_t amount = 1) {
    count(c, amount);
    if (view_.places != nullptr) view_.runtime->count_at(*view_.places, c, place, amount);
  }
  // Counts a step of the warp: once for all its lanes that call this between the same two
  // rendezvous of the warp (collectives, sync_warp, sync_block).
  KSELECT_HD void count_step(counter c) { view_.runtime->count_step(*view_.lane, c); }

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
  KSELECT_HD void meet_all(detail::operation op, const void* own, site at) {
    view_.runtime->collective(
        *view_.lane, detail::collective_call{op, full_mask, reinterpret_cast<std::uintptr_t>(own)},
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

// A type-erased kernel, as the executor sees it.
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

// Returns after all blocks have ended.
status launch_on_fibers(const fiber_kernel& kernel, const grid& shape, const void* args,
                        const executor& where);

}  // namespace detail
}  // namespace simt

}  // namespace kselect
