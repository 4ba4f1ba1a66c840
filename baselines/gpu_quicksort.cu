// GPU quicksort: Cederman & Tsigas, "GPU-Quicksort: A Practical Quicksort Algorithm for Graphics
// Processors", J. Exp. Algorithmics 14, 2009. It is the "ordering reduction" of Barrientos 2011,
// Sec. 3.1.1, who sorts a query's distances by it and takes the first k.
//
// First phase: one launch a round, in which each block splits one partition in two, until there are
// enough partitions to fill the card. Second phase: each block sorts one partition by quicksort
// with a stack in shared memory; a part that fits in shared memory is sorted by a bitonic network.
//
// Cost: about 1.4 log2(n / 1024) reads and writes of every key and position (pivots are medians of
// three), then 55 steps in shared memory, for any k. Workspace: two arrays of keys and positions,
// as long as all rows.
//
// Deviations: the partition step is that of quick multi-select (Fig. 2-4 there: votes and offsets
// in shared memory, coalesced writes), which is faster than the original's counts for each thread.
// Pivots are also chosen as there: medians of three in both phases; a pivot just above the least
// key after one that split nothing off; halves of the keys' range after 24 rounds, so that no input
// takes quadratic time. Only the first k of the sorted row are written. In the first phase blocks
// do not share a partition.
//
// Its authors tuned threads and blocks of both phases by n and card. Here there is one block a
// partition, enough to fill the card; threads are a parameter: +t128, by default 256.
//
// Entries: gpu-quicksort

#include <algorithm>

#include "algorithms/quick_multi_select/partition.cuh"
#include "algorithms/quick_multi_select/pivot.cuh"
#include "kernels/bitonic.cuh"
#include "kselect/simt/device_size.hpp"

namespace kselect::gpu_quicksort {
namespace {

using kernels::answer;
using kernels::answer_view;
using kernels::position;
using kernels::rows_view;

// A run of a row that is still to be sorted, in quick multi-select's type; `wanted` is unused.
template <class Key>
using partition = qms::state<Key>;

template <class T, bool indexed>
struct sort_memory {
  typename qms::row_view<T, indexed>::elements elements_0, elements_1;  // [rows][n]
  simt::global<partition<order_key_t<T>>> partitions_0, partitions_1;   // of even rounds, of odd

  KSELECT_HD simt::global<partition<order_key_t<T>>> partitions(int round) const {
    return round % 2 == 0 ? partitions_0 : partitions_1;
  }
};

template <class T, bool indexed>
struct sort_args {
  rows_view<T> matrix;
  answer_view<T> out;
  sort_memory<T, indexed> memory;
  int round;  // of the first phase; in the second phase, their number
};

// The operations on a partition that both kernels share.
template <class Simt, class T, bool indexed>
class block_sort {
 public:
  using key = order_key_t<T>;
  using list = kernels::shared_list<key, indexed>;

  KSELECT_HD block_sort(Simt& simt, qms::team_storage<key>& shared, const sort_args<T, indexed>& a)
      : simt_(simt),
        a_(a),
        capacity_(static_cast<position>(simt.threads() * qms::items)),
        list_(list::at(simt.dynamic_shared(), capacity_)),
        row_(row_of(simt, a)),
        team_(simt, shared, simt.dynamic_shared(), row_),
        partition_(team_) {}

  // Loads the block's partition. A round has 2^round of them a row, in order.
  KSELECT_HD partition<key> load() {
    if (a_.round == 0) return qms::initial_state<key>(a_.matrix.n, a_.matrix.n);
    return simt_.load(a_.memory.partitions(a_.round), simt_.block());
  }

  KSELECT_HD bool fits(const partition<key>& p) const {
    return p.low == p.high || p.active.size() <= capacity_;
  }

  struct halves {
    partition<key> left, right;
  };
  KSELECT_HD halves split(const partition<key>& p) {
    const key pivot = qms::pivots<block_team>(team_).choose(p, qms::pivot_rule::median_of_3);
    const position left = partition_.partition(p.active, pivot);
    const position middle = p.active.begin + left;
    const qms::array to = qms::other(p.active.where);
    halves both{p, p};
    both.left.active = {p.active.begin, middle, to};
    both.left.high = pivot - 1;
    both.right.active = {middle, p.active.end, to};
    both.right.low = pivot;
    both.left.round = both.right.round = p.round + 1;
    both.left.found_minimum = false;
    both.right.found_minimum = left == 0;
    return both;
  }

  // Sorts and writes a partition that fits. Its place in the sorted row is that in the array.
  KSELECT_HD void finish(const partition<key>& p) {
    if (p.active.begin >= a_.matrix.k) return;
    const position size = p.active.size();
    if (p.low == p.high) {
      for (position i = thread(); i < size; i += threads()) write(p, i, read(p, i));
      return;
    }
    position padded = 2;
    while (padded < size) padded *= 2;
    for (position i = thread(); i < padded; i += threads()) {
      list_.set(i, i < size ? read(p, i) : kernels::padding<key, indexed>());
    }
    kernels::network_on(simt_, list_, padded).sort_runs(padded);
    for (position i = thread(); i < size; i += threads()) write(p, i, list_.get(i));
    simt_.sync_block();  // the list is free again
  }

 private:
  using block_team = qms::team<Simt, T, indexed, true>;

  KSELECT_HD static qms::row_view<T, indexed> row_of(Simt& simt, const sort_args<T, indexed>& a) {
    const std::int64_t row = simt.block() >> a.round;
    const auto part = [&](auto whole) { return simt.slice(whole, row * a.matrix.n, a.matrix.n); };
    return {kernels::row_at(simt, a.matrix, row), part(a.memory.elements_0),
            part(a.memory.elements_1), a.matrix.wanted, row};
  }

  KSELECT_HD position thread() const { return static_cast<position>(simt_.thread()); }
  KSELECT_HD position threads() const { return static_cast<position>(simt_.threads()); }

  KSELECT_HD kernels::item<key, indexed> read(const partition<key>& p, position i) {
    const auto found = team_.read(p.active.where, p.active.begin + i);
    return {found.k, found.at()};
  }

  KSELECT_HD void write(const partition<key>& p, position i, const kernels::item<key, indexed>& e) {
    constexpr answer what = indexed ? answer::pairs : answer::values;
    const position place = p.active.begin + i;
    if (place >= a_.matrix.k) return;
    kernels::write_answer<what>(simt_, a_.out, row_.row * a_.matrix.k + place, e.key, e.at,
                                a_.matrix.wanted);
  }

  Simt& simt_;
  const sort_args<T, indexed>& a_;
  position capacity_;
  list list_;
  qms::row_view<T, indexed> row_;
  block_team team_;
  qms::partitions<block_team> partition_;
};

// First phase: partition number b becomes number 2b and 2b + 1 of the next round.
template <class T, bool indexed>
struct split_kernel {
  static constexpr int max_threads = 256;
  using key = order_key_t<T>;
  struct storage {
    qms::team_storage<key> team;
  };
  using args = sort_args<T, indexed>;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    block_sort<Simt, T, indexed> sort(simt, shared.team, a);
    const partition<key> own = sort.load();
    partition<key> left = own;
    partition<key> right = own;
    right.active.begin = right.active.end;
    if (!sort.fits(own)) {
      const auto both = sort.split(own);
      left = both.left;
      right = both.right;
    }
    if (simt.thread() != 0) return;
    const auto to = a.memory.partitions(a.round + 1);
    simt.store(to, 2 * std::int64_t{simt.block()}, left);
    simt.store(to, 2 * std::int64_t{simt.block()} + 1, right);
  }
};

// Second phase. The longer half is put on the stack, so the stack holds at most log2 n.
template <class T, bool indexed>
struct sort_kernel {
  static constexpr int max_threads = 256;
  static constexpr int stack_capacity = 32;
  using key = order_key_t<T>;
  struct storage {
    qms::team_storage<key> team;
    partition<key> stack[stack_capacity];
  };
  using args = sort_args<T, indexed>;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    block_sort<Simt, T, indexed> sort(simt, shared.team, a);
    partition<key> own = sort.load();
    int depth = 0;
    while (true) {
      if (sort.fits(own)) {
        sort.finish(own);
        if (depth == 0) return;
        own = shared.stack[--depth];
        simt.sync_block();  // all have read it before it is overwritten
        continue;
      }
      const auto both = sort.split(own);
      const position left = both.left.active.size();
      const position right = both.right.active.size();
      own = left < right ? both.left : both.right;
      KSELECT_ASSERT(depth < stack_capacity);
      if (simt.thread() == 0) shared.stack[depth] = left < right ? both.right : both.left;
      ++depth;
      simt.sync_block();
    }
  }
};

// ---- shapes

// Threads a block: the variant's, or (0) the default.
int threads_on(int wanted, const device& where) {
  return wanted != 0 ? wanted : simt::block_threads(where, 256);
}

// Rounds of the first phase: until every multiprocessor has a few partitions, if rows are long
// enough for that.
int rounds_of(int wanted_threads, const problem& p, const device& where) {
  const std::int64_t filling = std::int64_t{8} * where.multiprocessors;
  const std::int64_t least = std::int64_t{2} * threads_on(wanted_threads, where) * qms::items;
  int rounds = 0;
  while ((p.q << rounds) < filling && (p.n >> rounds) > least) ++rounds;
  return rounds;
}

struct shape {
  int threads, rounds;
};

template <class T, bool indexed>
sort_memory<T, indexed> carve(const problem& p, int rounds, simt::carver& memory) {
  using element = qms::element<order_key_t<T>, indexed>;
  const std::int64_t elements = p.q * p.n;
  const std::int64_t partitions = p.q << rounds;
  sort_memory<T, indexed> w;
  w.elements_0 = memory.take<element>(elements);
  w.elements_1 = memory.take<element>(elements);
  w.partitions_0 = memory.take<partition<order_key_t<T>>>(partitions);
  w.partitions_1 = memory.take<partition<order_key_t<T>>>(partitions);
  return w;
}

template <class T, bool indexed>
status start(const shape& s, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  simt::carver pieces(memory.data());
  sort_args<T, indexed> a{kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers),
                          carve<T, indexed>(p, s.rounds, pieces), 0};
  const std::size_t bytes = qms::stage_bytes<order_key_t<T>, indexed>(s.threads / simt::warp_size);
  status done;
  for (int round = 0; done.ok() && round < s.rounds; ++round) {
    a.round = round;
    done = simt::launch<split_kernel<T, indexed>>(on, {p.q << round, s.threads, bytes}, a);
  }
  if (!done.ok()) return done;
  a.round = s.rounds;
  return simt::launch<sort_kernel<T, indexed>>(on, {p.q << s.rounds, s.threads, bytes}, a);
}

template <int wanted_threads>
call_plan plan_for(const problem& p, const device& where) {
  const shape s{threads_on(wanted_threads, where), rounds_of(wanted_threads, p, where)};
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    constexpr bool indexed = what == answer::pairs;
    simt::carver sizes(nullptr);
    carve<T, indexed>(p, s.rounds, sizes);
    return call_plan::of<&start<T, indexed>>(p, sizes.used(), s);
  });
}

template <int wanted_threads>
constexpr algorithm entry(std::string_view name) {
  algorithm a =
      kernels::gpu_entry(name, "sort", "Cederman & Tsigas 2009; Barrientos 2011, Sec. 3.1.1");
  a.promises.ordering = output_ordering::sorted;
  a.promises.determinism = determinism::run_to_run;
  a.promises.limits.max_q = 0x3fffffff;
  a.plan = &plan_for<wanted_threads>;
  return a;
}

constexpr std::array variants = {entry<0>("gpu-quicksort"), entry<128>("gpu-quicksort+t128")};

}  // namespace
}  // namespace kselect::gpu_quicksort

namespace kselect::entries {

std::span<const algorithm> gpu_quicksort() { return gpu_quicksort::variants; }

}  // namespace kselect::entries
