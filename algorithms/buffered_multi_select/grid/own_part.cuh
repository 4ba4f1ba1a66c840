#pragma once
// Buffered multi-select, several blocks a row with thresholds of their own (own.cuh): what a block
// does with its part, and how the row's last block gathers the parts.

#include "algorithms/buffered_multi_select/grid/again.cuh"

namespace kselect::bms {

// Survivors that a thread of the last block loads, all at once.
template <class T>
inline constexpr int entries_awaited = 4 / entry_words<T>;

// One block's part of a row: its threshold, and its messages.
template <class Team, bool one_tile>
class own_part {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using value = typename Team::value;
  using args = own_args<T, Team::indexed>;
  using storage = own_storage<T>;

  KSELECT_HD own_part(Team& team, storage& shared, const args& a, const row_part& part)
      : team_(team), shared_(shared), a_(a), part_(part) {}

  // Before start(), while the part's loads are in flight.
  KSELECT_HD void prepare(survivors<Team>& list) {
    if (team_.thread() < own_minima) shared_.minima[team_.thread()] = element<T>::worst;
    if (team_.thread() == 0) {
      list.empty();
      shared_.least = shared_.complete = static_cast<key>(~key{0});
      shared_.held = 0;
      shared_.nans = 0;
      shared_.team.written = shared_.team.gathered = 0;
    }
    team_.sync();
  }

  // Starts the list with a threshold that `rank` of the minima are not above. `least` is the
  // caller's minimum. A group is one lane of all warps: in a sorted row a warp's smallest elements
  // are neighbours. The warps share the ranking of the minima; the one of the wanted rank is the
  // threshold.
  KSELECT_HD void start(survivors<Team>& list, value least, std::uint64_t tag) {
    if (team_.thread() == 0) shared_.tag = tag;
    if (is_nan(least)) shared_.nans = 1;  // the minimum of keys would hide it
    team_.simt.atomic_min(shared_.minima[team_.lane()], element<T>::key_of(least));
    team_.sync();
    const key own = shared_.minima[team_.lane()];
    const bool no_nans = shared_.nans == 0;
    const key least_of_all = team_.warp_min(own);
    // Ranking one minimum is a chain of steps, so several are ranked at once. The first ones may
    // repeat.
    constexpr int at_once = 4;
    for (position first = team_.warp(); first < own_minima; first += at_once * team_.warps()) {
      KSELECT_UNROLL
      for (int c = 0; c < at_once; ++c) {
        const position i = (first + static_cast<position>(c) * team_.warps()) % own_minima;
        const key other = shared_.minima[i];
        const std::uint32_t smaller =
            team_.simt.ballot(simt::full_mask, own < other || (own == other && team_.lane() < i));
        const bool wanted = static_cast<position>(team_.simt.popc(smaller)) + 1 == a_.shape.rank;
        if (wanted && team_.lane() == 0) {
          list.admit(other, no_nans);
          shared_.tied = no_nans && other == least_of_all ? 1U : 0U;
        }
      }
    }
    team_.sync();
    list.start();
  }

  // Whether all that passes is one value. If most of a part has it, two elements of each thread are
  // more than there are slots; if few have it, hardly a thread has more than two.
  KSELECT_HD bool is_tied() const { return one_tile && shared_.tied != 0; }

  // Posts the list, of `size` entries; if it has more than slots, the best of them.
  KSELECT_HD void post(narrowing<Team>& narrow, survivors<Team>& list, position size) {
    if (size > a_.slots) return post_best(narrow, list, size);
    const key bound = team_.shared.list.bound;
    if (team_.thread() == 0) post_head(one_tile && shared_.tied != 0 ? bound : after(bound));
    for (position i = team_.thread(); i < a_.slots; i += team_.threads()) {
      post_entry(i, i < size ? entry_of<Team>(team_.memory.list[i]) : entry::nothing());
    }
  }

 private:
  using entry = posted_entry<T>;

  // For a part that is sorted or has ties, and rarely by chance.
  KSELECT_HD void post_best(narrowing<Team>& narrow, survivors<Team>& list, position size) {
    const position enough = a_.enough;
    const auto r = narrow.to_rank(list.range(), enough, a_.slots - enough, 0, [&](const auto& f) {
      for (position i = team_.thread(); i < size; i += team_.threads()) {
        f(Team::candidates::key(team_.memory.list[i]));
      }
    });
    const bool tied = r.up_to > a_.slots;  // more ties than slots left; some fit
    if (team_.thread() == 0) post_head(tied ? r.low : after(r.high));
    position& written = shared_.team.written;  // sure entries; others: ties, behind them
    position& others = shared_.team.gathered;
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      const auto c = team_.memory.list[i];
      const key k = Team::candidates::key(c);
      if (k > r.high) continue;
      const bool sure = !tied || k < r.low;
      const position to =
          sure ? team_.simt.atomic_add(written, 1U) : r.below + team_.simt.atomic_add(others, 1U);
      if (to < a_.slots) post_entry(to, entry_of<Team>(c));
    }
    team_.sync();
    for (position i = written + others + team_.thread(); i < a_.slots; i += team_.threads()) {
      post_entry(i, entry::nothing());
    }
  }

  KSELECT_HD static key after(key last) {
    return last == static_cast<key>(~key{0}) ? last : last + 1;
  }

  KSELECT_HD void post_head(key complete) {
    const key lowest = team_.shared.list.lowest;  // of the list; others are not below `complete`
    bms::post_entry(team_, heads_of_row(team_, a_, part_.row), part_.number,
                    {complete, lowest < complete ? lowest : complete}, shared_.tag);
  }
  KSELECT_HD void post_entry(position slot, const entry& e) {
    bms::post_entry(team_, entries_of_row(team_, a_, part_.row), part_.number * a_.slots + slot, e,
                    shared_.tag);
  }

  Team& team_;
  storage& shared_;
  const args& a_;
  row_part part_;
};

// The parts' messages, in registers of the row's last block.
template <class Team>
class gathered_parts {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using args = own_args<T, Team::indexed>;

  KSELECT_HD gathered_parts(Team& team, own_storage<T>& shared, const args& a, std::int64_t row)
      : team_(team),
        shared_(shared),
        entries_(team, entries_of_row(team, a, row), shared.tag, team.thread(), team.threads(),
                 a.parts * a.slots),
        head_(team, heads_of_row(team, a, row), shared.tag, team.thread(), team.threads(),
              a.parts) {}

  // Waits for all parts and stores their reports in `told`. Returns the number of survivors that
  // are certain: no element that was not posted comes before them. After a sync; ends with one.
  KSELECT_HD position gather(told_part<T>* told, position parts) {
    KSELECT_ASSERT(parts <= team_.threads());                                   // a thread each
    if (team_.thread() == 0) shared_.team.written = shared_.team.gathered = 0;  // for write()
    for (bool complete = false; !complete;) {
      const bool head = head_.complete(), entries = entries_.complete();  // both look, each time
      complete = head && entries;
    }
    if (team_.thread() < parts) {
      const told_part<T> own{static_cast<key>(head_[0].key), static_cast<key>(head_[0].place)};
      told[team_.thread()] = own;
      team_.simt.atomic_min(shared_.least, own.least);
      team_.simt.atomic_min(shared_.complete, own.complete);
    }
    team_.sync();
    // Survivors with the least key of all are certain, even if not all of their equals were posted.
    end_ = shared_.complete == shared_.least ? shared_.least + 1 : shared_.complete;
    position held = 0;
    KSELECT_UNROLL
    for (int e = 0; e < at_once; ++e) held += is_held(e) ? 1U : 0U;
    held = team_.simt.reduce_add(simt::full_mask, held);
    if (team_.lane() == 0) team_.simt.atomic_add(shared_.held, held);
    team_.sync();
    return shared_.held;
  }

  // Writes the k smallest of the certain survivors, which are k or more.
  KSELECT_HD void write(answer_of_grid<Team>& out) {
    out.write_held({shared_.least, static_cast<key>(end_ - 1), 0, shared_.held},
                   [&](const auto& f) {
                     KSELECT_UNROLL
                     for (int e = 0; e < at_once; ++e) {
                       f(is_held(e), candidate_of_entry<Team>(entries_[e]));
                     }
                   });
  }

 private:
  static constexpr int at_once = entries_awaited<T>;

  KSELECT_HD bool is_held(int e) const {
    return entries_[e].place != posted_entry<T>::none && entries_[e].key < end_;
  }

  Team& team_;
  own_storage<T>& shared_;
  awaited_entries<Team, at_once> entries_;
  awaited_entries<Team, 1> head_;
  key end_ = 0;  // survivors below it are certain
};

}  // namespace kselect::bms
