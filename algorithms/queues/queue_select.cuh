#pragma once
// k-selection with a queue for each row: Tang, Huang, Eyers, Mills & Guo, "Efficient Selection
// Algorithm for Fast k-NN Search on GPUs", IPDPS 2015. This header composes algorithms of
//
//   a queue              insertion_queue.cuh, heap_queue.cuh, merge_queue.cuh
//   x a way to reach it  search.cuh: directly, or through a buffer; in lockstep, or skipping
//   x its candidates     all elements, or those that hierarchical_partition.cuh leaves
//   x its memory         slots.cuh: local, shared or global
//
// One thread a row, 32 rows a block. With Q = 2^13 queries an H200 has two blocks a multiprocessor:
// latencies are exposed, and larger blocks would leave multiprocessors empty. In lockstep a warp
// has 32 rows, as in the paper, and a block is one warp. Else up to four warps share its rows if
// there are few blocks: fewer lanes then wait for each other. queue_entries.cuh has the names of
// the compositions and the registry's entries.
//
// The entries called +lockstep are the paper's forms. What the paper leaves open, or what differs,
// and how it is here (the other headers list the errors of Algorithms 2 and 4):
//  1. The paper has distances and indices in two arrays (dlist, ilist). Here the index is the place
//     in the row. An element is one integer of the distance's order key and the index, so ties are
//     decided by the index, and NaN has a place in the order.
//  2. The lanes of a warp tell each other by a vote. +flag has the paper's flag in shared memory.
//  3. Steps at which no lane has an element for its queue are left out: elements are loaded 32 at a
//     time, compared with the head at that time, and only those that pass are visited (search.cuh).
//     Likewise groups in which no lane has such an element (hierarchical_partition.cuh).
//  4. The paper does not give the buffer's size (bsize). Here it is 16; +b8 and +b32 have others.
//     Local sort is a bitonic network over all of the buffer, since the paper names no sort.
//  5. In a search by Algorithm 3 what is left in the buffers at the end, and after each level of a
//     partition, is inserted. The paper does not say so.
//  6. Aligned merges: the lanes of a warp that do not insert take part in the flags and the merges.
//     In Algorithm 1 such a lane does not call Algorithm 2; the text means that it is told.
//  7. The paper does not say in which memory the queues are. Here they are in shared memory if two
//     warps a multiprocessor fit, else in global memory; slots of a warp's lanes are interleaved.
//  8. The paper does not say how a heap inserts. Here the new element replaces the root and sinks.
//  9. Several slots are loaded together, and a network takes three steps in registers
//     (sorted_run.cuh). Comparisons and exchanges are those of Fig. 1 and 2.
//
// Cost of a row: n reads. A partition reads all elements, too, and then G k elements of each of its
// log_G(n/k) levels. A row in random order has about k (1 + ln(n/k)) insertions.
//
// Entries with neither buffers nor aligned merges, which need several lanes, also run natively:
// simt::host makes each row a warp of one lane, row after row.

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "algorithms/queues/hierarchical_partition.cuh"
#include "algorithms/queues/matrix.cuh"
#include "algorithms/queues/search.cuh"
#include "algorithms/queues/slots.cuh"
#include "kselect/algorithm.hpp"
#include "kselect/simt/carver.hpp"
#include "kselect/simt/device_size.hpp"
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
  bool lockstep = false;
  bool by_flag = false;  // lanes tell each other by the paper's flag, not by a vote
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
  bool lockstep, by_flag;
};

// A block's shared memory if its lanes tell each other something (lanes::told).
struct warp_flags {
  int of_warp[most_warps];
};
struct no_flags {};

// Offers all elements of the lane's row to `search`, a few loads at a time.
template <class Candidate, class Simt, class T, class Search>
KSELECT_HD void offer_row(const lanes<Simt>& warp, const matrix_view<T>& matrix, std::int64_t row,
                          Search& search) {
  for (position first = 0; first < matrix.n; first += scan_loads) {
    position at[scan_loads];
    order_key_t<T> keys[scan_loads];
    typename Candidate::type seen[scan_loads];
    KSELECT_UNROLL
    for (int u = 0; u < scan_loads; ++u) {
      at[u] = first + static_cast<position>(u);
      if (at[u] >= matrix.n) at[u] = first;
    }
    load_keys(warp.simt, matrix, row, at, keys);
    KSELECT_UNROLL
    for (int u = 0; u < scan_loads; ++u) {
      const bool real = u == 0 || at[u] != first;
      seen[u] = real ? Candidate::make(keys[u], at[u]) : no_candidate<Candidate>;
    }
    offer_all(warp, search, seen, [&](int u) {
      const position place = first + static_cast<position>(u);
      return Candidate::make(key_at(warp.simt, matrix, row, place), place);
    });
  }
}

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
      offer_row<Candidate>(warp, a.matrix, row, search);
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
  static constexpr bool tells = buffered || Queue::aligned;
  using storage = std::conditional_t<tells, warp_flags, no_flags>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, [[maybe_unused]] storage& shared, const args& a) {
    const std::int64_t first_row = std::int64_t{simt.block()} * block_rows;
    const int warp_rows = block_rows / simt.warps();
    const int number = simt.warp() * warp_rows + simt.lane();  // the row's number in the block
    const std::int64_t row = first_row + number;
    const bool has_row = simt.lane() < warp_rows && row < a.matrix.rows;
    const std::uint32_t mask = simt.ballot(simt::full_mask, has_row);
    if (!has_row) return;
    lanes<Simt> warp{simt, mask, a.lockstep};
    if constexpr (tells) {
      warp.by_flag = a.by_flag;
      warp.flag = &shared.of_warp[simt.warp()];
      if (a.by_flag) warp.clear_flag();
    }
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

// One lane is always in lockstep, so only the entries that are not called so run natively.
template <class Queue>
constexpr bool runs_natively(const variant& v) {
  return v.how == buffering::none && v.where == memory::fitting && !Queue::aligned && !v.lockstep;
}

// A variant with the same template instances as v. They depend on no more than this.
constexpr variant code_of(const variant& v) {
  variant code;
  if (v.how != buffering::none) code.how = buffering::own;
  code.log_g = v.log_g;
  if (v.where == memory::local) code.where = memory::local;
  return code;
}

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

// Warps of a block: in lockstep one. Else as many as give each scheduler of the device a few: half
// of what keeps it busy.
inline int warps_of(const variant& v, const problem& p, const device& where) {
  if (v.lockstep) return 1;
  const std::int64_t enough =
      std::int64_t{where.multiprocessors} * (simt::busy_threads(where) / (2 * simt::warp_size));
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

// The decisions of a call.
struct shape {
  variant v;
  int warps;     // of a block
  memory where;  // the queues of a kernel
  bool native;   // host code, row after row
};

template <class Candidate>
shape shape_of(const variant& v, const problem& p, const device& where) {
  return {v, warps_of(v, p, where), memory_of<Candidate>(v, p, where),
          where.kind == executor_kind::cpu};
}

template <class T, class Candidate>
workspace_view<T, Candidate> carve(const shape& s, const problem& p, simt::carver& pieces) {
  using entry = typename Candidate::type;
  const variant& v = s.v;
  workspace_view<T, Candidate> w{};
  const std::int64_t lanes = s.native ? 1 : (p.q + block_rows - 1) / block_rows * block_rows;
  if (v.log_g != 0) {
    w.search.levels.keys = pieces.take<order_key_t<T>>(shape_levels(w.search.levels, p, v.log_g));
    w.search.groups = pieces.take<position>(lanes * p.k);
  }
  if (s.native) {
    w.own = pieces.take<entry>(p.k + buffer_of(v));
  } else if (s.where == memory::global) {
    w.search.queues = pieces.take<entry>(lanes * (p.k + buffer_of(v)));
  }
  w.search.m = v.m;
  w.search.buffer = buffer_of(v);
  w.search.how = v.how;
  w.search.lockstep = v.lockstep;
  w.search.by_flag = v.by_flag;
  return w;
}

template <class Queue, class T, class Candidate, variant code>
status start_natively(const problem& p, const workspace_view<T, Candidate>& w) {
  simt::host simt;
  const lanes<simt::host> warp{simt, 1U};
  const group_list<simt::host> groups{simt, w.search.groups, 0, 1};
  for (std::int64_t row = 0; row < p.q; ++row) {
    select_row<Queue, Candidate, code.how != buffering::none, code.log_g != 0>(
        warp, w.search, row, plain_slots<typename Candidate::type, 1>(w.own.data), groups);
  }
  return {};
}

template <class Queue, class T, class Candidate, variant code>
status start_kernel(const shape& s, const problem& p, const workspace_view<T, Candidate>& w,
                    const executor& on) {
  const auto launch = [&]<memory where>() {
    using kernel =
        search_kernel<Queue, T, Candidate, code.how != buffering::none, code.log_g != 0, where>;
    const std::size_t shared = where == memory::shared ? shared_bytes<Candidate>(s.v, p) : 0;
    return simt::launch<kernel>(
        on, {(p.q + block_rows - 1) / block_rows, s.warps * simt::warp_size, shared}, w.search);
  };
  if constexpr (code.where == memory::local) {
    return launch.template operator()<memory::local>();
  } else {
    return s.where == memory::shared ? launch.template operator()<memory::shared>()
                                     : launch.template operator()<memory::global>();
  }
}

template <class Queue, class T, class Candidate, variant code>
status start(const shape& s, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  simt::carver pieces(memory.data());
  workspace_view<T, Candidate> w = carve<T, Candidate>(s, p, pieces);
  w.search.matrix = matrix_of<T>(p, buffers);
  const auto build_and_search = [&]<bool native>() -> status {
    if constexpr (code.log_g != 0) {
      const status built =
          bottom_up_construction<code.log_g, native>(w.search.matrix, w.search.levels, on);
      if (!built.ok()) return built;
    }
    if constexpr (native) return start_natively<Queue, T, Candidate, code>(p, w);
    return start_kernel<Queue, T, Candidate, code>(s, p, w, on);
  };
  if constexpr (runs_natively<Queue>(code)) {
    if (s.native) return build_and_search.template operator()<true>();
  }
  return build_and_search.template operator()<false>();
}

// Calls f with the problem's element type and the queue's entry type. A partition finds groups by
// the positions of their leaders, so it needs indices even if only values are wanted.
template <bool partitioned, class F>
auto with_types(const problem& p, F f) {
  return visit(p.type, [&]<class T>(T) {
    if constexpr (!partitioned) {
      if (!p.has_indices()) return f.template operator()<T, bare_candidate<T>>();
    }
    return f.template operator()<T, keyed_candidate<T>>();
  });
}

// `code`: code_of(v), so that variants share their instances.
template <class Queue, variant code>
call_plan plan_with(const variant& v, const problem& p, const device& where) {
  if (v.where == memory::local && p.k > largest_local_k) {
    return call_plan::refused("k > " + std::to_string(largest_local_k) + " in local memory");
  }
  return with_types<code.log_g != 0>(p, [&]<class T, class Candidate>() {
    const shape s = shape_of<Candidate>(v, p, where);
    const bool shared = !s.native && s.where == memory::shared;
    if (shared && shared_bytes<Candidate>(v, p) + sizeof(warp_flags) > where.shared_bytes) {
      return call_plan::refused("queues of k = " + std::to_string(p.k) +
                                " do not fit shared memory");
    }
    simt::carver sizes(nullptr);
    carve<T, Candidate>(s, p, sizes);
    return call_plan::of<&start<Queue, T, Candidate, code>>(p, sizes.used(), s);
  });
}

}  // namespace kselect::queues
