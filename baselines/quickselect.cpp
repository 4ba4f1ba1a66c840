// Vectorised quickselect on a whole row: our own version of Highway's (highway_vqselect.cpp) and
// x86-simd-sort's. Hoare's algorithm 65 (1961) with pivots chosen as by Floyd & Rivest ("Expected
// time bounds for selection", 1975).
//
// The row is copied as keys and positions. Two keys of a sample nearly always enclose the k-th. One
// pass keeps the fifth of the keys that lies between them, which is searched in the same way
// (algorithms/one_pass_select/order_statistic.hpp). A last pass of compress takes the keys below
// the k-th and as many ties as are wanted, in the order of the row. So n elements are copied and
// about 2.3 n read, for any k, without a branch that depends on the values. Our own selection
// (one-pass) adds a threshold, which saves the copy.
//
// Our tuning: keys and positions are in separate arrays, so that a vector comparison covers twice
// the elements. Pivots come from samples of 32 and 64, ranked by comparing all with all. (We tried
// both sizes and the margin around the pivots on uniform, sorted and tied rows.) +omp gives rows to
// threads.
//
// Entries: cpu/quickselect

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <omp.h>

// clang-format off: the file is compiled once a target from here on (targets.hpp)
#define KSELECT_TARGETS "baselines/quickselect.cpp"
#include "algorithms/one_pass_select/targets.hpp"
// clang-format on

#include "algorithms/one_pass_select/entry.hpp"
#include "algorithms/one_pass_select/lanes.hpp"
#include "algorithms/one_pass_select/select_row.hpp"
#include "kselect/algorithm.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {
namespace {

// The memory of one thread: the keys and positions of a row, and the lists of the search.
struct quickselect_memory {
  std::int64_t list, scratch;

  static quickselect_memory of(const problem& p) {
    const std::int64_t list = rounded(p.n + padding);
    return {list, rounded(order_statistic_scratch(p.n))};
  }
  std::int64_t keys() const { return 2 * list + scratch; }

 private:
  // Rounds up to whole cache lines, so that threads share none.
  static constexpr std::int64_t rounded(std::int64_t keys) { return (keys + 15) / 16 * 16; }
};

template <class T, bool with_indices>
void quickselect_row(const problem& p, std::int64_t row, const io& buffers,
                     const quickselect_memory& needs, key_of<T>* own) {
  using lanes = best_lanes<key_of<T>>;
  const key_row<T> keys(static_cast<const T*>(buffers.input) + p.offset(row, 0), p.n, p.direction);
  hit_list<key_of<T>> list{own, own + needs.list, 0};
  key_of<T>* const scratch = own + 2 * needs.list;
  take_all<lanes, with_indices>(keys, list);
  const auto values = [&] { return static_cast<T*>(buffers.values) + row * p.outputs_per_row(); };
  if (p.payload == payload::kth_value) {
    *values() = keys.value(kth_smallest<lanes>(list.keys, p.n, p.k - 1, scratch).key);
    return;
  }
  cut<lanes, with_indices>(list, p.k, scratch);
  if (p.has_values()) {
    T* const to = values();
    for (std::int64_t j = 0; j < p.k; ++j) to[j] = keys.value(list.keys[j]);
  }
  if constexpr (with_indices) {
    visit(p.index, [&]<class Index>(Index) {
      Index* const indices = static_cast<Index*>(buffers.indices) + row * p.k;
      for (std::int64_t j = 0; j < p.k; ++j) indices[j] = static_cast<Index>(list.indices[j]);
    });
  }
}

std::size_t quickselect_bytes(const problem& p, int threads) {
  return static_cast<std::size_t>(quickselect_memory::of(p).keys() * threads) * size_of(p.type);
}

void quickselect_rows(const problem& p, const io& buffers, std::span<std::byte> memory, int threads,
                      bool parallel) {
  const auto needs = quickselect_memory::of(p);
  visit(p.type, [&]<class T>(T) {
    auto* const keys = reinterpret_cast<key_of<T>*>(memory.data());
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (parallel)
    for (std::int64_t row = 0; row < p.q; ++row) {
      key_of<T>* const own = keys + needs.keys() * omp_get_thread_num();
      if (p.has_indices()) {
        quickselect_row<T, true>(p, row, buffers, needs, own);
      } else {
        quickselect_row<T, false>(p, row, buffers, needs, own);
      }
    }
  });
}

}  // namespace
}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#if KSELECT_TARGETS_DONE
namespace kselect::one_pass {
namespace {

KSELECT_EXPORT(quickselect_rows);

template <bool parallel>
int thread_count(const problem& p, const device& where) {
  return parallel ? static_cast<int>(std::min<std::int64_t>(where.threads, p.q)) : 1;
}

template <bool parallel>
status start(const int& threads, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor&) {
  KSELECT_DISPATCH(quickselect_rows)(p, buffers, memory, threads, parallel);
  return {};
}

template <bool parallel>
call_plan plan_for(const problem& p, const device& where) {
  const int threads = thread_count<parallel>(p, where);
  return call_plan::of<&start<parallel>>(p, KSELECT_TARGET::quickselect_bytes(p, threads), threads);
}

template <bool parallel>
constexpr algorithm entry(std::string_view name) {
  algorithm a = entry_on_lanes(name, "quickselect", "ours; Hoare 1961, Floyd & Rivest 1975");
  a.dtypes = set_of(dtype::float32, dtype::float64);
  a.threaded = parallel;
  a.plan = &plan_for<parallel>;
  return a;
}

constexpr std::array variants = {
    entry<false>("cpu/quickselect"),
    entry<true>("cpu/quickselect+omp"),
};

}  // namespace
}  // namespace kselect::one_pass

namespace kselect::entries {

std::span<const algorithm> quickselect() { return one_pass::variants; }

}  // namespace kselect::entries
#endif
