#pragma once
// Buffered multi-select: the list of survivors in shared memory, and how a full list is cut.
//
// Elements not above the bound enter the list. A warp claims places with one atomic and waits for
// nobody while there is room. When the list is full, the warps meet: each as soon as it has
// something to enter or has read its part of the row. Together they cut the list to the k best,
// which lowers the bound, and go on with the elements that found no place. So any input, in any
// order and with any ties, takes one pass over the row.

#include "algorithms/buffered_multi_select/steps/narrowing.cuh"
#include "algorithms/buffered_multi_select/steps/row.cuh"
#include "algorithms/buffered_multi_select/steps/staging.cuh"

namespace kselect::bms {

template <class Team>
class survivors {
 public:
  using value = typename Team::value;
  using as_element = element<typename Team::stored>;
  using key = typename Team::key;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;

  KSELECT_HD survivors(Team& team, narrowing<Team>& narrow, position k)
      : team_(team), narrow_(narrow), k_(k) {}

  // Empties the list and admits elements up to `bound`. `no_nans`: the first tile certainly has
  // none. All threads of the team; ends with a sync.
  KSELECT_HD void start(key bound, bool no_nans) {
    if (team_.thread() == 0) {
      team_.shared.claimed = 0;
      team_.shared.list.bound = bound;
      team_.shared.list.lowest = static_cast<key>(~key{0});
      team_.shared.list.highest = bound;
      team_.shared.list.closed = 0;
      team_.shared.list.no_nans = no_nans ? 1U : 0U;
    }
    least_ = static_cast<key>(~key{0});
    team_.sync();
    see_bound();
  }
  // start() in steps: one thread calls empty(), one admit(); after a sync all call start().
  KSELECT_HD void empty() {
    team_.shared.claimed = 0;
    team_.shared.list.lowest = static_cast<key>(~key{0});
    team_.shared.list.closed = 0;
  }
  KSELECT_HD void admit(key bound, bool no_nans) {
    team_.shared.list.bound = bound;
    team_.shared.list.highest = bound;
    team_.shared.list.no_nans = no_nans ? 1U : 0U;
  }
  KSELECT_HD void start() {
    least_ = static_cast<key>(~key{0});
    see_bound();
  }
  // Lowers the bound to a key that k elements of the row are not above. All threads, after a sync;
  // ends with a sync.
  KSELECT_HD void lower(key bound) {
    if (team_.thread() == 0 && bound < team_.shared.list.bound) team_.shared.list.bound = bound;
    team_.sync();
    see_bound();
  }

  KSELECT_HD bool admits(key k) const { return k <= as_element::key_of(limit_) && !closed(); }
  // Whether the first tile certainly has no NaN. In shared memory: a stream has no register to
  // spare.
  KSELECT_HD bool first_without_nans() const { return team_.shared.list.no_nans != 0; }
  // The oriented values that are admitted; `no_nans`: certainly none is NaN.
  template <int items>
  KSELECT_HD item_set admitted(const value (&x)[items], bool no_nans) const {
    return closed() ? 0 : not_above(x, limit_, no_nans);
  }
  // True: no value is admitted whose minimum (NaN if any is) is `smallest`. False proves nothing.
  KSELECT_HD bool rejects_from(value smallest) const { return smallest > limit_; }

  // Enters a set of each lane's items. `candidate_of(i)` reads item i. `again()` returns the items
  // that are admitted after a cut has lowered the bound. All lanes of the warp.
  template <class Read, class Again>
  KSELECT_HD void enter(item_set items, const Read& candidate_of, const Again& again) {
    const auto put = [&](item_set set) { return put_one_by_one(set, candidate_of); };
    enter_by(put, items, [&](item_set late) { return late & again(); });
  }
  // enter() that reads late items again one by one instead.
  template <class Read>
  KSELECT_HD void enter(item_set items, const Read& candidate_of) {
    const auto put = [&](item_set set) { return put_one_by_one(set, candidate_of); };
    enter_by(put, items, [&](item_set late) {
      item_set admitted = 0;
      for (; late != 0; late &= late - 1) {
        const int i = team_.simt.ffs(late) - 1;
        if (admits(candidates::key(candidate_of(i)))) admitted |= item_set{1} << i;
      }
      return admitted;
    });
  }
  // enter() for several items a lane, of its part of tile t.
  template <class Reader, class Again>
  KSELECT_HD void enter_many(Reader& row, const typename Reader::tile& own, position t,
                             item_set items, const Again& again) {
    const auto put = [&](item_set set) {
      if constexpr (Team::one_warp) {
        return put_by_places(row, t, set);
      } else {
        return put_from_registers(row, own, t, set);
      }
    };
    enter_by(put, items, [&](item_set late) { return late & again(); });
  }

  // To be called when the warp has read its part. Waits for all warps; returns the size of the
  // list.
  KSELECT_HD position finish() {
    while (meet()) {
    }
    KSELECT_ASSERT(team_.shared.claimed <= team_.shape.capacity);
    return team_.shared.claimed;
  }

  // The range of the list's keys.
  KSELECT_HD key_range<key> range() const { return range_of(team_.shared.claimed); }

 private:
  // Enters items by `put`, which returns those that found no place. After a cut it enters those
  // that are `still` admitted.
  template <class Put, class Still>
  KSELECT_HD void enter_by(const Put& put, item_set items, const Still& still) {
    while (team_.simt.any(simt::full_mask, items != 0)) {
      items = put(items);
      if (!team_.simt.any(simt::full_mask, items != 0)) return;
      meet();
      items = still(items);
    }
  }

  // Three ways into the list. Each enters the lanes' items as long as there is room, and returns
  // those of the caller that found none.

  // Each lane its own, one after the other: fastest if few lanes have one.
  template <class Read>
  KSELECT_HD item_set put_one_by_one(item_set items, const Read& candidate_of) {
    position to = team_.claim(team_.shared.claimed, static_cast<position>(team_.simt.popc(items)));
    for (; items != 0 && to < team_.shape.capacity; items &= items - 1, ++to) {
      put(to, candidate_of(team_.simt.ffs(items) - 1));
    }
    return items;
  }

  // For a team of one warp. First the lanes write the places of their items to the list. Then all
  // lanes read the elements, an equal share each and all at once: one load after the other would
  // take longer than everything else here.
  template <class Reader>
  KSELECT_HD item_set put_by_places(Reader& row, position t, item_set items) {
    const auto own = static_cast<position>(team_.simt.popc(items));
    position to = team_.claim(team_.shared.claimed, own);
    const position first = team_.simt.shfl(simt::full_mask, to, 0);
    position end = team_.simt.shfl(simt::full_mask, to + own, simt::warp_size - 1);
    if (end > team_.shape.capacity) end = team_.shape.capacity;
    for (; items != 0 && to < team_.shape.capacity; items &= items - 1, ++to) {
      const position place = row.place(t, team_.simt.ffs(items) - 1);
      team_.memory.list[to] =
          Team::indexed ? candidates::make(0, place) : static_cast<candidate>(place);
    }
    team_.simt.sync_warp(simt::full_mask);
    for (position i = first + team_.lane(); i < end; i += simt::warp_size) {
      const candidate c = team_.memory.list[i];
      put(i, row.candidate_at(static_cast<position>(Team::indexed ? candidates::index(c) : c)));
    }
    return items;
  }

  // For a block. First the lanes stage their items' bits, straight from registers. Then all lanes
  // make keys of them, an equal share each. (A loop over each lane's own items has load imbalance.)
  template <class Reader>
  KSELECT_HD item_set put_from_registers(Reader& row, const typename Reader::tile& own, position t,
                                         item_set items) {
    const auto count = static_cast<position>(team_.simt.popc(items));
    const position to = team_.claim(team_.shared.claimed, count);
    const position first = team_.simt.shfl(simt::full_mask, to, 0);
    position end = team_.simt.shfl(simt::full_mask, to + count, simt::warp_size - 1);
    const staging<Team> words(team_, row.orientation());
    const auto put_words = [&](item_set placed) {
      typename staging<Team>::cursor cursor(words, to);
      row.each_place(t, [&](int i, position place) {
        if ((placed >> i & 1U) != 0) cursor.put(words.word_of(own.x[i]), place);
      });
    };
    if (end > team_.shape.capacity) {  // the last few find no place
      end = team_.shape.capacity;
      item_set placed = 0;
      for (position i = to; i < end && items != 0; ++i, items &= items - 1) {
        placed |= items & (0 - items);
      }
      put_words(placed);
    } else {
      put_words(items);
      items = 0;
    }
    team_.simt.sync_warp(simt::full_mask);
    for (position i = first + team_.lane(); i < end; i += simt::warp_size) {
      const candidate c = team_.memory.list[i];
      const value x = words.oriented(candidates::key(c));
      put(i, candidates::make(as_element::key_of(x), candidates::index(c)));
    }
    return items;
  }

  KSELECT_HD void put(position to, candidate c) {
    team_.memory.list[to] = c;
    if (candidates::key(c) < least_) least_ = candidates::key(c);
    team_.simt.count(simt::counter::candidates);
  }

  KSELECT_HD key_range<key> range_of(position size) const {
    return {team_.shared.list.lowest, team_.shared.list.highest, 0, size};
  }

  // Waits for all warps. If the list is full, cuts it and returns true.
  KSELECT_HD bool meet() {
    const key least = team_.warp_min(least_);
    if (team_.lane() == 0) team_.simt.atomic_min(team_.shared.list.lowest, least);
    team_.sync();
    const bool full = team_.shared.claimed > team_.shape.capacity;
    if (full) cut();
    return full;
  }

  // Leaves about k entries: those up to the end of a range that holds the k-th. If keys tie there,
  // it leaves those below the range and as many ties as are wanted; no further tie is admitted.
  KSELECT_HD void cut() {
    auto& shared = team_.shared;
    const position size = team_.shape.capacity;
    const auto visit = [&](const auto& f) {
      for (position i = team_.thread(); i < size; i += team_.threads()) {
        f(candidates::key(team_.memory.list[i]));
      }
    };
    const auto r = narrow_.to_rank(range_of(size), k_, team_.shape.kept_most - k_, 0, visit);
    const bool tied = r.up_to > team_.shape.kept_most;
    const position kept = tied ? k_ : r.up_to;
    KSELECT_ASSERT(kept < size);  // a cut frees some room
    if (team_.thread() == 0) {
      team_.simt.count(simt::counter::buffer_flushes);
      shared.cut.tied = 0;
      shared.cut.holes = 0;
      shared.cut.moved = 0;
    }
    team_.sync();
    move_to_front(kept, size, [&](key k) {
      if (!tied || k < r.low) return k <= r.high;
      return k == r.low && team_.simt.atomic_add(shared.cut.tied, 1U) < k_ - r.below;
    });
    if (team_.thread() == 0) {
      shared.claimed = kept;
      shared.list.highest = r.high;
      shared.list.bound = tied ? static_cast<key>(r.low - 1) : r.high;
      shared.list.closed = tied && r.low == 0 ? 1U : 0U;
    }
    team_.sync();
    see_bound();
  }

  // Moves the `kept` of the list's `size` entries for which keeps(key) is true to the front, into
  // the holes that dropped entries leave.
  template <class Keeps>
  KSELECT_HD void move_to_front(position kept, position size, const Keeps& keeps) {
    auto& cut = team_.shared.cut;
    for (position i = team_.thread(); i < kept; i += team_.threads()) {
      if (!keeps(candidates::key(team_.memory.list[i]))) {
        team_.memory.holes[team_.simt.atomic_add(cut.holes, 1U)] = i;
      }
    }
    team_.sync();
    for (position i = kept + team_.thread(); i < size; i += team_.threads()) {
      const candidate c = team_.memory.list[i];
      if (keeps(candidates::key(c))) {
        team_.memory.list[team_.memory.holes[team_.simt.atomic_add(cut.moved, 1U)]] = c;
      }
    }
  }

  KSELECT_HD void see_bound() { limit_ = as_element::value_of(team_.shared.list.bound); }
  KSELECT_HD bool closed() const { return team_.shared.list.closed != 0; }  // rare

  Team& team_;
  narrowing<Team>& narrow_;
  position k_;
  key least_;    // least key that the thread entered
  value limit_;  // a value whose key is the bound
};

}  // namespace kselect::bms
