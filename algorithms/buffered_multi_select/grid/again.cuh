#pragma once
// Buffered multi-select, several blocks a row with thresholds of their own: if parts have held back
// too much, the row's last block alone reads them again. Few rows come here, mostly with one part
// that is sorted or has ties.

#include "algorithms/buffered_multi_select/grid/in_order.cuh"
#include "algorithms/buffered_multi_select/grid/share.cuh"

namespace kselect::bms {

// The groups of threads whose minima give a block's threshold. A group is one lane of all warps.
inline constexpr position own_minima = simt::warp_size;

// A block's static shared memory.
template <class T>
struct own_storage {
  team_storage<key_of<T>> team;
  std::uint64_t tag;  // of messages
  key_of<T> minima[own_minima];
  key_of<T> least, complete;  // over all parts, in the last block
  position held;              // survivors that are certain
  std::uint32_t nans;         // the first tile has NaNs
  std::uint32_t tied;         // nothing of the tile is below the part's threshold
};

// A block's part of a row. A part of one tile has chunks from all over the row.
template <class Team, int loads, bool one_tile>
using own_share =
    row_share<Team, loads, one_tile, one_tile ? readers::scattered : readers::several>;

// Fills the list with all elements that may be among the k smallest: k or more.
template <class Team, class Share>
class parts_again {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using args = own_args<T, Team::indexed>;

  // `told`: the reports of all parts.
  KSELECT_HD parts_again(Team& team, narrowing<Team>& narrow, const args& a, std::int64_t row,
                         std::uint64_t tag, const told_part<T>* told)
      : team_(team),
        narrow_(narrow),
        a_(a),
        row_(row),
        tag_(tag),
        told_(told),
        entries_(entries_of_row(team, a, row)),
        count_(a.parts * a.slots) {}

  // No element is below `least`. Returns the size of the list.
  KSELECT_HD position fill(survivors<Team>& list, key least) {
    list.start(static_cast<key>(~key{0}), false);
    // In a sorted row the best part leaves nothing to read of the others.
    const position best = best_part(
        team_, a_.parts, [&](position part) { return told_[part].least; },
        [](position) { return true; });
    read(best, list);
    const auto wanted = [&](position part) {
      return part != best && list.admits(told_[part].least);
    };
    bool any = false;
    for_parts(team_, a_.parts, wanted, [&](position) { any = true; });
    if (any) read_others(list, least, wanted);
    return list.finish();
  }

 private:
  template <class Wanted>
  KSELECT_HD void read_others(survivors<Team>& list, key least, const Wanted& wanted) {
    list.lower(limit_of_posted(least));
    const key limit = team_.shared.list.bound;
    const auto is_complete = [&](position part) { return told_[part].complete > limit; };
    enter_posted(list, [&](position part) { return wanted(part) && is_complete(part); });
    list.finish();
    const auto incomplete = [&](position part) { return wanted(part) && !is_complete(part); };
    for_parts(team_, a_.parts, incomplete, [&](position part) {
      if (list.admits(told_[part].least)) read(part, list);
    });
  }

  // A key that k of the posted survivors are not above.
  KSELECT_HD key limit_of_posted(key least) {
    constexpr auto greatest = static_cast<key>(~key{0});
    const position k = a_.matrix.k;
    const auto visit = [&](const auto& f) {
      for (position i = team_.thread(); i < count_; i += team_.threads()) {
        const auto e = entry_at(i);
        if (e.place != posted_entry<T>::none) f(static_cast<key>(e.key));
      }
    };
    position own = 0;
    visit([&](key) { ++own; });
    if (team_.thread() == 0) team_.shared.gathered = 0;
    team_.sync();
    team_.take(team_.shared.gathered, own);
    team_.sync();
    const position posted = team_.shared.gathered;
    if (posted < k) return greatest;
    return narrow_.to_rank({least, greatest, 0, posted}, k, k / 8, 0, visit).high;
  }

  // Enters posted survivors of the parts that are `wanted`.
  template <class Wanted>
  KSELECT_HD void enter_posted(survivors<Team>& list, const Wanted& wanted) {
    for (position first = 0; first < count_; first += team_.threads()) {
      const position i = first + team_.thread();
      const auto e = i < count_ ? entry_at(i) : posted_entry<T>::nothing();
      const bool admitted = e.place != posted_entry<T>::none && wanted(i / a_.slots) &&
                            list.admits(static_cast<key>(e.key));
      list.enter(admitted ? item_set{1} : 0, [&](int) { return candidate_of_entry<Team>(e); });
    }
  }

  // Reads a part again. All threads. Its own threshold holds most of it back, if much of it is
  // below the limit. A threshold of infinity comes from missing elements and is not used.
  KSELECT_HD void read(position part, survivors<Team>& list) {
    using reader = typename Share::reader;
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    Share share(team_, a_.matrix, row_, part, a_.parts);
    narrow_.forget_extremes();
    team_.sync();
    const position k = a_.matrix.k;
    const key bound =
        threshold_of<few_groups<T>, reader>(team_, narrow_, share.first_tile(), k, k / 8 + 1).bound;
    if (bound < element<T>::key_of(element<T>::last)) list.lower(bound);
    share.filter(list);
  }

  // This thread has seen the message before.
  KSELECT_HD posted_entry<T> entry_at(position slot) {
    return awaited_entries<Team, 1>(team_, entries_, tag_, slot, 0, count_)[0];
  }

  Team& team_;
  narrowing<Team>& narrow_;
  const args& a_;
  std::int64_t row_;
  std::uint64_t tag_;
  const told_part<T>* told_;
  simt::global<simt::message> entries_;
  position count_;
};

// Selects from a row whose parts have held back too much. By the row's last block, which has seen
// all messages.
template <class T, bool indexed, int loads, bool one_tile, class Simt>
KSELECT_RARE KSELECT_HD void select_again(Simt simt, own_storage<T>& shared,
                                          const own_args<T, indexed>& a, position row) {
  using Team = team<Simt, T, indexed, false>;
  const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
  const auto* const told = own_args<T, indexed>::shared::told(simt.dynamic_shared(), a.shape);
  Team block(simt, shared.team, memory, a.shape);
  narrowing<Team> narrow(block);
  survivors<Team> list(block, narrow, a.matrix.k);
  parts_again<Team, own_share<Team, loads, one_tile>> again(block, narrow, a, row, shared.tag,
                                                            told);
  const position size = again.fill(list, shared.least);
  answer_of_grid<Team>(block, narrow, a.out, row, a.matrix.k, a.matrix.wanted,
                       list_in_order(block, a))
      .write(list.range(), size);
}

}  // namespace kselect::bms
