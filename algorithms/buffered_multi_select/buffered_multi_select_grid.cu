// Buffered multi-select, several blocks a row (bms-grid), for rows so few that one block each would
// leave most of the device idle. buffered_multi_select_block.cu explains the algorithm,
// grid/kernel.cuh what several blocks change, and grid/own.cuh the form for short parts.
//
// What limits it on an H200: long rows, the rate of memory, and load imbalance at the end, as the
// multiprocessors do not finish together; short parts, one chain of latencies: the launch, the load
// of the part, the messages, and some ten steps of a block.
//
// Of ragged rows the long ones are cut into pieces, a block each (block/cut_rows.cuh).
//
// Entries: bms-grid

#include <atomic>
#include <random>

#include "algorithms/buffered_multi_select/in_order.hpp"
#include "kernels/gpu_rows.cuh"

namespace kselect::entries {
std::span<const algorithm> buffered_multi_select_block();  // its kernels select from ragged rows
}

namespace kselect::bms {

std::uint64_t new_call() {
  // The first number is random: the caller's memory may hold anything, but hardly its tag.
  static std::atomic<std::uint64_t> next = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return next.fetch_add(1, std::memory_order_relaxed);
}

namespace {

template <grid_variant v>
call_plan plan_for(const problem& p, const device& where) {
  return visit_bits(p.type, [&]<class T>(T) {
    if (p.ragged()) return cut_plan<T>(p, where);
    if (p.has_values()) return grid_plan<T>(v, p, where);
    return plan_without_values(grid_plan<T>(v, with_values(p), where));
  });
}

template <grid_variant v>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "buffered multi-select",
                                   "kselect, after Tang et al. 2015 and Komarov et al. 2014");
  a.dtypes = every_dtype;
  a.payloads = set_of(payload::values, payload::values_and_indices, payload::indices);
  if (v.threads == 0) a.ragged = a.executors;
  a.plan = &plan_for<v>;
  return a;
}

constexpr std::array variants = {
    entry<grid_variant{0}>("bms-grid"),
    entry<grid_variant{256}>("bms-grid+t256"),
    entry<grid_variant{512}>("bms-grid+t512"),
};
constexpr std::array<grid_variant, variants.size()> shapes = {{{0}, {256}, {512}}};

}  // namespace

call_plan plan_of_grid_in_order(const algorithm& member, const problem& p, const device& where) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (member.name != variants[i].name) continue;
    return visit_bits(p.type,
                      [&]<class T>(T) { return grid_plan_in_order<T>(shapes[i], p, where); });
  }
  return call_plan::refused("its answers are put in order by a step of their own");
}

call_plan plan_in_order(const algorithm& member, const problem& p, const device& where) {
  const call_plan of_grid = plan_of_grid_in_order(member, p, where);
  return of_grid ? of_grid : plan_of_block_in_order(member, p, where);
}

}  // namespace kselect::bms

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_grid() { return bms::variants; }

}  // namespace kselect::entries
