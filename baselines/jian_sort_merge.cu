// Local sort and global merge: Jian, Wang, Liu, Liang, Yi & Shi, "Parallel data mining techniques
// on graphics processing unit with compute unified device architecture (CUDA)", The Journal of
// Supercomputing 64(3), 2013.
//
// Tang et al. 2015 (Sec. II-C) call Jian's method "local sort and global merge". They count it
// among the methods that divide a list into groups, sort the elements of each group and merge the
// groups. They do not compare with it. This entry follows what they say, and no other source:
//
//   local sort    A row is cut into parts. A block sorts a part in shared memory. It writes the k
//                 best, or all if there are fewer, to a list in global memory.
//   global merge  A launch merges the lists in pairs and keeps the k best of each pair. Launches
//                 follow until one list is left, which is the answer.
//
// They leave the following open. Here:
//  - How a part is sorted: by a bitonic network.
//  - Where lists are cut to k elements: after the sort and in each merge.
//  - How many lists are merged at a time, and how: two, by a thread an element. A binary search
//    finds the element's place in the other list.
//  - The size of a part and the threads that sort it:
//      jian-sort-merge   2048 elements and 256 threads, or smaller parts, down to 512 elements, if
//                        there would not be two for every multiprocessor
//      +t128, +t512      1024 elements and 128 threads; 4096 and 512
//
// Truncated bitonic sort also sorts groups and merges them. It does both in shared memory, with one
// block a row.
//
// Cost: each element is read once. For parts of P elements it takes part in
// log2 P (log2 P + 1) / 4 compare-exchanges. The first lists have min(k, P) elements each, n/P
// lists a row. Each of the log2(n/P) merges halves the number of lists. It reads their elements
// once and, for each, about log2 of a list's length in other keys. So k = n is a merge sort.
// Workspace: the lists before the first merge and those after it.
//
// Entries: jian-sort-merge

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/bitonic_runs.cuh"
#include "kselect/simt/device_size.hpp"
#include "kselect/simt/shared_fit.hpp"

namespace kselect::jian {
namespace {

using kernels::answer;
using kernels::answer_view;
using kernels::position;
using kernels::rows_view;
using kernels::shared_list;

inline constexpr int elements_each = 8;  // of a part for each thread that sorts
inline constexpr int loads = 4;          // of a thread in flight
inline constexpr int merging_threads = 256;

// The lists of a row between two launches. Each has the best of `span` elements of the row: k of
// them, or all if there are fewer. So only the last list may have fewer than the others.
struct list_shape {
  position n, span;
  position lists, longest;
  position elements;  // of all lists of a row, which follow one another

  KSELECT_HD position size(position list) const {
    const position rest = n - list * span;
    return rest < longest ? rest : longest;
  }
};

list_shape lists_of(const problem& p, position span) {
  list_shape s{};
  s.n = static_cast<position>(p.n);
  s.span = span;
  s.lists = (s.n - 1) / span + 1;
  s.longest = std::min(static_cast<position>(p.k), span);
  s.elements = (s.lists - 1) * s.longest + s.size(s.lists - 1);
  return s;
}

// The lists of all rows in global memory. `keys` is empty if the one list of a row is its answer.
template <class T>
struct lists_view {
  simt::global<order_key_t<T>> keys;  // [rows][elements of a row]
  simt::global<position> positions;
};

// Writes element `place` of the lists of row `row`, or of its answer.
template <answer what, class Simt, class T>
KSELECT_HD void put(Simt& simt, const lists_view<T>& to, const answer_view<T>& out,
                    std::int64_t place, order_key_t<T> key, position at, direction wanted) {
  if (to.keys.size == 0) {
    kernels::write_answer<what>(simt, out, place, key, at, wanted);
  } else {
    simt.store(to.keys, place, key);
    if constexpr (what == answer::pairs) simt.store(to.positions, place, at);
  }
}

// ---- local sort

template <class T, answer what>
struct sort_kernel {
  static constexpr int max_threads = 512;
  using key = order_key_t<T>;
  static constexpr bool indexed = what == answer::pairs;
  using list = shared_list<key, indexed>;
  struct storage {};
  struct args {
    rows_view<T> matrix;
    answer_view<T> out;
    lists_view<T> to;
    list_shape shape;   // its span is a part
    position log_part;  // of the places of a part: a power of two, `loads` or more for each thread
  };

  // The part is in dynamic shared memory.
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const position places = position{1} << a.log_part;
    const list part = list::at(simt.dynamic_shared(), places);
    const position parts = a.shape.lists;
    const std::int64_t tasks = a.matrix.rows * parts;
    for (std::int64_t task = simt.block(); task < tasks; task += simt.blocks()) {
      const std::int64_t row = task / parts;
      const auto own = static_cast<position>(task % parts);
      load(simt, a, kernels::row_at(simt, a.matrix, row), own * a.shape.span, places, part);
      kernels::sorted_runs<Simt, key, indexed>(simt, part, a.log_part).sort(0, 1);
      const std::int64_t first = row * a.shape.elements + std::int64_t{own} * a.shape.longest;
      const position kept = a.shape.size(own);
      for (auto i = static_cast<position>(simt.thread()); i < kept;
           i += static_cast<position>(simt.threads())) {
        const auto e = part.get(i);
        put<what>(simt, a.to, a.out, first + i, e.key, e.at, a.matrix.wanted);
      }
      simt.sync_block();  // the next part uses the same memory
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static void load(Simt& simt, const args& a, simt::global<const T> row, position first,
                              position places, const list& part) {
    const auto threads = static_cast<position>(simt.threads());
    const position rest = a.matrix.n - first;
    for (auto i = static_cast<position>(simt.thread()); i < places; i += loads * threads) {
      kernels::item<key, indexed> loaded[loads];
      KSELECT_UNROLL
      for (int u = 0; u < loads; ++u) {
        const position at = i + static_cast<position>(u) * threads;
        loaded[u] = kernels::padding<key, indexed>();
        if (at < rest) {
          loaded[u] = {selection_key(simt.load(row, first + at), a.matrix.wanted), first + at};
        }
      }
      KSELECT_UNROLL
      for (int u = 0; u < loads; ++u) part.set(i + static_cast<position>(u) * threads, loaded[u]);
    }
  }
};

// ---- global merge

// A thread an element. Its place in the merged list is its place in its own list and the number of
// elements of the other list before it. Elements of the first list precede equal ones of the
// second, which have greater positions, so no positions are compared.
template <class T, answer what>
struct merge_kernel {
  static constexpr int max_threads = merging_threads;
  using key = order_key_t<T>;
  struct storage {};
  struct args {
    lists_view<T> from, to;
    answer_view<T> out;
    list_shape before, after;
    std::int64_t rows;
    position k;
    direction wanted;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const position elements = a.before.elements;
    const position pieces = (elements - 1) / merging_threads + 1;
    const std::int64_t tasks = a.rows * pieces;
    for (std::int64_t task = simt.block(); task < tasks; task += simt.blocks()) {
      const std::int64_t row = task / pieces;
      const position at = static_cast<position>(task % pieces) * merging_threads +
                          static_cast<position>(simt.thread());
      if (at < elements) merge_one(simt, a, row, at);
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static void merge_one(Simt& simt, const args& a, std::int64_t row, position at) {
    const position longest = a.before.longest;
    const position own_list = at / longest;
    const position other_list = own_list ^ 1U;
    const position i = at - own_list * longest;
    const std::int64_t first = row * a.before.elements;
    const key own = simt.load(a.from.keys, first + at);
    position i_after = i;
    if (other_list < a.before.lists) {
      const position most = a.k - i;  // with so many before it, it is not among the k best
      const position size = a.before.size(other_list);
      i_after +=
          number_before(simt, a, own, own_list > other_list,
                        first + std::int64_t{other_list} * longest, size < most ? size : most);
    }
    if (i_after >= a.k) return;
    position own_position = 0;
    if constexpr (what == answer::pairs) own_position = simt.load(a.from.positions, first + at);
    const std::int64_t list = std::int64_t{own_list / 2} * a.after.longest;
    put<what>(simt, a.to, a.out, row * a.after.elements + list + i_after, own, own_position,
              a.wanted);
  }

  // How many of the `size` ascending keys at `first` are less than `own`, or equal if they precede
  // it.
  template <class Simt>
  KSELECT_HD static position number_before(Simt& simt, const args& a, key own, bool equal_precede,
                                           std::int64_t first, position size) {
    position low = 0;
    while (low < size) {
      const position middle = low + (size - low) / 2;
      const key other = simt.load(a.from.keys, first + middle);
      if (other < own || (equal_precede && other == own)) {
        low = middle + 1;
      } else {
        size = middle;
      }
    }
    return low;
  }
};

// ---- shapes

// The elements of a part. If threads are not chosen, few rows have shorter parts, of 512 at least
// on a GPU.
position part_of(int wanted_threads, const problem& p, const device& where) {
  const int threads = wanted_threads == 0 ? simt::block_threads(where, 256) : wanted_threads;
  const std::int64_t enough =
      std::max<std::int64_t>(kernels::next_power_of_two(p.n), kernels::least_run);
  auto part = std::min<std::int64_t>(elements_each * threads, enough);
  if (wanted_threads != 0) return static_cast<position>(part);
  const std::int64_t least_part =
      std::max<std::int64_t>(simt::block_threads(where, 512), kernels::least_run);
  while (part > least_part && p.n / part * p.q < std::int64_t{2} * where.multiprocessors) part /= 2;
  return static_cast<position>(part);
}

list_shape merged(const problem& p, const list_shape& before) {
  return lists_of(p, 2 * before.span);
}

// The lists that are not the answer: even merges read the first and write the second.
template <class T>
struct both_lists {
  lists_view<T> even, odd;
};

template <class T>
both_lists<T> carve(const problem& p, const list_shape& first, simt::carver& memory) {
  const auto take = [&](const list_shape& s) {
    const std::int64_t elements = s.lists == 1 ? 0 : p.q * s.elements;
    lists_view<T> lists;
    lists.keys = memory.take<order_key_t<T>>(elements);
    lists.positions = memory.take<position>(p.has_indices() ? elements : 0);
    return lists;
  };
  both_lists<T> both;
  both.even = take(first);
  both.odd = take(merged(p, first));
  return both;
}

template <class T, answer what>
std::size_t shared_bytes(position part) {
  return part * sort_kernel<T, what>::list::item_bytes;
}

// Blocks for so many tasks; they walk over the rest.
std::int64_t blocks_for(std::int64_t tasks) {
  return std::min<std::int64_t>(tasks, std::int64_t{1} << 24);
}

template <class T, answer what>
status sort_parts(const problem& p, const io& buffers, const list_shape& shape,
                  const lists_view<T>& to, const executor& on) {
  const position part = shape.span;
  const int threads = std::max<int>(static_cast<int>(part) / elements_each, simt::warp_size);
  return simt::launch<sort_kernel<T, what>>(
      on, {blocks_for(p.q * shape.lists), threads, shared_bytes<T, what>(part)},
      {kernels::rows_of<T>(p, buffers), kernels::answer_in<T>(p, buffers), to, shape,
       static_cast<position>(std::bit_width(part) - 1)});
}

template <class T, answer what>
status merge_lists(const problem& p, const io& buffers, list_shape shape, both_lists<T> lists,
                   const executor& on) {
  status done;
  while (done.ok() && shape.lists > 1) {
    const list_shape after = merged(p, shape);
    const lists_view<T> to = after.lists == 1 ? lists_view<T>{} : lists.odd;
    const std::int64_t pieces = (shape.elements - 1) / merging_threads + 1;
    done = simt::launch<merge_kernel<T, what>>(
        on, {blocks_for(p.q * pieces), merging_threads},
        {lists.even, to, kernels::answer_in<T>(p, buffers), shape, after, p.q,
         static_cast<position>(p.k), p.direction});
    std::swap(lists.even, lists.odd);
    shape = after;
  }
  return done;
}

// `first`: the lists before they are merged.
template <class T, answer what>
status start(const list_shape& first, const problem& p, const io& buffers,
             std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  const both_lists<T> lists = carve<T>(p, first, pieces);
  const status sorted = sort_parts<T, what>(p, buffers, first, lists.even, on);
  if (!sorted.ok()) return sorted;
  return merge_lists<T, what>(p, buffers, first, lists, on);
}

template <int wanted_threads>
call_plan plan_for(const problem& p, const device& where) {
  const list_shape first = lists_of(p, part_of(wanted_threads, p, where));
  return kernels::visit_list_answer(p, [&]<class T, answer what>() {
    const support fits = simt::fits_shared(where, shared_bytes<T, what>(first.span));
    if (!fits) return call_plan::refused(fits.reason);
    simt::carver sizes(nullptr);
    carve<T>(p, first, sizes);
    return call_plan::of<&start<T, what>>(p, sizes.used(), first);
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name) {
  algorithm a = kernels::gpu_entry(name, "local sort and global merge",
                                   "Jian et al. 2013, after Tang et al. 2015");
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("jian-sort-merge"),
    entry<128>("jian-sort-merge+t128"),
    entry<512>("jian-sort-merge+t512"),
};

}  // namespace
}  // namespace kselect::jian

namespace kselect::entries {

std::span<const algorithm> jian_sort_merge() { return jian::variants; }

}  // namespace kselect::entries
