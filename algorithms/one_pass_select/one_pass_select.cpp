// One-pass selection on the CPU's vector units: ours.
//
//   1. threshold  a key that at least k elements of the row are at or below, from the minima of
//                 groups spread over the row (Tang et al. 2015, Sec. III-E, first level)
//   2. stream     one pass over the row; elements at or below the bound are compressed into a list
//                 of hits; a full list is cut, which tightens the bound
//   3. cut        the k best of the list, by a vectorised Floyd-Rivest select (1975) on keys
//
// one_pass_select/ has a header for each phase, written with the operations of lanes.hpp (Highway's
// vectors, or the compiler's own without Highway). If n < 10 k the row itself is the list. Rows of
// at most 64 elements are ranked whole (short_row.hpp).
//
// Cost: a sample of s = 16 sqrt(k n) elements, at most max(32 K, 32 k); then n elements read once
// with one compare each. About 1.4 k n / s elements of a row are hits, in random, ascending or
// descending order; on long rows fewer, as each cut tightens the bound. A cut reads its list about
// 1.3 times and compresses it once. Ties cost no more: after a cut no element equal to the list's
// last is admitted.
//
// The answer is the unique set that prefers smaller indices, in ascending order of index, for any
// vector width and number of threads. With +omp each thread takes rows. If rows are fewer than
// threads, each takes a part of a row, and the best of the parts are cut together in order.
//
// Entries: one-pass

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <omp.h>

// clang-format off: the file is compiled once a target from here on (targets.hpp)
#define KSELECT_TARGETS "algorithms/one_pass_select/one_pass_select.cpp"
#include "algorithms/one_pass_select/targets.hpp"
// clang-format on

#include "algorithms/one_pass_select/entry.hpp"
#include "algorithms/one_pass_select/lanes.hpp"
#include "algorithms/one_pass_select/select_row.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/ragged.hpp"

KSELECT_TARGET_BEGIN();
namespace kselect::one_pass::KSELECT_TARGET {
namespace {

// The division of rows among threads, and the layout of the workspace. Sizes are in keys.
struct division {
  std::int64_t n, k, threads;
  std::int64_t parts;          // of a row
  std::int64_t part_length;    // of all but the last
  plan part;                   // how to search a part of that length
  std::int64_t list, scratch;  // of a thread: keys of the hit list (as many indices), scratch
  std::int64_t merged;         // of a row: the best of its parts; 0 if rows are not divided

  static division of(const problem& p, std::int64_t available) {
    // A shorter part would not be worth a thread's start.
    const std::int64_t shortest = std::max<std::int64_t>(std::int64_t{1} << 16, 16 * p.k);
    division d{};
    d.n = p.n;
    d.k = p.k;
    d.parts = p.q < available ? (available + p.q - 1) / p.q : 1;
    d.parts = p.ragged() ? 1 : std::clamp<std::int64_t>(p.n / shortest, 1, d.parts);
    d.part_length = (p.n + d.parts - 1) / d.parts;
    d.threads = std::min(available, p.q * d.parts);
    d.part = plan::of(d.part_length, p.k);
    // The last part is shorter, and may have another plan.
    const plan last = plan::of(p.n - (d.parts - 1) * d.part_length, p.k);
    // A ragged row may be shorter: its list is longest where it takes the whole row.
    const plan shorter =
        p.ragged() ? plan::of(std::min(p.n, plan::longest_without_threshold(p.k)), p.k) : last;
    d.list = rounded(std::max({d.part.capacity, last.capacity, shorter.capacity}) + padding);
    d.scratch = rounded(std::max({d.part.scratch(), last.scratch(), shorter.scratch()}));
    if (d.parts > 1) {
      d.merged = rounded(d.parts * p.k + padding);
      d.scratch = std::max(d.scratch, rounded(order_statistic_scratch(d.merged)));
    }
    return d;
  }
  std::int64_t keys(std::int64_t q) const {
    return threads * (2 * list + scratch) + 2 * q * merged;
  }

 private:
  // To whole cache lines, which prevents false sharing.
  static constexpr std::int64_t rounded(std::int64_t keys) { return (keys + 15) / 16 * 16; }
};

template <class T>
class rows_selection {
 public:
  using Int = key_of<T>;
  using lanes = best_lanes<Int>;

  rows_selection(const problem& p, const io& buffers, const division& d, Int* workspace)
      : p_(p),
        buffers_(buffers),
        d_(d),
        workspace_(workspace),
        by_(order_in<T>(p.type, p.direction)) {}

  void run(bool parallel) {
    if (p_.has_indices()) {
      run_all<true>(parallel);
    } else {
      run_all<false>(parallel);
    }
  }

 private:
  template <bool with_indices>
  void run_all(bool parallel) {
    const std::int64_t units = p_.q * d_.parts;
    const std::int64_t together = std::max<std::int64_t>(1, (1 << 15) / d_.part_length);
#pragma omp parallel for num_threads(static_cast <int>(d_.threads)) \
    schedule(dynamic, together) if (parallel)
    for (std::int64_t unit = 0; unit < units; ++unit) {
      if (p_.ragged()) {
        ragged_row<with_indices>(unit);
      } else if (d_.parts == 1) {
        whole_row<with_indices>(unit);
      } else {
        part_of_row<with_indices>(unit / d_.parts, unit % d_.parts);
      }
    }
    if (d_.parts == 1) return;
#pragma omp parallel for num_threads(static_cast <int>(std::min(d_.threads, p_.q))) if (parallel)
    for (std::int64_t row = 0; row < p_.q; ++row) merge<with_indices>(row);
  }

  template <bool with_indices>
  void ragged_row(std::int64_t row) {
    const row_extent e = extent_of(p_, buffers_, row);
    const std::int64_t wanted = selected_of(p_, buffers_, row, e.length);
    fill_row(p_, buffers_, row, wanted);
    if (wanted == 0) return;
    const key_row<T> keys = {static_cast<const T*>(buffers_.input) + e.first, e.length, by_};
    auto list = own_list();
    find_hits<lanes, with_indices>(keys, plan::of(e.length, wanted), list, own_scratch());
    write<with_indices>(row, keys, list, wanted);
  }

  template <bool with_indices>
  void whole_row(std::int64_t row) {
    auto list = own_list();
    find_hits<lanes, with_indices>(part(row, 0, p_.n), d_.part, list, own_scratch());
    finish<with_indices>(row, list);
  }

  template <bool with_indices>
  void part_of_row(std::int64_t row, std::int64_t number) {
    const std::int64_t first = number * d_.part_length;
    const std::int64_t length = std::min(d_.part_length, p_.n - first);
    const plan how = length == d_.part_length ? d_.part : plan::of(length, p_.k);
    auto list = own_list();
    select_row<lanes, with_indices>(part(row, first, length), how, list, own_scratch());
    const auto best = merged(row);
    std::copy_n(list.keys, p_.k, best.keys + number * p_.k);
    if constexpr (with_indices) {
      Int* const to = best.indices + number * p_.k;
      for (std::int64_t j = 0; j < p_.k; ++j) to[j] = moved(list.indices[j], first);
    }
  }

  template <bool with_indices>
  void merge(std::int64_t row) {
    finish<with_indices>(row, merged(row));
  }

  // Cuts a list that holds the row's k best and writes them.
  template <bool with_indices>
  void finish(std::int64_t row, hit_list<Int> list) {
    const key_row<T> keys = part(row, 0, p_.n);
    if (p_.payload == payload::kth_value) {
      static_cast<T*>(buffers_.values)[row] =
          keys.value(kth_smallest<lanes>(list.keys, list.count, p_.k - 1, own_scratch()).key);
      return;
    }
    write<with_indices>(row, keys, list, p_.k);
  }

  // Writes the `wanted` best elements of the list to the row's first outputs.
  template <bool with_indices>
  void write(std::int64_t row, const key_row<T>& keys, hit_list<Int>& list, std::int64_t wanted) {
    if (list.count > wanted) cut<lanes, with_indices>(list, wanted, own_scratch());
    if (p_.has_values()) {
      T* const to = static_cast<T*>(buffers_.values) + row * p_.k;
      for (std::int64_t j = 0; j < wanted; ++j) to[j] = keys.value(list.keys[j]);
    }
    if constexpr (with_indices) {
      visit(p_.index, [&]<class Index>(Index) KSELECT_TARGET_ATTR {
        Index* const indices = static_cast<Index*>(buffers_.indices) + row * p_.k;
        for (std::int64_t j = 0; j < wanted; ++j) {
          indices[j] = static_cast<Index>(static_cast<order_word_t<T>>(list.indices[j]));
        }
      });
    }
  }

  static Int moved(Int index, std::int64_t by) {
    return static_cast<Int>(static_cast<std::uint64_t>(index) + static_cast<std::uint64_t>(by));
  }
  key_row<T> part(std::int64_t row, std::int64_t first, std::int64_t length) const {
    return {static_cast<const T*>(buffers_.input) + p_.offset(row, first), length, by_};
  }
  Int* own() const { return workspace_ + omp_get_thread_num() * (2 * d_.list + d_.scratch); }
  hit_list<Int> own_list() const { return {own(), own() + d_.list, 0}; }
  Int* own_scratch() const { return own() + 2 * d_.list; }
  hit_list<Int> merged(std::int64_t row) const {
    Int* const first = workspace_ + d_.threads * (2 * d_.list + d_.scratch) + row * 2 * d_.merged;
    return {first, first + d_.merged, d_.parts * d_.k};
  }

  const problem& p_;
  const io& buffers_;
  const division& d_;
  Int* workspace_;
  order_t<T> by_;
};

// `decided`: a division. Each target has a type of its own, with the same members, so it comes as
// bytes.
void select_rows(const problem& p, const io& buffers, std::span<std::byte> workspace,
                 std::span<const std::byte> decided, bool parallel) {
  division d;
  std::memcpy(&d, decided.data(), sizeof d);
  visit_words(p.type, [&]<class T>(T) {
    auto* const keys = reinterpret_cast<key_of<T>*>(workspace.data());
    rows_selection<T>(p, buffers, d, keys).run(parallel);
  });
}

}  // namespace
}  // namespace kselect::one_pass::KSELECT_TARGET
KSELECT_TARGET_END();

#if KSELECT_TARGETS_DONE
namespace kselect::one_pass {
namespace {

KSELECT_EXPORT(select_rows);

// The division does not depend on the target.
using KSELECT_TARGET::division;

template <bool parallel>
status start(const division& d, const problem& p, const io& buffers, std::span<std::byte> workspace,
             const executor&) {
  KSELECT_DISPATCH(select_rows)
  (p, buffers, workspace, std::as_bytes(std::span(&d, 1)), parallel);
  return {};
}

template <bool parallel>
call_plan plan_for(const problem& p, const device& where) {
  const division d = division::of(p, parallel ? where.threads : 1);
  const std::size_t key =
      visit_words(p.type, []<class T>(T) { return sizeof(KSELECT_TARGET::key_of<T>); });
  return call_plan::of<&start<parallel>>(p, static_cast<std::size_t>(d.keys(p.q)) * key, d);
}

template <bool parallel>
constexpr algorithm entry(std::string_view name) {
  algorithm a = entry_on_lanes(
      name, "one-pass",
      "ours; threshold after Tang et al. 2015, Sec. III-E; cut after Floyd & Rivest 1975");
  a.dtypes = every_dtype;
  a.threaded = parallel;
  a.ragged = a.executors;
  a.plan = &plan_for<parallel>;
  return a;
}

constexpr std::array variants = {
    entry<false>("one-pass"),
    entry<true>("one-pass+omp"),
};

}  // namespace
}  // namespace kselect::one_pass

namespace kselect::entries {

std::span<const algorithm> one_pass_select() { return one_pass::variants; }

}  // namespace kselect::entries
#endif
