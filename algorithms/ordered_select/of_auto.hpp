#pragma once
// Ordered selection by `auto`: its member, followed by the steps of ordered_select.cu. On
// the CPU all members prefer smaller indices. Their answers only have to be sorted, and both forms
// are the same. Included by auto_select.cpp alone.

#include <algorithm>

#include <omp.h>

#include "algorithms/auto_select/admitted.hpp"
#include "algorithms/auto_select/choose.hpp"
#include "algorithms/ordered_select/host_nan.hpp"
#include "algorithms/ordered_select/ordered.hpp"
#include "kselect/ragged.hpp"

namespace kselect::ordered {

// ---- on the CPU

// A thread without a row, or with little to sort, costs more than it saves.
inline int sorting_threads(const problem& p, const device& where) {
  if (p.q * p.k < std::int64_t{1} << 14) return 1;
  return static_cast<int>(std::min<std::int64_t>(where.threads, p.q));
}

inline std::size_t sorting_bytes(const problem& p, int threads) {
  if (!p.has_indices()) return 0;
  return visit_words(p.type, [&]<class T>(T) {
    return (static_cast<std::size_t>(p.k * threads) * sizeof(sortable<T>) + 255) / 256 * 256;
  });
}

template <class T, class Index>
void sort_row(const problem& p, std::int64_t count, T* values, Index* indices, sortable<T>* own) {
  const auto by = order_in<T>(p.type, p.direction);
  for (std::int64_t j = 0; j < count; ++j) {
    own[j] = keyed_candidate<T>::make(selection_key(values[j], by), indices[j]);
  }
  std::sort(own, own + count);
  for (std::int64_t j = 0; j < count; ++j) {
    values[j] = from_selection_key<T>(keyed_candidate<T>::key(own[j]), by);
    indices[j] = static_cast<Index>(keyed_candidate<T>::index(own[j]));
  }
}

template <class T>
void sort_row(const problem& p, std::int64_t count, T* values) {
  const auto by = order_in<T>(p.type, p.direction);
  std::sort(values, values + count,
            [by](T a, T b) { return selection_key(a, by) < selection_key(b, by); });
}

// The same of answers in which NaN is last or first.
inline void sort_nan_answers(const problem& p, const io& buffers, std::span<std::byte> memory,
                             int threads) {
  visit_number(p.type, [&]<class T>(T) {
    auto* const own = reinterpret_cast<sortable<T>*>(memory.data());
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (std::int64_t r = 0; r < p.q; ++r) {
      host_nan_row<T> row(p, buffers, r);
      row.settle(true);
      row.sort(own + omp_get_thread_num() * p.k);
      if (p.map != row_numbers::none) map_row(p, buffers, r, row.count());
    }
  });
}

inline void sort_answers(const problem& p, const io& buffers, std::span<std::byte> memory,
                         int threads) {
  if (p.nan != nan_order::total_order) return sort_nan_answers(p, buffers, memory, threads);
  visit_words(p.type, [&]<class T>(T) {
    visit(p.index, [&]<class Index>(Index) {
      auto* const own = reinterpret_cast<sortable<T>*>(memory.data());
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
      for (std::int64_t r = 0; r < p.q; ++r) {
        T* const values = static_cast<T*>(buffers.values) + r * p.k;
        // Of a short row, what stands for no element stays behind.
        const std::int64_t count =
            p.ragged() ? selected_of(p, buffers, r, extent_of(p, buffers, r).length) : p.k;
        if (p.has_indices()) {
          sort_row(p, count, values, static_cast<Index*>(buffers.indices) + r * p.k,
                   own + omp_get_thread_num() * p.k);
        } else {
          sort_row(p, count, values);
        }
        if (p.map != row_numbers::none) map_row(p, buffers, r, count);
      }
    });
  });
}

// The decisions of a call.
struct sorted_call {
  member_plan member;
  int threads;  // that sort
};

inline status start_sorted(const sorted_call& c, const problem& p, const io& buffers,
                           std::span<std::byte> memory, const executor& on) {
  status done = c.member.enqueue(buffers, memory.first(c.member.workspace()), on);
  if (done.ok()) sort_answers(p, buffers, memory, c.threads);
  return done;
}

inline call_plan plan_sorted(const call_plan& member, const problem& p, const device& where) {
  const member_plan first(member);
  if (!first) return call_plan::refused(first.reason());
  const int threads = sorting_threads(p, where);
  return call_plan::of<&start_sorted>(p, std::max(first.workspace(), sorting_bytes(p, threads)),
                                      sorted_call{first, threads});
}

// ---- the entries

inline choice choose_ordered(const problem& p, const device& where, answer_order wanted) {
  if (p.payload == payload::kth_value) return choose_algorithm(p, where);
  if (!p.has_values()) return choose_ordered(with_values(p), where, wanted);
  if (p.mask != mask_bits::none) {
    return admitted::choose(p, where, [&](const problem& rows, const device& own) {
      return choose_ordered(rows, own, wanted);
    });
  }
  const bool on_host = where.kind == executor_kind::cpu;
  problem asked = on_host ? in_total_order(without_map(p)) : in_positions(p);
  const bool of_ties = !on_host && wanted == answer_order::stable && p.has_indices() && p.k < p.n;
  choice found;
  if (!of_ties || p.k == 1) found = choose_algorithm(asked, where);
  // For k = 1 there is a member that settles ties itself. All others are asked for a few elements
  // more, and the choice of `auto` may depend on it.
  const bool settled = found.member != nullptr &&
                       found.member->promises.tie_break == tie_break::prefer_smaller_index;
  if (of_ties && !settled) {
    found = {};
    for (auto extra = extra_for_ties(p, where); extra > 0 && found.member == nullptr; --extra) {
      asked.k = p.k + extra;
      found = choose_algorithm(asked, where);
    }
  }
  if (found.member == nullptr) return found;
  found.plan =
      on_host ? plan_sorted(found.plan, p, where) : plan_ordered(*found.member, p, where, wanted);
  return found.plan ? found : choice{};
}

// The entry `auto` with ordered answers, for the registry.
template <answer_order wanted>
struct of_auto {
  static call_plan plan_for(const problem& p, const device& where) {
    return choose_ordered(p, where, wanted).plan;
  }

  static constexpr algorithm entry(std::string_view name, algorithm plain) {
    plain.name = name;
    plain.promises = promises_of(plain.promises, wanted);
    plain.plan = &plan_for;
    // The steps that order an answer need its values.
    plain.payloads = set_of(payload::values, payload::values_and_indices, payload::kth_value);
    return plain;
  }
};

}  // namespace kselect::ordered
