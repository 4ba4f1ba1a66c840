#pragma once
// Buffered multi-select: selection from elements in a team's registers, by a bracket of the k-th
// value (bracket.cuh).
//
// Elements are compared with the ends of the bracket by the sign of a difference. The counts below
// and inside prove the bracket, whatever it came from. If the k-th lies inside, all elements below
// belong to the answer, and the best of the few inside. Elements below are staged for coalesced
// stores.

#include "algorithms/buffered_multi_select/steps/answer.cuh"
#include "algorithms/buffered_multi_select/steps/bracket.cuh"
#include "algorithms/buffered_multi_select/steps/row.cuh"
#include "algorithms/buffered_multi_select/steps/staging.cuh"

namespace kselect::bms {

// A set of a thread's elements.
struct part {
  item_set items;
  bool end;  // the thread's element of the row's ends
  KSELECT_HD part without(const part& other) const {
    return {items & ~other.items, end && !other.end};
  }
  KSELECT_HD bool any() const { return items != 0 || end; }
  template <class Simt>
  KSELECT_HD position size(Simt& simt) const {
    const position all = elements(simt);
    simt.count(simt::counter::candidates, all);
    return all;
  }
  template <class Simt>
  KSELECT_HD position elements(Simt& simt) const {
    return static_cast<position>(simt.popc(items)) + (end ? 1U : 0U);
  }
  // At most `allowed` elements of a part that has `size`.
  KSELECT_HD part limited(position size, position allowed) const {
    if (size <= allowed) return *this;
    if (allowed == 0) return {0, false};
    part p = *this;
    if (p.end) {
      p.end = false;
      --size;
    }
    for (; size > allowed; --size) p.items &= p.items - 1;
    return p;
  }
};

// Elements expected inside the bracket, at most. More are most likely one value, many times.
inline constexpr position ranked_few = 32;

// Selects from at most 2^15 elements, which a team's threads access by
//   own.not_above(limit)   the caller's part that is not above it; NaNs are in it
//   own.each(part, f)      f(value, place) for each of a part
//   own.each_key(part, f)  f(key, place), of at most own.most_keys
//   own.each_place(part, f)  f(place), for a few; not of a list
// `listed`: the elements, none of them NaN, are in the list too, which survives a failure
// unchanged.
template <bool listed, class Team, class Elements>
class selection_by_bracket {
 public:
  using key = typename Team::key;
  using value = typename Team::value;
  using candidates = typename Team::candidates;

  KSELECT_HD selection_by_bracket(Team& team, const Elements& own, position k,
                                  order_t<typename Team::stored> wanted)
      : team_(team),
        own_(own),
        staged_(team, element<typename Team::stored>::orientation_for(wanted)),
        k_(k) {}

  // Selects all elements below the bracket, and as many inside as are wanted. False if the bracket
  // is wrong, if there are NaNs, or if the elements inside are neither few nor one value (a list
  // must have few). The answer is then invalid. Before the call shared.written is 0 and, unless
  // `listed`, so are left_out, unlike and refuted. All threads of the team, after a sync.
  template <class Answer>
  KSELECT_HD bool write(const bracket& found, Answer& out) {
    KSELECT_ASSERT(k_ <= 1U << 15);  // counts are 16-bit halves of a word
    const part below = own_.not_above(found.low);
    const part inside = own_.not_above(found.high).without(below);
    const position size = below.size(team_.simt), size_inside = inside.size(team_.simt);
    // Both counts in one claim, as 16-bit halves.
    const position to = team_.claim(team_.shared.written, size | size_inside << 16);
    const position to_below = to & 0xffff, to_inside = to >> 16;
    if constexpr (listed) {
      team_.sync();
      if (!holds_kth() || all_inside() > ranked_most) return false;
    }
    put(below, size, to_below);
    put_keys(inside, size_inside, to_inside);
    team_.sync();
    if constexpr (!listed) {
      if (!holds_kth()) return false;
      if (all_inside() > ranked_few) {
        const key tied = candidates::key(staged_.at(k_));
        if (!any_has(inside.without(equal_to(tied)).any(), team_.shared.proof.unlike)) {
          put_some(inside, size_inside, to_inside, k_ - all_below(), tied);
          team_.sync();
          return copy(k_, out);
        }
        if (all_inside() > ranked_most) return false;
      }
      if (team_.shared.proof.left_out != 0) return false;
    }
    const bool numbers = copy(all_below(), out);
    out.rank(all_inside(), all_below(), k_ - all_below(),
             [&](position i) { return staged_.at(k_ + i); });
    return numbers;
  }

 private:
  KSELECT_HD position all_below() const { return team_.shared.written & 0xffff; }
  KSELECT_HD position all_inside() const { return team_.shared.written >> 16; }
  KSELECT_HD bool holds_kth() const {
    return all_below() <= k_ && k_ <= all_below() + all_inside();
  }

  // Stages a part of `size` elements, lane after lane, from the caller's place on. A wrong bracket
  // may have more below than there is room for; those are dropped. If all lanes have equally many,
  // as in sorted rows and of ties, the lanes interleave their elements. Otherwise the lanes' pairs
  // would lie in one bank (a warp stages no pairs).
  KSELECT_HD void put(const part& p, position size, position to) {
    constexpr position lanes = simt::warp_size;
    const bool turns =
        !listed && !Team::one_warp &&
        team_.simt.all(simt::full_mask, size == team_.simt.shfl(simt::full_mask, size, 0));
    const auto fitting = [&](bool fits) { return fits ? p : part{0, false}; };
    const position first = to - team_.lane() * size;  // the warp's
    if (turns && size > 2) {
      stage(fitting(first + lanes * size <= k_), {staged_, first + team_.lane(), lanes});
    } else {
      stage(fitting(to + size <= k_), {staged_, to});
    }
  }
  KSELECT_HD void stage(const part& p, typename staging<Team>::cursor cursor) {
    own_.each(p, [&](value x, position place) { cursor.put(staged_.word_of(x), place); });
  }
  // Stages `rest` elements with key `tied` behind all that is below, first come, first served. In a
  // warp all lanes stage equally many and interleave them, if each has enough: many elements from
  // few lanes would cause bank conflicts.
  KSELECT_HD void put_some(const part& equal, position size, position to, position rest, key tied) {
    if constexpr (Team::one_warp) {
      constexpr position lanes = simt::warp_size;
      const position own = rest / lanes + (team_.lane() < rest % lanes ? 1U : 0U);
      if (team_.simt.all(simt::full_mask, size >= own)) {
        stage(equal.limited(size, own), {staged_, all_below() + team_.lane(), lanes});
        return;
      }
    }
    const part chosen = equal.limited(size, to < rest ? rest - to : 0);
    const position own = chosen.elements(team_.simt);
    to += all_below();
    constexpr position few = 8;
    if (team_.simt.any(simt::full_mask, own > few)) return put(chosen, own, to);
    const key word = staged_.word_of(element<typename Team::stored>::value_of(tied));
    own_.each_place(chosen, [&](position place) { staged_.put(to++, word, place); });
  }
  // Stages the few elements inside, as keys, from place k on. If a lane has many, or many lanes of
  // a warp have some, each stages one: those are ties, and one tells their value. (Not for a list,
  // which is overwritten here.)
  KSELECT_HD void put_keys(const part& p, position size, position to) {
    const position room = to < ranked_most ? ranked_most - to : 0;
    bool many = false;
    if constexpr (!listed) {
      const auto with_some =
          static_cast<position>(team_.simt.popc(team_.simt.ballot(simt::full_mask, size != 0)));
      many = size > Elements::most_keys || (2 * with_some > simt::warp_size && size > 1);
    }
    const part few = p.limited(size, many && room != 0 ? 1 : room);
    if (many) team_.shared.proof.left_out = 1;
    own_.each_key(few, [&](key k, position place) { staged_.put(k_ + to++, k, place); });
  }

  KSELECT_HD part equal_to(key k) const {
    using as_element = element<typename Team::stored>;
    if (k == 0) return {0, false};
    const part less = own_.not_above(as_element::value_of(static_cast<key>(k - 1)));
    return own_.not_above(as_element::value_of(k)).without(less);
  }

  // Copies staged values to the answer. Returns whether none is NaN.
  template <class Answer>
  KSELECT_HD bool copy(position count, Answer& out) {
    bool nans = false;
    out.copy_staged(count, staged_, [&](value x) {
      if (!listed) nans = nans || is_nan(x);
    });
    return listed || !any_has(nans, team_.shared.proof.refuted);
  }

  // Whether `own` is true in any thread of the team.
  KSELECT_HD bool any_has(bool own, std::uint32_t& flag) {
    if constexpr (Team::one_warp) {
      return team_.simt.any(simt::full_mask, own);
    } else {
      if (own) flag = 1;
      team_.sync();
      return flag != 0;
    }
  }

  Team& team_;
  const Elements& own_;
  staging<Team> staged_;
  position k_;
};

// The elements of a list, a few in the registers of each thread.
template <class Team>
class list_in_registers {
 public:
  using key = typename Team::key;
  using as_element = element<typename Team::stored>;
  static constexpr int items = 8;
  static constexpr position most_keys = items;

  // The list's first `size` elements, at most `items` a thread.
  KSELECT_HD list_in_registers(Team& team, position size) : team_(team), size_(size) {
    KSELECT_UNROLL
    for (int e = 0; e < items; ++e) {
      const position i = team.thread() + static_cast<position>(e) * team.threads();
      if (i < size) held_ |= item_set{1} << e;
      const auto c = i < size ? team.memory.list[i] : Team::candidates::make(beyond, 0);
      x_[e] = as_element::value_of(Team::candidates::key(c));
      places_[e] = static_cast<position>(Team::candidates::index(c));
    }
  }

  template <class F>
  KSELECT_HD void visit(const F& f) const {
    KSELECT_UNROLL
    for (int e = 0; e < items; ++e) {
      if (static_cast<position>(e) * team_.threads() < size_) f(x_[e]);
    }
  }
  KSELECT_HD part not_above(float limit) const {
    return {~above(team_.simt, x_, limit) & held_, false};
  }
  template <class F>
  KSELECT_HD void each(const part& p, const F& f) const {
    KSELECT_UNROLL
    for (int e = 0; e < items; ++e) {
      if ((p.items >> e & 1U) != 0) f(x_[e], places_[e]);
    }
  }
  template <class F>
  KSELECT_HD void each_key(const part& p, const F& f) const {
    if (p.items == 0) return;
    each(p, [&](typename Team::value x, position place) { f(as_element::key_of(x), place); });
  }

 private:
  // The key of missing items, which count into no bin that is searched.
  static constexpr key beyond =
      as_element::key_of(std::numeric_limits<typename Team::value>::infinity());

  Team& team_;
  position size_;
  item_set held_ = 0;
  typename Team::value x_[items];
  position places_[items];
};

// Writes the k best of a list of `size` elements, at least k, whose keys lie in `all`. Overwrites
// the list. After a sync.
template <class Team>
KSELECT_HD void write_list(Team& team, narrowing<Team>& narrow,
                           const key_range<typename Team::key>& all, position size, position k,
                           answer<Team>& out) {
  using as_element = element<typename Team::stored>;
  if constexpr (std::is_same_v<typename Team::value, float>) {
    using registers = list_in_registers<Team>;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const bool numbers =
        all.low >= as_element::key_of(-infinity) && all.high <= as_element::key_of(infinity);
    const position most = registers::items * team.threads();
    if (size > most / 4 && size <= most && numbers) {
      if (team.thread() == 0) {
        team.shared.written = 0;
        team.shared.bin = ~position{0};
      }
      const registers own(team, size);
      const bracket found =
          bracket_of(team, narrow, all, 0, k, [&](const auto& f) { own.visit(f); });
      if (found.known && selection_by_bracket<true, Team, registers>(team, own, k, out.wanted())
                             .write(found, out)) {
        return;
      }
      team.sync();  // out.write() overwrites the counts that all have read
    }
  }
  out.write(all, size);
}

}  // namespace kselect::bms
