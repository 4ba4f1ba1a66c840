#pragma once
// The registry's entries of the queue family: their names and contracts. A queue's file lists its
// compositions (`queue_entries`).
//
// Names: tang/QUEUE [+lockstep] [+BUFFER] [+flag] [+partitionG] [+mM] [+bB] [+MEMORY]
//   QUEUE     insertion, heap, merge, merge_aligned
//   lockstep  the paper's order of visits, which its figures compare; without it, lanes skip ahead
//   BUFFER    buffer: emptied by its lane; full_buffer: by the warp; sorted_buffer: and local sort
//   flag      the paper's shared flag, where others vote
//   G         elements of a group: 2, 4 or 8
//   M, B      slots of the merge queue's first level (default 8); of the buffer (default 16)
//   MEMORY    local, shared, global; default: shared if two warps a multiprocessor fit, else global

#include <array>
#include <span>
#include <string_view>

#include "algorithms/queues/queue_select.cuh"
#include "kselect/algorithm.hpp"

namespace kselect::queues {

// A name as above, built at compile time.
class entry_name {
 public:
  constexpr entry_name(std::string_view queue, const variant& v) {
    append("tang/");
    append(queue);
    if (v.lockstep) append("+lockstep");
    append(v.how == buffering::own      ? "+buffer"
           : v.how == buffering::full   ? "+full_buffer"
           : v.how == buffering::sorted ? "+sorted_buffer"
                                        : "");
    if (v.by_flag) append("+flag");
    if (v.log_g != 0) append("+partition", 1 << v.log_g);
    if (v.m != variant{}.m) append("+m", v.m);
    if (v.buffer != variant{}.buffer) append("+b", v.buffer);
    append(v.where == memory::local    ? "+local"
           : v.where == memory::shared ? "+shared"
           : v.where == memory::global ? "+global"
                                       : "");
  }
  constexpr std::string_view text() const { return {text_.data(), size_}; }

 private:
  constexpr void append(std::string_view part) {
    for (const char c : part) text_[size_++] = c;
  }
  constexpr void append(std::string_view part, int number) {
    append(part);
    if (number >= 10) text_[size_++] = static_cast<char>('0' + number / 10);
    text_[size_++] = static_cast<char>('0' + number % 10);
  }

  std::array<char, 64> text_{};
  std::size_t size_ = 0;
};

template <class Queue, variant v>
inline constexpr entry_name name_of{Queue::name, v};

template <class Queue, variant v>
constexpr algorithm entry() {
  algorithm a;
  a.name = name_of<Queue, v>.text();
  a.family = "queue";
  a.source = Queue::source;
  a.promises.ordering = Queue::ordering;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  // No atomics. But what lanes tell each other depends on the warp's rows and can change the order
  // of an answer. In lockstep these rows are the same everywhere, else, by `warps_of`, not.
  const bool alone = v.how == buffering::none && !Queue::aligned;
  a.promises.determinism = alone || v.lockstep ? determinism::gpu_to_gpu : determinism::run_to_run;
  a.promises.limits.max_n = v.log_g == 0 ? longest_scan : 0x7fffffff;
  a.promises.limits.max_k = largest_k;
  a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
  if (runs_natively<Queue>(v)) {
    a.executors = set_of(executor_kind::cpu, executor_kind::fiber, executor_kind::cuda);
  }
  a.dtypes = set_of(dtype::float32, dtype::float64);
  a.layouts = set_of(layout::column_major);
  a.plan = [](const problem& p, const device& where) {
    return plan_with<Queue, code_of(v)>(v, p, where);
  };
  return a;
}

// The paper's compositions of a queue in its order of visits: Fig. 6, Fig. 7 and 8, Fig. 9; and a
// buffer whose lanes tell each other by the paper's flag.
template <class Queue>
inline constexpr std::array in_lockstep = {
    entry<Queue, variant{.lockstep = true}>(),
    entry<Queue, variant{.how = buffering::own, .lockstep = true}>(),
    entry<Queue, variant{.how = buffering::full, .lockstep = true}>(),
    entry<Queue, variant{.how = buffering::full, .lockstep = true, .by_flag = true}>(),
    entry<Queue, variant{.how = buffering::sorted, .lockstep = true}>(),
    entry<Queue, variant{.log_g = 1, .lockstep = true}>(),
    entry<Queue, variant{.log_g = 2, .lockstep = true}>(),
    entry<Queue, variant{.log_g = 3, .lockstep = true}>(),
    entry<Queue, variant{.how = buffering::full, .log_g = 2, .lockstep = true}>(),
    entry<Queue, variant{.how = buffering::sorted, .log_g = 2, .lockstep = true}>()};

// Each way to reach a queue with groups of 2^log_g, or without a partition (0), skipping.
template <class Queue, int log_g>
inline constexpr std::array ways = {entry<Queue, variant{buffering::none, log_g}>(),
                                    entry<Queue, variant{buffering::own, log_g}>(),
                                    entry<Queue, variant{buffering::full, log_g}>(),
                                    entry<Queue, variant{buffering::sorted, log_g}>()};

template <std::size_t... sizes>
constexpr auto joined(const std::array<algorithm, sizes>&... parts) {
  std::array<algorithm, (sizes + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& part) {
    for (const algorithm& a : part) all[next++] = a;
  };
  (append(parts), ...);
  return all;
}

// The compositions of a queue, and `others`.
template <class Queue, variant... others>
inline constexpr auto queue_entries =
    joined(ways<Queue, 0>, ways<Queue, 1>, ways<Queue, 2>, ways<Queue, 3>, in_lockstep<Queue>,
           std::array<algorithm, sizeof...(others)>{entry<Queue, others>()...});

}  // namespace kselect::queues
