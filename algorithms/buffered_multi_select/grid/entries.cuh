#pragma once
// Buffered multi-select, several blocks a row: how survivors pass from block to block.

#include "algorithms/buffered_multi_select/grid/args.cuh"

namespace kselect::bms {

// A posted survivor, or a report in place of one.
template <class T>
struct posted_entry {
  using word = std::conditional_t<entry_words<T> == 1, std::uint32_t, std::uint64_t>;
  static constexpr word none = static_cast<word>(~word{0});
  word place;  // none: there is no survivor
  word key;
  KSELECT_HD static constexpr posted_entry nothing() { return {none, 0}; }
};

template <class Team>
KSELECT_HD void post_entry(Team& team, simt::global<simt::message> to, position slot,
                           const posted_entry<typename Team::stored>& e, std::uint64_t tag) {
  if constexpr (entry_words<typename Team::stored> == 1) {
    team.simt.post(to, slot, {std::uint64_t{e.key} << 32 | e.place, tag});
  } else {
    team.simt.post(to, 2 * slot, {e.place, tag});
    team.simt.post(to, 2 * slot + 1, {e.key, tag});
  }
}

// The entry of candidate c of a list.
template <class Team>
KSELECT_HD posted_entry<typename Team::stored> entry_of(const typename Team::candidate& c) {
  using entry = posted_entry<typename Team::stored>;
  return {static_cast<typename entry::word>(Team::candidates::index(c)), Team::candidates::key(c)};
}

template <class Team>
KSELECT_HD typename Team::candidate candidate_of_entry(
    const posted_entry<typename Team::stored>& e) {
  return Team::candidates::make(static_cast<typename Team::key>(e.key),
                                static_cast<std::int64_t>(e.place));
}

// Several entries of a thread. It loads all at once, and again those that have not arrived: a trip
// to memory takes longer than everything that is done with them.
template <class Team, int entries>
class awaited_entries {
 public:
  using entry = posted_entry<typename Team::stored>;

  // The slots first, first + step, ..., as far as they are below `count`.
  KSELECT_HD awaited_entries(Team& team, simt::global<simt::message> from, std::uint64_t tag,
                             position first, position step, position count)
      : team_(team), from_(from), tag_(tag), first_(first), step_(step) {
    KSELECT_UNROLL
    for (int m = 0; m < messages; ++m) {
      const bool there = slot_of(m / words) < count;
      seen_[m] = there ? team_.simt.look(from_, number_of(m)) : simt::message{entry::none, tag_};
    }
  }

  // Looks again for missing entries. Returns whether none was missing.
  KSELECT_HD bool complete() {
    bool missing = false;
    KSELECT_UNROLL
    for (int m = 0; m < messages; ++m) {
      if (seen_[m].tag == tag_) continue;
      missing = true;
      seen_[m] = team_.simt.look_awaited(from_, number_of(m), tag_);
    }
    return !missing;
  }

  KSELECT_HD position slot_of(int e) const { return first_ + static_cast<position>(e) * step_; }
  KSELECT_HD entry operator[](int e) const {
    if constexpr (words == 1) {
      return {static_cast<std::uint32_t>(seen_[e].payload),
              static_cast<std::uint32_t>(seen_[e].payload >> 32)};
    } else {
      return {seen_[2 * e].payload, seen_[2 * e + 1].payload};
    }
  }

 private:
  static constexpr int words = entry_words<typename Team::stored>;
  static constexpr int messages = entries * words;

  KSELECT_HD std::int64_t number_of(int m) const {
    return std::int64_t{slot_of(m / words)} * words + m % words;
  }

  Team& team_;
  simt::global<simt::message> from_;
  std::uint64_t tag_;
  position first_, step_;
  simt::message seen_[messages];
};

// The part with the least `least(part)` among those that are `wanted(part)`; `parts` if there is
// none. All lanes of a warp.
template <class Team, class Least, class Wanted>
KSELECT_HD position best_part(Team& team, position parts, const Least& least,
                              const Wanted& wanted) {
  using key = typename Team::key;
  auto lowest = static_cast<key>(~key{0});
  position best = parts;
  for (position part = team.lane(); part < parts; part += simt::warp_size) {
    if (wanted(part) && least(part) <= lowest) {
      lowest = least(part);
      best = part;
    }
  }
  const key of_all = team.warp_min(lowest);
  const std::uint32_t having = team.simt.ballot(simt::full_mask, best != parts && lowest == of_all);
  return having == 0 ? parts : team.simt.shfl(simt::full_mask, best, team.simt.ffs(having) - 1);
}

// Calls f(part) for the wanted parts. `wanted` is asked for a warp's width of parts before f is
// called for them. All lanes of a warp.
template <class Team, class Wanted, class F>
KSELECT_HD void for_parts(Team& team, position parts, const Wanted& wanted, const F& f) {
  for (position first = 0; first < parts; first += simt::warp_size) {
    const position part = first + team.lane();
    for (std::uint32_t rest = team.simt.ballot(simt::full_mask, part < parts && wanted(part));
         rest != 0; rest &= rest - 1) {
      f(first + static_cast<position>(team.simt.ffs(rest) - 1));
    }
  }
}

}  // namespace kselect::bms
