#pragma once
// The common part of the CPU baselines. A baseline is one function on one row. It runs for one row
// after another (Komarov et al. 2014, Fig. 9; "CPU_1" of Tang et al. 2015, Table I) or with one
// thread a row ("CPU_p"). Types, layouts, payloads and threads are handled here.
//
// A row is read as *candidates* (candidate.hpp): integers in the total order on bits, ties by
// ascending index. A candidate costs a shift and an OR. This is faster than comparing pairs, on
// which std:: algorithms would branch twice. Elements are words, so that all types of a width share
// code.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <omp.h>

#include "kselect/algorithm.hpp"
#include "kselect/candidate.hpp"
#include "kselect/order.hpp"
#include "kselect/ragged.hpp"

namespace kselect::baselines {

// One row as candidates: row[i] for 0 <= i < size().
template <class T, class Candidate, bool contiguous>
class candidate_row {
 public:
  candidate_row(const T* first, std::int64_t stride, std::int64_t n, order_t<T> wanted)
      : first_(first), stride_(stride), n_(n), wanted_(wanted) {}
  std::int64_t size() const { return n_; }
  typename Candidate::type operator[](std::int64_t i) const {
    return Candidate::make(selection_key(first_[contiguous ? i : i * stride_], wanted_), i);
  }
  order_key_t<T> key_at(std::int64_t i) const {
    return selection_key(first_[contiguous ? i : i * stride_], wanted_);
  }
  // The least key of `count` elements; vectorised if they are contiguous.
  order_key_t<T> least_key(std::int64_t first, std::int64_t count) const {
    auto least = static_cast<order_key_t<T>>(~order_key_t<T>{0});
    for (std::int64_t i = first; i < first + count; ++i) {
      least = std::min(least, key_at(i));
    }
    return least;
  }
  static order_key_t<T> key(typename Candidate::type c) {
    return static_cast<order_key_t<T>>(Candidate::key(c));
  }
  static typename Candidate::type candidate(order_key_t<T> key, std::int64_t i) {
    return Candidate::make(key, i);
  }

 private:
  const T* first_;
  std::int64_t stride_;
  std::int64_t n_;
  order_t<T> wanted_;
};

// Copies the whole row, for algorithms that partition in place.
template <class Row, class C>
void copy_row(const Row& row, C* scratch) {
  for (std::int64_t i = 0; i < row.size(); ++i) scratch[i] = row[i];
}

// Replaces the selector of an adapter whose library is missing. It is never called, because such an
// entry has algorithm::missing.
struct absent_selector {
  static std::int64_t scratch(std::int64_t, std::int64_t) { return 0; }
  template <class Row, class Candidate>
  static void select(const Row&, std::int64_t, Candidate*) {}
};

// A selector provides
//   static std::int64_t scratch(n, k)                  candidates it needs for one row
//   static void select(row, k, scratch)                leaves the k best in scratch[0..k)
template <class Selector, bool parallel>
struct cpu_rows {
  // A thread without a row would only cost its start.
  static int threads_for(const problem& p, const device& where) {
    return parallel ? static_cast<int>(std::min<std::int64_t>(where.threads, p.q)) : 1;
  }

  static call_plan plan(const problem& p, const device& where) {
    const int threads = threads_for(p, where);
    return visit_words(p.type, [&]<class T>(T) {
      // Sorting libraries take no integers of 8 bits.
      using bare = word<std::conditional_t<sizeof(T) == 1, std::uint16_t, order_key_t<T>>>;
      return p.has_indices() ? plan_with<T, keyed_candidate<T>>(p, threads)
                             : plan_with<T, bare_candidate<bare>>(p, threads);
    });
  }

 private:
  template <class T, class Candidate>
  static call_plan plan_with(const problem& p, int threads) {
    const std::int64_t candidates = Selector::scratch(p.n, p.k) * threads;
    return call_plan::of<&rows<T, Candidate>>(
        p, static_cast<std::size_t>(candidates) * sizeof(typename Candidate::type), threads);
  }

  template <class T, class Candidate>
  static status rows(const int& threads, const problem& p, const io& buffers,
                     std::span<std::byte> workspace, const executor&) {
    using candidate = typename Candidate::type;
    auto* const scratch = reinterpret_cast<candidate*>(workspace.data());
    const std::int64_t stride = p.offset(0, 1) - p.offset(0, 0);
    const auto by = order_in<T>(p.type, p.direction);
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (parallel)
    for (std::int64_t r = 0; r < p.q; ++r) {
      candidate* const own = scratch + Selector::scratch(p.n, p.k) * omp_get_thread_num();
      const row_extent e = p.ragged() ? extent_of(p, buffers, r) : row_extent{p.offset(r, 0), p.n};
      const std::int64_t wanted = p.ragged() ? selected_of(p, buffers, r, e.length) : p.k;
      const T* const first = static_cast<const T*>(buffers.input) + e.first;
      if (p.ragged()) fill_row(p, buffers, r, wanted);
      if (wanted == 0) continue;
      if (stride == 1) {
        Selector::select(candidate_row<T, Candidate, true>(first, 1, e.length, by), wanted, own);
      } else {
        Selector::select(candidate_row<T, Candidate, false>(first, stride, e.length, by), wanted,
                         own);
      }
      write<T, Candidate>(p, r, own, buffers, wanted);
    }
    return {};
  }

  template <class T, class Candidate>
  static void write(const problem& p, std::int64_t row, const typename Candidate::type* best,
                    const io& buffers, std::int64_t wanted) {
    const auto by = order_in<T>(p.type, p.direction);
    const auto value = [by](typename Candidate::type c) {
      return from_selection_key<T>(static_cast<order_key_t<T>>(Candidate::key(c)), by);
    };
    if (p.payload == payload::kth_value) {
      static_cast<T*>(buffers.values)[row] = value(*std::max_element(best, best + p.k));
      return;
    }
    if (p.has_values()) {
      T* const to = static_cast<T*>(buffers.values) + row * p.k;
      for (std::int64_t j = 0; j < wanted; ++j) {
        to[j] = value(best[j]);
      }
    }
    if (!p.has_indices()) return;
    visit(p.index, [&]<class Index>(Index) {
      Index* const indices = static_cast<Index*>(buffers.indices) + row * p.k;
      for (std::int64_t j = 0; j < wanted; ++j) {
        indices[j] = static_cast<Index>(Candidate::index(best[j]));
      }
    });
  }
};

// The registry entry of one selector, serial or with OpenMP over rows.
template <class Selector, bool parallel>
constexpr algorithm cpu_entry(std::string_view name, std::string_view family,
                              std::string_view source, output_ordering ordering) {
  algorithm entry;
  entry.name = name;
  entry.family = family;
  entry.source = source;
  entry.promises.ordering = ordering;
  entry.promises.tie_break = tie_break::prefer_smaller_index;
  // The order of an unsorted answer is that of the standard library's partition.
  entry.promises.determinism =
      ordering == output_ordering::unsorted ? determinism::run_to_run : determinism::gpu_to_gpu;
  entry.promises.limits.max_n = std::numeric_limits<std::uint32_t>::max();
  entry.promises.synchronises = true;
  entry.executors = set_of(executor_kind::cpu);
  entry.dtypes = every_dtype;
  entry.payloads =
      set_of(payload::values, payload::values_and_indices, payload::kth_value, payload::indices);
  entry.layouts = set_of(layout::row_major, layout::column_major);
  entry.threaded = parallel;
  entry.ragged = entry.executors;
  entry.plan = &cpu_rows<Selector, parallel>::plan;
  return entry;
}

}  // namespace kselect::baselines
