// Garcia's insertion: Garcia, Debreuve & Barlaud, "Fast k Nearest Neighbor Search using GPU", 2008,
// and Garcia, Debreuve, Nielsen & Barlaud, ICIP 2010. It is the selection of kNN-CUDA and the
// baseline of Komarov et al. (Fig. 5 and 6 in PLOS ONE, 4 and 5 in the preprint).
//
// One thread a query; the matrix is column-major, so that the threads of a warp read neighbours.
// Each thread keeps its k best in an ascending array. An element better than the last one is
// inserted by moving the worse ones up.
//
// The arrays are in shared memory if a block's arrays fit there, else in global memory: "as k
// grows, Garcia's algorithm shifts its k-NN stack from shared memory to global memory". Komarov et
// al. attribute its slowness there to uncoalesced access. Here place j of all queries is contiguous
// in global memory, so lanes at the same place have coalesced access.
//
//   garcia            shared memory if k permits, else global
//   garcia+global     always global
//   +t64, +t256       threads a block, by default 128
//   +loads            a thread has several loads in flight (below)
//
// The form without +loads is the published one, taken literally. A thread loads one element,
// compares it, and only then loads the next one. An insertion likewise reads one place of the array
// and moves it before it reads the next one. So a thread has one load in flight. Few warps run at
// Q = 2^13, and they cannot hide the latency of these loads on a present GPU.
//
// With +loads, a thread loads 16 elements before it compares the first one. It loads those that
// pass again, from a cache, when it inserts them. An insertion reads 4 places before it moves them.
// Everything else is as in the literal form: the elements, the comparisons that decide, the moves
// and their order. The lanes of a warp still look at the same element at a time. The first k
// elements are still loaded one by one, because each of them is inserted.
//
// Cost: each element is read once. On rows in random order a query has about k ln(n/k) insertions
// of k/2 moves, and a warp waits for its slowest lane. On descending rows it has n insertions of k
// moves. Workspace for global arrays: Q k keys and positions. With +loads, an element that passes
// is read twice, and an insertion into a global array reads up to 3 places more.
//
// Its authors tuned the block to 256 threads; here this is a parameter. With shared memory a block
// has as many of these threads as fit, at least a warp: larger k would not fit otherwise. It has
// fewer threads if queries would not fill the card.
//
// Entries: garcia

#include <algorithm>

#include "kernels/gpu_rows.cuh"

namespace kselect::garcia {
namespace {

using kernels::answer;
using kernels::answer_view;
using kernels::position;

// One thread moves up to k elements for each of n: larger ones would take minutes.
inline constexpr std::int64_t largest_k = 4096;
inline constexpr std::int64_t longest_row = std::int64_t{1} << 26;

// The literal form, and with +loads.
enum class loading : std::uint8_t { one_by_one, several };
inline constexpr position elements_in_flight = 16;  // at most 31: each has a bit
inline constexpr position places_in_flight = 4;

template <class T>
struct columns_view {
  simt::global<const T> input;  // element c of query q at c * pitch + q
  std::int64_t queries, pitch;
  position n, k;
  direction wanted;
};

// ---- the arrays' memory: place j of a thread's array is at j * stride + thread

template <class Key, bool indexed>
struct shared_queue {
  Key* keys;
  position* positions;
  int thread, stride;

  template <class Simt>
  KSELECT_HD Key key_at(Simt&, position j) const {
    return keys[static_cast<int>(j) * stride + thread];
  }
  template <class Simt>
  KSELECT_HD position position_at(Simt&, position j) const {
    if constexpr (indexed) return positions[static_cast<int>(j) * stride + thread];
    return 0;
  }
  template <class Simt>
  KSELECT_HD void set(Simt&, position j, Key key, position at) const {
    keys[static_cast<int>(j) * stride + thread] = key;
    if constexpr (indexed) positions[static_cast<int>(j) * stride + thread] = at;
  }
};

template <class Key, bool indexed>
struct global_queue {
  simt::global<Key> keys;  // [k][Q]
  simt::global<position> positions;
  std::int64_t query, queries;

  template <class Simt>
  KSELECT_HD Key key_at(Simt& simt, position j) const {
    return simt.load(keys, j * queries + query);
  }
  template <class Simt>
  KSELECT_HD position position_at(Simt& simt, position j) const {
    if constexpr (indexed) return simt.load(positions, j * queries + query);
    return 0;
  }
  template <class Simt>
  KSELECT_HD void set(Simt& simt, position j, Key key, position at) const {
    simt.store(keys, j * queries + query, key);
    if constexpr (indexed) simt.store(positions, j * queries + query, at);
  }
};

// ---- the kernel

template <class T, answer what, bool in_shared, int most_threads, loading how>
struct kernel {
  static constexpr int max_threads = most_threads;
  using key = order_key_t<T>;
  static constexpr bool indexed = what == answer::pairs;
  struct storage {};
  struct args {
    columns_view<T> matrix;
    answer_view<T> out;
    simt::global<key> keys;  // [k][Q] unless in shared memory
    simt::global<position> positions;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t query = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (query >= a.matrix.queries) return;
    if constexpr (in_shared) {
      auto* const keys = static_cast<key*>(simt.dynamic_shared());
      auto* const positions =
          reinterpret_cast<position*>(keys + a.matrix.k * static_cast<position>(simt.threads()));
      select(simt, a, query,
             shared_queue<key, indexed>{keys, positions, simt.thread(), simt.threads()});
    } else {
      select(simt, a, query,
             global_queue<key, indexed>{a.keys, a.positions, query, a.matrix.queries});
    }
  }

 private:
  template <class Simt, class Queue>
  KSELECT_HD static void select(Simt& simt, const args& a, std::int64_t query, const Queue& best) {
    const position k = a.matrix.k;
    const auto element = [&](position c) {
      return selection_key(simt.load(a.matrix.input, c * a.matrix.pitch + query), a.matrix.wanted);
    };
    for (position c = 0; c < k; ++c) insert(simt, best, c, element(c), c);
    key limit = best.key_at(simt, k - 1);
    const auto offer = [&](position c) {
      const key own = element(c);
      if (!(own < limit)) return;
      insert(simt, best, k - 1, own, c);
      limit = best.key_at(simt, k - 1);
    };
    position c = k;
    if constexpr (how == loading::several) {
      for (; a.matrix.n - c >= elements_in_flight; c += elements_in_flight) {
        offer_those_below(limit, c, element, offer);
      }
    }
    for (; c < a.matrix.n; ++c) offer(c);
    for (position j = 0; j < k; ++j) {
      kernels::write_answer<what>(simt, a.out, query * k + j, best.key_at(simt, j),
                                  best.position_at(simt, j), a.matrix.wanted);
    }
  }

  // Loads the elements from `first` on together. Offers those that are below the present limit, one
  // after another; the limit falls meanwhile, so `offer` compares again.
  template <class Element, class Offer>
  KSELECT_HD static void offer_those_below(key limit, position first, const Element& element,
                                           const Offer& offer) {
    key seen[elements_in_flight];
    KSELECT_UNROLL
    for (position u = 0; u < elements_in_flight; ++u) seen[u] = element(first + u);
    std::uint32_t below = 0;
    KSELECT_UNROLL
    for (position u = 0; u < elements_in_flight; ++u) below |= (seen[u] < limit ? 1U : 0U) << u;
    for (position u = 0; below >> u != 0; ++u) {
      if ((below >> u & 1U) != 0) offer(first + u);
    }
  }

  // Inserts behind all keys that are not worse and overwrites the one at `last`. Elements come by
  // ascending position, so ties stay in this order.
  template <class Simt, class Queue>
  KSELECT_HD static void insert(Simt& simt, const Queue& best, position last, key own,
                                position at) {
    simt.count(simt::counter::queue_updates);
    if constexpr (how == loading::several) return insert_by_several(simt, best, last, own, at);
    position hole = last;
    while (hole > 0) {
      const key before = best.key_at(simt, hole - 1);
      if (!(own < before)) break;
      best.set(simt, hole, before, best.position_at(simt, hole - 1));
      --hole;
    }
    best.set(simt, hole, own, at);
  }

  template <class Simt, class Queue>
  KSELECT_HD static void insert_by_several(Simt& simt, const Queue& best, position hole, key own,
                                           position at) {
    for (;; hole -= places_in_flight) {
      key keys[places_in_flight];
      position positions[places_in_flight];
      // A place that does not exist has key 0. No key is less, so the search ends there.
      KSELECT_UNROLL
      for (position u = 0; u < places_in_flight; ++u) {
        keys[u] = u < hole ? best.key_at(simt, hole - 1 - u) : key{0};
        positions[u] = u < hole ? best.position_at(simt, hole - 1 - u) : 0;
      }
      KSELECT_UNROLL
      for (position u = 0; u < places_in_flight; ++u) {
        if (!(own < keys[u])) return best.set(simt, hole - u, own, at);
        best.set(simt, hole - u, keys[u], positions[u]);
      }
    }
  }
};

// ---- shapes

enum class memory_kind : std::uint8_t { shared_if_it_fits, global };

// A variant: the arrays' memory, threads a block, and the loads.
struct shape_choice {
  memory_kind where;
  int threads;
  loading how = loading::one_by_one;
};

std::size_t queue_bytes(const problem& p) {
  return static_cast<std::size_t>(p.k) *
         (size_of(p.type) + (p.has_indices() ? sizeof(position) : 0));
}

// Threads a block: fewer if there would not be two blocks for every multiprocessor.
int threads_of(shape_choice choice, const problem& p, const device& where) {
  int threads = choice.threads;
  while (threads > simt::warp_size && p.q < std::int64_t{2} * threads * where.multiprocessors) {
    threads /= 2;
  }
  return threads;
}

// The decisions of a call.
struct block_shape {
  int threads;
  bool in_shared;  // the arrays
};

// With the arrays in shared memory, blocks have the most threads whose arrays fit. They are in
// global memory if not even a warp's fit, or if the variant wants it.
block_shape shape_of(shape_choice choice, const problem& p, const device& where) {
  const int most = threads_of(choice, p, where);
  if (choice.where == memory_kind::global) return {most, false};
  int threads = most;
  while (threads >= simt::warp_size &&
         queue_bytes(p) * static_cast<std::size_t>(threads) > where.shared_bytes) {
    threads /= 2;
  }
  return threads >= simt::warp_size ? block_shape{threads, true} : block_shape{most, false};
}

template <class T>
struct global_queues {
  simt::global<order_key_t<T>> keys;
  simt::global<position> positions;
};

template <class T>
global_queues<T> carve(const problem& p, simt::carver& memory) {
  global_queues<T> queues;
  queues.keys = memory.take<order_key_t<T>>(p.q * p.k);
  queues.positions = memory.take<position>(p.has_indices() ? p.q * p.k : 0);
  return queues;
}

template <class T>
columns_view<T> columns_of(const problem& p, const io& buffers) {
  return {{static_cast<const T*>(buffers.input), p.input_elements()},
          p.q,
          p.effective_pitch(),
          static_cast<position>(p.n),
          static_cast<position>(p.k),
          p.direction};
}

template <class T, answer what, shape_choice choice>
status start(const block_shape& shape, const problem& p, const io& buffers,
             std::span<std::byte> memory, const executor& on) {
  const columns_view<T> matrix = columns_of<T>(p, buffers);
  const answer_view<T> out = kernels::answer_in<T>(p, buffers);
  constexpr int most = std::max(choice.threads, 128);
  const int threads = shape.threads;
  const std::int64_t blocks = (p.q + threads - 1) / threads;
  if (shape.in_shared) {
    const std::size_t bytes = queue_bytes(p) * static_cast<std::size_t>(threads);
    return simt::launch<kernel<T, what, true, most, choice.how>>(on, {blocks, threads, bytes},
                                                                 {matrix, out, {}, {}});
  }
  simt::carver pieces(memory.data());
  const global_queues<T> queues = carve<T>(p, pieces);
  return simt::launch<kernel<T, what, false, most, choice.how>>(
      on, {blocks, threads}, {matrix, out, queues.keys, queues.positions});
}

template <shape_choice choice>
call_plan plan_for(const problem& p, const device& where) {
  const block_shape shape = shape_of(choice, p, where);
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    simt::carver sizes(nullptr);
    if (!shape.in_shared) carve<T>(p, sizes);
    return call_plan::of<&start<T, what, choice>>(p, sizes.used(), shape);
  });
}

template <shape_choice choice>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "insertion", "Garcia et al. 2008, 2010 (kNN-CUDA)");
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.promises.limits.max_n = longest_row;
  a.promises.limits.max_k = largest_k;
  a.layouts = set_of(layout::column_major);
  a.plan = &plan_for<choice>;
  return a;
}

constexpr std::array variants = {
    entry<shape_choice{memory_kind::shared_if_it_fits, 128}>("garcia"),
    entry<shape_choice{memory_kind::shared_if_it_fits, 64}>("garcia+t64"),
    entry<shape_choice{memory_kind::shared_if_it_fits, 256}>("garcia+t256"),
    entry<shape_choice{memory_kind::global, 128}>("garcia+global"),
    entry<shape_choice{memory_kind::global, 256}>("garcia+global+t256"),
    entry<shape_choice{memory_kind::shared_if_it_fits, 128, loading::several}>("garcia+loads"),
    entry<shape_choice{memory_kind::global, 128, loading::several}>("garcia+global+loads"),
};

}  // namespace
}  // namespace kselect::garcia

namespace kselect::entries {

std::span<const algorithm> garcia_insertion() { return garcia::variants; }

}  // namespace kselect::entries
