// warp_list: two entries from outside kselect's tree, as a plug-in. Both keep the k best elements
// seen so far in a sorted list and insert what beats its last.
//
// `warp-list` is a kernel on the seam: a warp takes a row, and each lane holds one element of the
// list, so k is at most 32. It reads n elements once and does about k log(n/k) insertions on rows
// in random order, each of a ballot and a shuffle; rows in descending order need n of them.
// `cpu/list` is the same list on the host, by binary search.
//
// Entries: warp-list, cpu/list

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kselect/algorithm.hpp"
#include "kselect/candidate.hpp"
#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::entries {
namespace {

using candidate = keyed_candidate<float>;  // key and index in one integer: smaller is better

// Q x k values and, if the caller wants them, indices of 32 or 64 bits; others are empty.
struct answer {
  simt::global<float> values;
  simt::global<std::int32_t> narrow;
  simt::global<std::int64_t> wide;
};

answer answer_of(const problem& p, const io& buffers) {
  const std::int64_t count = p.q * p.k;
  answer out{{static_cast<float*>(buffers.values), count}, {}, {}};
  if (!p.has_indices()) return out;
  if (p.index == index_type::int32) {
    out.narrow = {static_cast<std::int32_t*>(buffers.indices), count};
  } else {
    out.wide = {static_cast<std::int64_t*>(buffers.indices), count};
  }
  return out;
}

struct warp_list_kernel {
  static constexpr int max_threads = simt::warp_size;
  struct storage {};
  struct args {
    simt::global<const float> rows;  // row r begins at element r * pitch
    std::int64_t q, n, k, pitch;
    direction wanted;
    answer out;
  };

  // Puts `c`, the same in all lanes, into the list whose element `best` lies in its lane.
  template <class Simt>
  KSELECT_HD static void insert(Simt& simt, candidate::type& best, candidate::type c) {
    const std::uint32_t better = simt.ballot(simt::full_mask, best < c);
    const int place = simt.popc(better);
    const candidate::type before = simt.shfl_up(simt::full_mask, best, 1);
    if (simt.lane() == place) best = c;
    if (simt.lane() > place) best = before;
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    for (std::int64_t row = simt.block(); row < a.q; row += simt.blocks()) {
      const auto elements = simt.slice(a.rows, row * a.pitch, a.n);
      candidate::type best = no_candidate<candidate>;
      for (std::int64_t first = 0; first < a.n; first += simt::warp_size) {
        const std::int64_t i = first + simt.lane();
        candidate::type own = no_candidate<candidate>;
        if (i < a.n) own = candidate::make(selection_key(simt.load(elements, i), a.wanted), i);
        const auto last = simt.shfl(simt::full_mask, best, static_cast<int>(a.k) - 1);
        std::uint32_t wanted = simt.ballot(simt::full_mask, own < last);
        while (wanted != 0) {
          const int from = simt.ffs(wanted) - 1;
          insert(simt, best, simt.shfl(simt::full_mask, own, from));
          wanted &= wanted - 1;
        }
      }
      write(simt, a, row, best);
    }
  }

  template <class Simt>
  KSELECT_HD static void write(Simt& simt, const args& a, std::int64_t row, candidate::type best) {
    if (simt.lane() >= a.k) return;
    const std::int64_t at = row * a.k + simt.lane();
    simt.store(a.out.values, at, from_selection_key<float>(candidate::key(best), a.wanted));
    const std::int64_t index = candidate::index(best);
    if (a.out.narrow.size != 0) simt.store(a.out.narrow, at, static_cast<std::int32_t>(index));
    if (a.out.wide.size != 0) simt.store(a.out.wide, at, index);
  }

  // The plan of calls: nothing but the problem decides (kselect/call_plan.hpp).
  static call_plan plan(const problem& p, const device&) { return call_plan::of<&start>(p); }
  static status start(const problem& p, const io& buffers, std::span<std::byte>,
                      const executor& on) {
    const simt::global<const float> rows{static_cast<const float*>(buffers.input),
                                         p.input_elements()};
    return simt::launch<warp_list_kernel>(
        on, {std::min<std::int64_t>(p.q, 1 << 20), simt::warp_size, 0},
        {rows, p.q, p.n, p.k, p.effective_pitch(), p.direction, answer_of(p, buffers)});
  }
};

status list_on_cpu(const problem& p, const io& buffers, std::span<std::byte> workspace,
                   const executor&) {
  auto* const list = reinterpret_cast<candidate::type*>(workspace.data());
  const auto* const input = static_cast<const float*>(buffers.input);
  const answer out = answer_of(p, buffers);
  for (std::int64_t row = 0; row < p.q; ++row) {
    candidate::type* end = list;
    for (std::int64_t i = 0; i < p.n; ++i) {
      const auto c = candidate::make(selection_key(input[p.offset(row, i)], p.direction), i);
      if (end == list + p.k && !(c < end[-1])) continue;
      candidate::type* const place = std::lower_bound(list, end, c);
      if (end != list + p.k) ++end;
      std::move_backward(place, end - 1, end);
      *place = c;
    }
    for (std::int64_t j = 0; j < p.k; ++j) {
      const std::int64_t at = row * p.k + j;
      out.values.data[at] = from_selection_key<float>(candidate::key(list[j]), p.direction);
      const std::int64_t index = candidate::index(list[j]);
      if (out.narrow.size != 0) out.narrow.data[at] = static_cast<std::int32_t>(index);
      if (out.wide.size != 0) out.wide.data[at] = index;
    }
  }
  return {};
}

// Its workspace holds the list.
call_plan plan_list(const problem& p, const device&) {
  return call_plan::of<&list_on_cpu>(p, static_cast<std::size_t>(p.k) * sizeof(candidate::type));
}

// What both promise, and the battery checks: best first, ties by index, the same on all machines.
constexpr algorithm listed(std::string_view name) {
  algorithm a;
  a.name = name;
  a.family = "sorted list";
  a.source = "kselect, examples/plugin";
  a.promises.ordering = output_ordering::stable_sorted;
  a.promises.tie_break = tie_break::prefer_smaller_index;
  a.promises.determinism = determinism::gpu_to_gpu;
  a.dtypes = set_of(dtype::float32);
  return a;
}

constexpr std::array all = {
    [] {
      algorithm a = listed("warp-list");
      a.executors = set_of(executor_kind::fiber, executor_kind::cuda);
      a.promises.limits.max_k = simt::warp_size;
      a.plan = &warp_list_kernel::plan;
      return a;
    }(),
    [] {
      algorithm a = listed("cpu/list");
      a.executors = set_of(executor_kind::cpu);
      a.layouts = set_of(layout::row_major, layout::column_major);
      a.promises.synchronises = true;
      a.promises.limits.max_n = (std::int64_t{1} << 32) - 1;
      a.plan = &plan_list;
      return a;
    }(),
};

}  // namespace

std::span<const algorithm> warp_list() { return all; }

}  // namespace kselect::entries
