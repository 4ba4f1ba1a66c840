#pragma once
// Hierarchical partition (Tang et al. 2015, Sec. III-E). A row's elements form groups of G. The
// least keys of the groups are the next level, and so on until a level has at most k.
//   Bottom-Up Construction  Algorithm 4: shape_levels() sizes the levels, bottom_up_construction()
//                           fills them, open_groups::take() is the step of an element
//   Top-Down search         top_down_search, which the paper describes without pseudocode: into the
//                           groups whose least key, the leader, is among the k best so far
//
// Construction reads a row once and writes n / (G - 1) keys. It has a thread for every 64 elements,
// not one for every row. A thread makes several levels of its elements at once (6, 3 or 2 for G =
// 2, 4, 8), so that a level is not read back to make the next.
//
// Where the paper is incomplete or wrong:
//  - Algorithm 4 advances only past a new minimum (line 13 stands inside the `if`), sizes every
//    level by the row's length instead of the level's (line 5), and writes behind a level whose
//    size is a multiple of G (line 17). Here group i of a level has its elements [iG, (i + 1)G), as
//    far as they exist.
//  - A group's leader is an element of its group. It is in the queue already and must not enter
//    twice. It stays there under its position in the lower level, which keeps the queue's order
//    (leaders of equal keys are in the order of their groups). Only the other elements are offered.
//  - As in the paper only keys are stored: the leader is the group's first element with the key.
//  - The search in lockstep is the paper's: at a step all lanes visit the group of the same slot of
//    their queues. Slots in which no lane has anything to offer are left out. Else each lane makes
//    a list of its own, without the groups that cannot improve its queue.

#include <cstdint>

#include "algorithms/queues/matrix.cuh"
#include "algorithms/queues/search.cuh"
#include "kselect/simt/host.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::queues {

inline constexpr int most_levels = 32;  // of a row of 2^31 elements for G = 2, with the row itself
inline constexpr position chunk = 64;   // elements for one thread
inline constexpr int group_loads = 16;  // elements of groups loaded at a time
inline constexpr position no_group = 0xffffffff;  // its elements would lie beyond every level

struct level {
  std::int64_t offset;  // of its first key in the keys of all levels
  position size;
};

// Level 0 is the row itself; key i of level l > 0 of row r is at offset + i * rows + r.
template <class T>
struct levels_view {
  simt::global<order_key_t<T>> keys;
  level at[most_levels];
  int count;
  int log_g;
};

// Computes the sizes of all levels (lines 1 to 7, 18 and 19). Returns the number of keys in them.
template <class T>
std::int64_t shape_levels(levels_view<T>& levels, const problem& p, int log_g) {
  std::int64_t used = 0;
  levels.log_g = log_g;
  levels.at[0] = {0, static_cast<position>(p.n)};
  levels.count = 1;
  for (std::int64_t size = p.n; size > p.k;) {
    size = ((size - 1) >> log_g) + 1;
    levels.at[levels.count++] = {used, static_cast<position>(size)};
    used += size * p.q;
  }
  return used;
}

template <class Simt, class T>
KSELECT_HD order_key_t<T> key_at(Simt& simt, const matrix_view<T>& m, const levels_view<T>& levels,
                                 int l, std::int64_t row, position at) {
  if (l == 0) return key_at(simt, m, row, at);
  return simt.load(levels.keys, levels.at[l].offset + at * m.rows + row);
}

// load_keys() of a matrix, for a level.
template <int count, class Simt, class T>
KSELECT_HD void load_keys(Simt& simt, const matrix_view<T>& m, const levels_view<T>& levels, int l,
                          std::int64_t row, const position (&at)[count],
                          order_key_t<T> (&keys)[count]) {
  if (l == 0) return load_keys(simt, m, row, at, keys);
  const std::int64_t first = levels.at[l].offset + row;
  KSELECT_UNROLL
  for (int u = 0; u < count; ++u) keys[u] = simt.load(levels.keys, first + at[u] * m.rows);
}

// ---- Algorithm 4: Bottom-Up Construction

template <int log_g>
inline constexpr int levels_at_once = 6 / log_g;  // G^levels_at_once = chunk

// The minima of the open groups, one for each level above `base`.
template <class T, int log_g>
class open_groups {
 public:
  KSELECT_HD open_groups(const levels_view<T>& levels, int base, std::int64_t rows,
                         std::int64_t row)
      : levels_(levels), base_(base), rows_(rows), row_(row) {
    for (auto& least : least_) least = none;
  }
  // Takes the key at position end - 1 of the base level (lines 10 to 17). Stores the minimum of
  // every group that it completes; the level's last key completes all groups.
  template <class Simt>
  KSELECT_HD void take(Simt& simt, order_key_t<T> key, position end) {
    const bool last = end == levels_.at[base_].size;
    KSELECT_UNROLL
    for (int d = 0; d < levels_at_once<log_g>; ++d) {
      if (key < least_[d]) least_[d] = key;
      const int shift = log_g * (d + 1);
      const bool complete = (end & ((position{1} << shift) - 1)) == 0;
      if ((!complete && !last) || base_ + d + 1 >= levels_.count) return;
      const std::int64_t at = (end - 1) >> shift;
      simt.store(levels_.keys, levels_.at[base_ + d + 1].offset + at * rows_ + row_, least_[d]);
      key = least_[d];
      least_[d] = none;
    }
  }

 private:
  static constexpr order_key_t<T> none = static_cast<order_key_t<T>>(~order_key_t<T>{0});

  const levels_view<T>& levels_;
  int base_;
  std::int64_t rows_, row_;
  order_key_t<T> least_[levels_at_once<log_g>];
};

// Makes the levels above `base` from a row's base keys [first, first + chunk).
template <int log_g, class Simt, class T>
KSELECT_HD void build_chunk(Simt& simt, const matrix_view<T>& m, const levels_view<T>& levels,
                            int base, std::int64_t row, position first) {
  constexpr int in_flight = 16;
  const position size = levels.at[base].size;
  open_groups<T, log_g> groups(levels, base, m.rows, row);
  if (size - first < chunk) {
    for (position i = first; i < size; ++i) {
      groups.take(simt, key_at(simt, m, levels, base, row, i), i + 1);
    }
    return;
  }
  for (position part = first; part < first + chunk; part += in_flight) {
    position at[in_flight];
    order_key_t<T> keys[in_flight];
    KSELECT_UNROLL
    for (int u = 0; u < in_flight; ++u) at[u] = part + static_cast<position>(u);
    load_keys(simt, m, levels, base, row, at, keys);
    KSELECT_UNROLL
    for (int u = 0; u < in_flight; ++u) groups.take(simt, keys[u], at[u] + 1);
  }
}

template <class T, int log_g>
struct build_kernel {
  static constexpr int max_threads = 256;
  static constexpr int min_blocks = sizeof(T) == 4 ? 4 : 2;  // 64 and 128 registers
  struct storage {};
  struct args {
    matrix_view<T> matrix;
    levels_view<T> levels;
    int base;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t thread = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    run_thread(simt, a, thread);
  }
  // Neighbouring threads work on neighbouring rows.
  template <class Simt>
  KSELECT_HD static void run_thread(Simt& simt, const args& a, std::int64_t thread) {
    const std::int64_t first = thread / a.matrix.rows * chunk;
    if (first >= a.levels.at[a.base].size) return;
    build_chunk<log_g>(simt, a.matrix, a.levels, a.base, thread % a.matrix.rows,
                       static_cast<position>(first));
  }
  static std::int64_t threads(const args& a) {
    return (a.levels.at[a.base].size + std::int64_t{chunk} - 1) / chunk * a.matrix.rows;
  }
};

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

template <int log_g, bool native, class T>
status bottom_up_construction(const matrix_view<T>& m, const levels_view<T>& levels,
                              const executor& on) {
  for (int base = 0; base + 1 < levels.count; base += levels_at_once<log_g>) {
    const status built = run_threads<build_kernel<T, log_g>, native>({m, levels, base}, on);
    if (!built.ok()) return built;
  }
  return {};
}

// ---- Top-Down search

// A lane's list of groups yet to be searched, as positions of their leaders. no_group: nothing here
// for this lane.
template <class Simt>
struct group_list {
  Simt& simt;
  simt::global<position> memory;
  std::int64_t first;  // entry i is at first + i * stride
  int stride;

  KSELECT_HD position operator[](int i) const { return simt.load(memory, first + i * stride); }
  KSELECT_HD void put(int i, position leader) { simt.store(memory, first + i * stride, leader); }
};

// The search of one row.
template <class Candidate, class Simt, class T, class Slots, class Queue, class Search>
class top_down_search {
 public:
  using entry = typename Slots::entry;

  KSELECT_HD top_down_search(const lanes<Simt>& warp, const matrix_view<T>& m,
                             const levels_view<T>& levels, std::int64_t row, Slots& slots,
                             Queue& queue, Search& search, const group_list<Simt>& groups)
      : warp_(warp),
        m_(m),
        levels_(levels),
        row_(row),
        slots_(slots),
        queue_(queue),
        search_(search),
        groups_(groups) {}

  KSELECT_HD void run() {
    const int top = levels_.count - 1;
    offer_level(top);
    for (int l = top - 1; l >= 0; --l) {
      const int groups = descend(l);
      offer_groups(l, groups);
    }
  }

 private:
  static constexpr entry none = static_cast<entry>(~entry{0});

  KSELECT_HD entry entry_at(int l, position at) {
    return Candidate::make(key_at(warp_.simt, m_, levels_, l, row_, at), at);
  }
  // Entries that are not `real` become none; the level's first key is loaded in their place.
  KSELECT_HD void load_entries(int l, position (&at)[group_loads], const bool (&real)[group_loads],
                               entry (&to)[group_loads]) {
    order_key_t<T> keys[group_loads];
    KSELECT_UNROLL
    for (int u = 0; u < group_loads; ++u) at[u] = real[u] ? at[u] : 0;
    load_keys(warp_.simt, m_, levels_, l, row_, at, keys);
    KSELECT_UNROLL
    for (int u = 0; u < group_loads; ++u) to[u] = real[u] ? Candidate::make(keys[u], at[u]) : none;
  }

  // Offers all elements of a level: the top one.
  KSELECT_HD void offer_level(int l) {
    const position size = levels_.at[l].size;
    for (position first = 0; first < size; first += group_loads) {
      position at[group_loads];
      bool real[group_loads];
      entry seen[group_loads];
      KSELECT_UNROLL
      for (int u = 0; u < group_loads; ++u) {
        at[u] = first + static_cast<position>(u);
        real[u] = at[u] < size;
      }
      load_entries(l, at, real, seen);
      offer_all(warp_, search_, seen,
                [&](int u) { return entry_at(l, first + static_cast<position>(u)); });
    }
    search_.finish();
  }

  // Loads the leaders in the slots from j on and, element u at u, their groups in level l.
  KSELECT_HD void load_groups(int l, int j, entry (&leaders)[group_loads],
                              position (&at)[group_loads], bool (&real)[group_loads],
                              entry (&elements)[group_loads]) {
    const int g = 1 << levels_.log_g;
    KSELECT_UNROLL
    for (int u = 0; u < group_loads; ++u) {
      const int slot = j + (u >> levels_.log_g);
      leaders[u] = slots_[slot < slots_.size() ? slot : 0];
      const std::int64_t child = (Candidate::index(leaders[u]) << levels_.log_g) + (u & (g - 1));
      real[u] = slot < slots_.size() && leaders[u] != none && child < levels_.at[l].size;
      at[u] = static_cast<position>(child);
    }
    load_entries(l, at, real, elements);
  }

  // Goes down to level l. The queue holds leaders by their positions in level l + 1. Each is
  // renamed in its slot by its position in level l, in its group. Groups with another element that
  // may be better than the queue's head are listed. Returns the length of the list, which has a
  // first entry in any case.
  KSELECT_HD int descend(int l) {
    const int g = 1 << levels_.log_g;
    // Positions of two levels do not compare, so a tie with the head counts as better.
    const auto worst = Candidate::key(queue_.head());
    int count = 0;
    for (int j = 0; j < slots_.size(); j += group_loads >> levels_.log_g) {
      entry leaders[group_loads], elements[group_loads];
      position at[group_loads];
      bool real[group_loads];
      load_groups(l, j, leaders, at, real, elements);
      bool found = false, others = false;
      position leader = 0;
      KSELECT_UNROLL
      for (int u = 0; u < group_loads; ++u) {
        if ((u & (g - 1)) == 0) found = others = false;
        if (real[u] && !found && Candidate::key(elements[u]) == Candidate::key(leaders[u])) {
          found = true;
          leader = at[u];
          slots_.set(j + (u >> levels_.log_g), elements[u]);
        } else if (real[u] && Candidate::key(elements[u]) <= worst) {
          others = true;
        }
        if ((u & (g - 1)) == g - 1 && listed(others)) {
          groups_.put(count++, others ? leader : no_group);
        }
      }
    }
    if (count == 0) groups_.put(0, 0);
    queue_.reload();
    return count;
  }
  // Whether a group enters the list: in lockstep that of the same slot does in all lanes.
  KSELECT_HD bool listed(bool wanted) const {
    return warp_.lockstep ? warp_.simt.any(warp_.mask, wanted) : wanted;
  }

  // Offers all elements but the leaders of the first `count` listed groups. Unless in lockstep,
  // lanes have different numbers of groups; they stay together until the last is done.
  KSELECT_HD void offer_groups(int l, int count) {
    const position size = levels_.at[l].size;
    for (int first = 0; warp_.simt.any(warp_.mask, first < count);
         first += group_loads >> levels_.log_g) {
      position leaders[group_loads], at[group_loads];
      bool real[group_loads];
      entry seen[group_loads];
      KSELECT_UNROLL
      for (int u = 0; u < group_loads; ++u) {
        const int i = first + (u >> levels_.log_g);
        leaders[u] = groups_[i < count ? i : 0];
      }
      KSELECT_UNROLL
      for (int u = 0; u < group_loads; ++u) {
        at[u] = member(leaders[u], u);
        real[u] = first + (u >> levels_.log_g) < count && at[u] != leaders[u] && at[u] < size;
      }
      load_entries(l, at, real, seen);
      offer_all(warp_, search_, seen, [&](int u) {
        return entry_at(l, member(groups_[first + (u >> levels_.log_g)], u));
      });
    }
    search_.finish();
  }

  // Element u, modulo the group's size, of the leader's group.
  KSELECT_HD position member(position leader, int u) const {
    const position g = position{1} << levels_.log_g;
    return (leader & ~(g - 1)) + (static_cast<position>(u) & (g - 1));
  }

  const lanes<Simt>& warp_;
  const matrix_view<T>& m_;
  const levels_view<T>& levels_;
  std::int64_t row_;
  Slots& slots_;
  Queue& queue_;
  Search& search_;
  group_list<Simt> groups_;
};

}  // namespace kselect::queues
