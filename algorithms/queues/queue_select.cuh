#pragma once
// k-selection with a queue for each row: Tang, Huang, Eyers, Mills & Guo, "Efficient Selection
// Algorithm for Fast k-NN Search on GPUs", IPDPS 2015. This header composes algorithms of
//
//   a queue              insertion_queue.cuh, heap_queue.cuh, merge_queue.cuh
//   x a way to reach it  search.cuh: directly, or through a buffer
//   x its candidates     all elements, or those that hierarchical_partition.cuh leaves
//   x its memory         slots.cuh: local, shared or global
//
// One thread a row, 32 rows a block. With Q = 2^13 queries an H200 has two warps a multiprocessor:
// latencies are exposed, and larger blocks would leave multiprocessors empty. The file of a queue
// lists its registered compositions (`queue_entries`).
//
// Names: tang/QUEUE [+BUFFER] [+partitionG] [+mM] [+bB] [+MEMORY]
//   QUEUE   insertion, heap, merge, merge_aligned
//   BUFFER  buffer (emptied by its lane), full_buffer (by the warp), sorted_buffer (and local sort)
//   G       elements of a group: 2, 4, 8
//   M, B    slots of the merge queue's first level (default 8); of the buffer (default 16)
//   MEMORY  local, shared, global; default: shared if two warps a multiprocessor fit, else global
//
// Cost of a row: n reads. A partition reads all elements, too, and then G k elements of each of its
// log_G(n/k) levels. A row in random order has about k (1 + ln(n/k)) insertions.
//
// Entries with neither buffers nor aligned merges, which need several lanes, also run natively:
// simt::host makes each row a warp of one lane, row after row.

#include <array>
#include <span>
#include <string_view>

#include "algorithms/queues/hierarchical_partition.cuh"
#include "algorithms/queues/matrix.cuh"
#include "algorithms/queues/search.cuh"
#include "algorithms/queues/slots.cuh"
#include "kselect/algorithm.hpp"
#include "kselect/simt/carver.hpp"
#include "kselect/simt/host.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::queues {

enum class memory : std::uint8_t { fitting, local, shared, global };

// What distinguishes a queue's registry entries.
struct variant {
  buffering how = buffering::none;
  int log_g = 0;  // 0: no partition
  int m = 8;
  int buffer = 16;
  memory where = memory::fitting;
};

inline constexpr int largest_k = 4096;
inline constexpr int largest_local_k = 256;
inline constexpr int largest_buffer = 64;
// Without a partition a single thread reads the whole row: longer ones would take minutes.
inline constexpr std::int64_t longest_scan = std::int64_t{1} << 26;
inline constexpr int scan_loads = 32;  // elements of a row loaded at a time
inline constexpr int most_warps = 4;   // warps that share a block's rows

// ---- device side

template <class T, class Candidate>
struct search_args {
  matrix_view<T> matrix;
  levels_view<T> levels;                          // of a partition
  simt::global<position> groups;                  // k for each lane, interleaved in warps
  simt::global<typename Candidate::type> queues;  // k + buffer for each lane, likewise
  int m, buffer;
  buffering how;
};

// Selects from the lane's row. `own` has room for the queue and the buffer.
template <class Queue, class Candidate, bool buffered, bool partitioned, class Simt, class T,
          class Slots>
KSELECT_HD void select_row(const lanes<Simt>& warp, const search_args<T, Candidate>& a,
                           std::int64_t row, Slots own, const group_list<Simt>& groups) {
  using counted = queue_slots<Simt, Slots>;
  using queue_type = typename Queue::template queue<counted>;
  const int k = a.matrix.k;
  counted slots(warp.simt, own, k);
  for (int j = 0; j < k; ++j) slots.set(j, no_candidate<Candidate>);
  queue_type queue(slots, a.m);

  const auto run = [&](auto search) {
    if constexpr (partitioned) {
      top_down_search<Candidate, Simt, T, counted, queue_type, decltype(search)>(
          warp, a.matrix, a.levels, row, slots, queue, search, groups)
          .run();
    } else {
      for (position first = 0; first < a.matrix.n; first += scan_loads) {
        position at[scan_loads];
        order_key_t<T> keys[scan_loads];
        typename Slots::entry seen[scan_loads];
        KSELECT_UNROLL
        for (int u = 0; u < scan_loads; ++u) {
          at[u] = first + static_cast<position>(u);
          if (at[u] >= a.matrix.n) at[u] = first;
        }
        load_keys(warp.simt, a.matrix, row, at, keys);
        KSELECT_UNROLL
        for (int u = 0; u < scan_loads; ++u) {
          const bool real = u == 0 || at[u] != first;
          seen[u] = real ? Candidate::make(keys[u], at[u]) : no_candidate<Candidate>;
        }
        offer_all(warp, search, seen, [&](int u) {
          const position place = first + static_cast<position>(u);
          return Candidate::make(key_at(warp.simt, a.matrix, row, place), place);
        });
      }
      search.finish();
    }
  };
  if constexpr (buffered) {
    run(buffered_search<Simt, queue_type, Slots>(warp, queue, own.from(k), a.buffer, a.how));
  } else {
    run(direct_search<Simt, queue_type>(warp, queue));
  }
  write_answer<Candidate>(warp.simt, a.matrix, row, slots);
}

template <class Queue, class T, class Candidate, bool buffered, bool partitioned, memory where>
struct search_kernel {
  static constexpr int max_threads = most_warps * simt::warp_size;
  using entry = typename Candidate::type;
  using args = search_args<T, Candidate>;
  struct storage {};

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t first_row = std::int64_t{simt.block()} * block_rows;
    const int warp_rows = block_rows / simt.warps();
    const int number = simt.warp() * warp_rows + simt.lane();  // the row's number in the block
    const std::int64_t row = first_row + number;
    const bool has_row = simt.lane() < warp_rows && row < a.matrix.rows;
    const std::uint32_t mask = simt.ballot(simt::full_mask, has_row);
    if (!has_row) return;
    const lanes<Simt> warp{simt, mask};
    const group_list<Simt> groups{simt, a.groups, first_row * a.matrix.k + number, block_rows};
    const auto select = [&](auto own) {
      select_row<Queue, Candidate, buffered, partitioned>(warp, a, row, own, groups);
    };
    if constexpr (where == memory::shared) {
      select(plain_slots<entry, block_rows>(static_cast<entry*>(simt.dynamic_shared()) + number));
    } else if constexpr (where == memory::global) {
      select(
          global_slots<Simt, entry>(simt, a.queues, first_row * (a.matrix.k + a.buffer) + number));
    } else {
      entry own[largest_local_k + largest_buffer];
      select(plain_slots<entry, 1>(own));
    }
  }
};

// ---- host side

template <class Queue, variant v>
inline constexpr bool runs_natively =
    v.how == buffering::none&& v.where == memory::fitting && !Queue::aligned;

template <class T, class Candidate>
struct workspace_view {
  search_args<T, Candidate> search;
  simt::global<typename Candidate::type> own;  // native: the one row's queue and buffer
};

constexpr int buffer_of(const variant& v) { return v.how == buffering::none ? 0 : v.buffer; }

template <class Candidate>
std::size_t shared_bytes(const variant& v, const problem& p) {
  return static_cast<std::size_t>(p.k + buffer_of(v)) * block_rows *
         sizeof(typename Candidate::type);
}

// Warps of a block: one, or as many as give each scheduler of the device a few.
inline int warps_of(const problem& p, const device& where) {
  const std::int64_t enough =
      where.kind == executor_kind::cuda ? std::int64_t{16} * where.multiprocessors : 4;
  const std::int64_t blocks = (p.q + block_rows - 1) / block_rows;
  int warps = 1;
  while (warps < most_warps && blocks * warps < enough) warps *= 2;
  return warps;
}

template <class Candidate>
memory memory_of(const variant& v, const problem& p, const device& where) {
  if (v.where != memory::fitting) return v.where;
  return 2 * shared_bytes<Candidate>(v, p) <= where.shared_bytes ? memory::shared : memory::global;
}

template <class T, class Candidate>
workspace_view<T, Candidate> carve(const variant& v, const problem& p, const device& where,
                                   simt::carver& pieces) {
  using entry = typename Candidate::type;
  workspace_view<T, Candidate> w{};
  const bool native = where.kind == executor_kind::cpu;
  const std::int64_t lanes = native ? 1 : (p.q + block_rows - 1) / block_rows * block_rows;
  if (v.log_g != 0) {
    w.search.levels.keys = pieces.take<order_key_t<T>>(shape_levels(w.search.levels, p, v.log_g));
    w.search.groups = pieces.take<position>(lanes * p.k);
  }
  if (native) {
    w.own = pieces.take<entry>(p.k + buffer_of(v));
  } else if (memory_of<Candidate>(v, p, where) == memory::global) {
    w.search.queues = pieces.take<entry>(lanes * (p.k + buffer_of(v)));
  }
  w.search.m = v.m;
  w.search.buffer = buffer_of(v);
  w.search.how = v.how;
  return w;
}

template <class Kernel, bool native>
status run_threads(const typename Kernel::args& a, const executor& on) {
  const std::int64_t threads = Kernel::threads(a);
  if constexpr (native) {
    simt::host simt;
    for (std::int64_t t = 0; t < threads; ++t) Kernel::run_thread(simt, a, t);
    return {};
  } else {
    constexpr int a_block = Kernel::max_threads;
    return simt::launch<Kernel>(on, {(threads + a_block - 1) / a_block, a_block}, a);
  }
}

// Algorithm 4: builds the levels from the row up.
template <int log_g, bool native, class T>
status build_levels(const matrix_view<T>& m, const levels_view<T>& levels, const executor& on) {
  for (int base = 0; base + 1 < levels.count; base += levels_at_once<log_g>) {
    const status built = run_threads<build_kernel<T, log_g>, native>({m, levels, base}, on);
    if (!built.ok()) return built;
  }
  return {};
}

template <class Queue, class T, class Candidate, variant v>
status start_natively(const problem& p, const workspace_view<T, Candidate>& w) {
  simt::host simt;
  const lanes<simt::host> warp{simt, 1U};
  const group_list<simt::host> groups{simt, w.search.groups, 0, 1};
  for (std::int64_t row = 0; row < p.q; ++row) {
    select_row<Queue, Candidate, v.how != buffering::none, v.log_g != 0>(
        warp, w.search, row, plain_slots<typename Candidate::type, 1>(w.own.data), groups);
  }
  return {};
}

template <class Queue, class T, class Candidate, variant v>
status start_kernel(const problem& p, const workspace_view<T, Candidate>& w, const executor& on) {
  const auto launch = [&]<memory where>() {
    using kernel =
        search_kernel<Queue, T, Candidate, v.how != buffering::none, v.log_g != 0, where>;
    const std::size_t shared = where == memory::shared ? shared_bytes<Candidate>(v, p) : 0;
    return simt::launch<kernel>(
        on,
        {(p.q + block_rows - 1) / block_rows, warps_of(p, *on.device) * simt::warp_size, shared},
        w.search);
  };
  if constexpr (v.where == memory::local) {
    return launch.template operator()<memory::local>();
  } else {
    return memory_of<Candidate>(v, p, *on.device) == memory::shared
               ? launch.template operator()<memory::shared>()
               : launch.template operator()<memory::global>();
  }
}

template <class Queue, class T, class Candidate, variant v>
status start(const problem& p, const io& buffers, simt::carver pieces, const executor& on) {
  workspace_view<T, Candidate> w = carve<T, Candidate>(v, p, *on.device, pieces);
  w.search.matrix = matrix_of<T>(p, buffers);
  const auto build_and_search = [&]<bool native>() -> status {
    if constexpr (v.log_g != 0) {
      const status built = build_levels<v.log_g, native>(w.search.matrix, w.search.levels, on);
      if (!built.ok()) return built;
    }
    if constexpr (native) return start_natively<Queue, T, Candidate, v>(p, w);
    return start_kernel<Queue, T, Candidate, v>(p, w, on);
  };
  if constexpr (runs_natively<Queue, v>) {
    if (on.device->kind == executor_kind::cpu) return build_and_search.template operator()<true>();
  }
  return build_and_search.template operator()<false>();
}

// Calls f with the problem's element type and the queue's entry type. A partition finds groups by
// the positions of their leaders, so it needs indices even if only values are wanted.
template <variant v, class F>
auto with_types(const problem& p, F f) {
  return visit(p.type, [&]<class T>(T) {
    if constexpr (v.log_g == 0) {
      if (!p.has_indices()) return f.template operator()<T, bare_candidate<T>>();
    }
    return f.template operator()<T, keyed_candidate<T>>();
  });
}

template <variant v>
std::size_t workspace(const problem& p, const device& where) {
  return with_types<v>(p, [&]<class T, class Candidate>() {
    simt::carver sizes(nullptr);
    carve<T, Candidate>(v, p, where, sizes);
    return sizes.used();
  });
}

template <variant v>
support supports(const problem& p, const device& where) {
  if (v.where == memory::local && p.k > largest_local_k) {
    return unsupported("k > " + std::to_string(largest_local_k) + " in local memory");
  }
  const std::size_t needed = with_types<v>(p, [&]<class T, class Candidate>() {
    return memory_of<Candidate>(v, p, where) == memory::shared ? shared_bytes<Candidate>(v, p) : 0;
  });
  if (where.kind != executor_kind::cpu && needed > where.shared_bytes) {
    return unsupported("queues of k = " + std::to_string(p.k) + " do not fit shared memory");
  }
  return supported();
}

template <class Queue, variant v>
status enqueue(const problem& p, const io& buffers, std::span<std::byte> bytes,
               const executor& on) {
  return with_types<v>(p, [&]<class T, class Candidate>() {
    return start<Queue, T, Candidate, v>(p, buffers, simt::carver(bytes.data()), on);
  });
}

// ---- the registry's entries

// A name as above, built at compile time.
class entry_name {
 public:
  constexpr entry_name(std::string_view queue, const variant& v) {
    append("tang/");
    append(queue);
    append(v.how == buffering::own      ? "+buffer"
           : v.how == buffering::full   ? "+full_buffer"
           : v.how == buffering::sorted ? "+sorted_buffer"
                                        : "");
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
  // No atomics. But the votes of a warp depend on its rows, and so, by `warps_of`, on the GPU: they
  // can change the order of an answer.
  a.promises.determinism = v.how == buffering::none && !Queue::aligned ? determinism::gpu_to_gpu
                                                                       : determinism::run_to_run;
  a.promises.limits.max_n = v.log_g == 0 ? longest_scan : 0x7fffffff;
  a.promises.limits.max_k = largest_k;
  a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
  if (runs_natively<Queue, v>) {
    a.executors = set_of(executor_kind::cpu, executor_kind::fiber, executor_kind::cuda);
  }
  a.dtypes = set_of(dtype::float32, dtype::float64);
  a.layouts = set_of(layout::column_major);
  a.supports = &supports<v>;
  a.workspace = &workspace<v>;
  a.enqueue = &enqueue<Queue, v>;
  return a;
}

// The paper's four ways to reach a queue, with groups of 2^log_g, or without a partition (0).
template <class Queue, int log_g>
inline constexpr std::array ways = {entry<Queue, variant{buffering::none, log_g}>(),
                                    entry<Queue, variant{buffering::own, log_g}>(),
                                    entry<Queue, variant{buffering::full, log_g}>(),
                                    entry<Queue, variant{buffering::sorted, log_g}>()};

// The paper's compositions of a queue, and `others`.
template <class Queue, variant... others>
inline constexpr auto queue_entries = [] {
  std::array<algorithm, 16 + sizeof...(others)> all{
      {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, entry<Queue, others>()...}};
  std::size_t next = 0;
  for (const auto& four : {ways<Queue, 0>, ways<Queue, 1>, ways<Queue, 2>, ways<Queue, 3>}) {
    for (const algorithm& a : four) all[next++] = a;
  }
  return all;
}();

}  // namespace kselect::queues
