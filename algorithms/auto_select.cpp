// `auto`: the algorithm that is expected to be fastest for a problem on a device. An entry like any
// other, so it is tested, measured and plotted beside its members.
//
// The rules follow from what limits each member: how much of the card the rows fill, whether a row
// stays in registers, and whether what a threshold lets through fits on chip. They do not know a
// particular card.

#include <array>
#include <cstdint>
#include <span>

#include "kselect/choose.hpp"

namespace kselect::entries {
// Members, as the files that define them declare them. Not looked up in the registry: a program
// that links the library then takes along these alone.
std::span<const algorithm> buffered_multi_select_block();
std::span<const algorithm> buffered_multi_select_grid();
std::span<const algorithm> radix_select();
std::span<const algorithm> quick_multi_select();
std::span<const algorithm> heap_queue();
std::span<const algorithm> one_pass_select();
std::span<const algorithm> nth_element();
}  // namespace kselect::entries

namespace kselect {
namespace {

using entries_of_file = std::span<const algorithm> (*)();

struct rule {
  entries_of_file file;
  std::string_view member;
  bool (*applies)(const problem&, const device&);
  std::string_view reason;
};

bool always(const problem&, const device&) { return true; }

// A block alone takes a row in some twenty microseconds for every 2^17 elements, several take it in
// about ten more than that divided among them.
bool few_long_rows(const problem& p, const device& where) {
  if (where.kind != executor_kind::cuda) return p.q < 4 && p.n > 16384;
  if (8 * p.q <= where.multiprocessors) return p.n > 16384;
  return 4 * p.q <= 3 * where.multiprocessors && p.n >= std::int64_t{1} << 19;
}
bool fits_a_warp(const problem& p, const device&) { return p.n <= 1024; }
bool by_columns(const problem& p, const device&) { return p.layout == layout::column_major; }
bool kth_alone(const problem& p, const device&) { return p.payload == payload::kth_value; }

bool worth_threads(const problem& p, const device& where) {
  return where.threads > 1 && p.n * p.q >= std::int64_t{1} << 16;
}

// The first that applies and supports the problem is taken.
constexpr std::array gpu_rules = {
    rule{&entries::radix_select, "radix-select", &kth_alone, "only the k-th value is wanted"},
    rule{&entries::heap_queue, "tang/heap+full_buffer+partition4", &by_columns,
         "in column-major rows neighbouring lanes read neighbouring rows"},
    rule{&entries::buffered_multi_select_grid, "bms-grid", &few_long_rows,
         "so few rows that a block each would leave most of the card idle"},
    rule{&entries::buffered_multi_select_block, "bms-warp", &fits_a_warp,
         "a row fits into the registers of one warp"},
    rule{&entries::buffered_multi_select_block, "bms-block", &always,
         "each row read once, its survivors kept on chip"},
    rule{&entries::radix_select, "radix-select", &always,
         "more survivors than a multiprocessor's shared memory holds"},
    rule{&entries::quick_multi_select, "qms-block", &always, "nothing faster takes it"},
};

constexpr std::array cpu_rules = {
    rule{&entries::one_pass_select, "one-pass+omp", &worth_threads,
         "each row read once by vectors, enough work for several threads"},
    rule{&entries::one_pass_select, "one-pass", &always, "each row read once by vectors"},
    rule{&entries::nth_element, "cpu/nth_element+omp", &worth_threads,
         "enough work for several threads"},
    rule{&entries::nth_element, "cpu/nth_element", &always, "too little work for several threads"},
};

const algorithm* member_of(const rule& r) {
  for (const algorithm& entry : r.file()) {
    if (entry.name == r.member) return &entry;
  }
  return nullptr;
}

support supports(const problem& p, const device& where) {
  if (choose_algorithm(p, where).member != nullptr) return supported();
  return unsupported("no member of auto takes this problem");
}

std::size_t workspace(const problem& p, const device& where) {
  const algorithm* const member = choose_algorithm(p, where).member;
  return member == nullptr || member->workspace == nullptr ? 0 : member->workspace(p, where);
}

status enqueue(const problem& p, const io& buffers, std::span<std::byte> memory,
               const executor& on) {
  const algorithm* const member = choose_algorithm(p, *on.device).member;
  if (member == nullptr) return {status_code::unsupported, "no member of auto takes this problem"};
  return member->enqueue(p, buffers, memory, on);
}

constexpr algorithm entry() {
  algorithm a;
  a.name = "auto";
  a.family = "auto";
  a.source = "kselect";
  a.executors = set_of(executor_kind::cpu, executor_kind::fiber, executor_kind::cuda);
  a.dtypes = set_of(dtype::float32, dtype::float64);
  a.payloads = set_of(payload::values, payload::values_and_indices, payload::kth_value);
  a.layouts = set_of(layout::row_major, layout::column_major);
  a.supports = &supports;
  a.workspace = &workspace;
  a.enqueue = &enqueue;
  return a;
}

constexpr std::array all = {entry()};

}  // namespace

choice choose_algorithm(const problem& p, const device& where) {
  const std::span<const rule> rules =
      where.kind == executor_kind::cpu ? std::span<const rule>(cpu_rules) : gpu_rules;
  for (const rule& r : rules) {
    if (!r.applies(p, where)) continue;
    const algorithm* const member = member_of(r);
    if (member != nullptr && check_support(*member, p, where)) return {member, r.reason};
  }
  return {};
}

}  // namespace kselect

namespace kselect::entries {

std::span<const algorithm> auto_select() { return all; }

}  // namespace kselect::entries
