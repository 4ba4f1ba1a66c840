#pragma once
// Buffered multi-select, several blocks a row: how the survivors of its parts come together. Each
// block posts its survivors, and the last gathers them. No trip to memory fetches their number
// first.

#include "algorithms/buffered_multi_select/grid/entries.cuh"
#include "algorithms/buffered_multi_select/steps/survivors.cuh"

namespace kselect::bms {

// Survivors of other parts that a thread loads at once.
inline constexpr int gathered_at_once = 4;

template <class Team>
class posted_survivors {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using candidates = typename Team::candidates;
  using candidate = typename Team::candidate;
  using args = grid_args<T, Team::indexed>;

  // `told`: shared memory of the block, [parts].
  KSELECT_HD posted_survivors(Team& team, const args& a, const row_part& part, std::uint64_t tag,
                              crowded_part<T>* told)
      : team_(team), a_(a), part_(part), tag_(tag), told_(told) {}

  // Leaves the list, of `size` entries, to the row's last block.
  KSELECT_HD void leave(position size) {
    if (size > a_.slots) return leave_crowded(size);
    for (position i = team_.thread(); i < a_.slots; i += team_.threads()) {
      post(i, i < size ? entry_of<Team>(team_.memory.list[i]) : entry::nothing());
    }
  }

  // By the last block, before gather() and a sync.
  KSELECT_HD void prepare() {
    for (position i = team_.thread(); i < a_.parts; i += team_.threads()) told_[i] = {0, 0};
  }

  // Enters the other parts' survivors that are not above the bound. Returns the size of the list.
  KSELECT_HD position gather(survivors<Team>& list) {
    const auto from = entries_from(0, part_.number);
    const position count = part_.number * a_.slots;
    for (position first = 0; first < count; first += gathered_at_once * team_.threads()) {
      awaited_entries<Team, gathered_at_once> posted(team_, from, tag_, first + team_.thread(),
                                                     team_.threads(), count);
      while (!posted.complete()) {
      }
      candidate found[gathered_at_once];
      item_set held = 0;
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once; ++c) {
        const entry e = posted[c];
        found[c] = candidate_of_entry<Team>(e);
        const bool real = e.place != entry::none;
        if (real && list.admits(static_cast<key>(e.key))) held |= item_set{1} << c;
        if (!real && e.key != 0 && posted.slot_of(c) < count) note(posted.slot_of(c), e.key);
      }
      enter(list, held, found);
    }
    const position size = list.finish();
    if (told_[part_.number].size == 0) return size;
    // Elements that tie with the list's last are not needed if it has k.
    const key last = team_.shared.list.highest;
    team_.sync();  // all have seen the size
    const auto least = [&](position part) { return told_[part].least; };
    const auto needed = [&](position part) {
      return told_[part].size != 0 && (size < a_.matrix.k || least(part) < last);
    };
    // In a sorted row the best part leaves nothing to read of the others.
    const position best = best_part(team_, part_.number, least, needed);
    if (best == part_.number) return size;
    gather_elsewhere(list, best);
    for_parts(
        team_, part_.number,
        [&](position part) { return part != best && needed(part) && list.admits(least(part)); },
        [&](position part) { gather_elsewhere(list, part); });
    return list.finish();
  }

 private:
  static constexpr int words = entry_words<T>;

  // Two slots of a crowded part have no survivors. Their keys are:
  using entry = posted_entry<T>;
  static constexpr position slot_of_size = 0;   // how many it leaves in the overflow,
  static constexpr position slot_of_least = 1;  // and the least key among them
  static constexpr position slots_of_notes = 2;

  KSELECT_HD void post(position slot, const entry& e) {
    post_entry(team_, entries_from(part_.number, 1), slot, e, tag_);
  }

  // If what is too much for the slots are ties, the last block hardly needs them: other parts have
  // some, too. So the rest and as many ties as fit have slots. Else all goes to the overflow.
  KSELECT_HD void leave_crowded(position size) {
    auto& shared = team_.shared;
    const key last = shared.list.highest;
    if (team_.thread() == 0) shared.written = 0;
    team_.sync();
    const auto is_tie = [&](position i) { return candidates::key(team_.memory.list[i]) >= last; };
    position own = 0;  // low half: entries below the last; high half: ties
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      own += is_tie(i) ? 1U << 16 : 1U;
    }
    const position before = team_.claim(shared.written, own);
    team_.sync();
    const position below = shared.written & 0xffff;
    const position fit = a_.slots > slots_of_notes ? a_.slots - slots_of_notes : 0;
    const position posted = below <= fit ? fit : 0;
    const auto to = overflow_of(part_.number);
    position next = before & 0xffff, next_tie = below + (before >> 16);
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      const position place = is_tie(i) ? next_tie++ : next++;
      const candidate c = team_.memory.list[i];
      if (place < posted) {
        post(slots_of_notes + place, entry_of<Team>(c));
      } else {
        team_.simt.store(to, place - posted, c);
      }
    }
    // After the barrier the threads that post notes have seen all stores; the fence orders these
    // before posts.
    team_.sync();
    if (team_.thread() < slots_of_notes) team_.simt.fence();
    if (team_.thread() == slot_of_size) post(slot_of_size, {entry::none, size - posted});
    if (team_.thread() == slot_of_least && slot_of_least < a_.slots) {
      post(slot_of_least, {entry::none, posted == 0 ? shared.list.lowest : last});
    }
    for (position i = slots_of_notes + posted + team_.thread(); i < a_.slots;
         i += team_.threads()) {
      post(i, entry::nothing());
    }
  }

  // Notes what a crowded part `said` in a slot.
  KSELECT_HD void note(position slot, typename entry::word said) {
    team_.simt.fence();  // for the threads that will read the overflow
    const position part = slot / a_.slots;
    if (slot - part * a_.slots == slot_of_size) {
      told_[part].size = static_cast<position>(said);
      told_[part_.number].size = 1;  // there are crowded parts
    } else {
      told_[part].least = said;
    }
  }

  template <int most>
  KSELECT_HD void enter(survivors<Team>& list, item_set held, const candidate (&found)[most]) {
    list.enter(held, [&](int wanted) {
      candidate one = found[0];
      KSELECT_UNROLL
      for (int c = 1; c < most; ++c) {  // registers cannot be indexed
        if (c == wanted) one = found[c];
      }
      return one;
    });
  }

  // Enters the overflow of a part, as long as any of it may be admitted. The warps, a power of two
  // of them, share it. Each part begins with another warp, as most overflows are short.
  KSELECT_HD void gather_elsewhere(survivors<Team>& list, position part) {
    const auto [least, size] = told_[part];
    const auto from = overflow_of(part);
    constexpr position each = gathered_at_once * simt::warp_size;
    const position warps = team_.warps();
    KSELECT_ASSERT((warps & (warps - 1)) == 0);
    const position turn = (team_.warp() - part) & (warps - 1);
    for (position first = turn * each; first < size && list.admits(least); first += warps * each) {
      const auto at = [&](int c) {
        return first + static_cast<position>(c) * simt::warp_size + team_.lane();
      };
      candidate found[gathered_at_once];
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once; ++c) {
        found[c] = at(c) < size ? team_.simt.load_fresh(from, at(c)) : candidate{};
      }
      item_set held = 0;
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once; ++c) {
        const bool admitted = at(c) < size && list.admits(candidates::key(found[c]));
        if (admitted) held |= item_set{1} << c;
      }
      enter(list, held, found);
    }
  }

  // The slots of this row's parts from `part` on.
  KSELECT_HD simt::global<simt::message> entries_from(position part, position parts) {
    const std::int64_t each = std::int64_t{a_.slots} * words;
    return team_.simt.slice(a_.memory.entries, (std::int64_t{part_.row} * a_.parts + part) * each,
                            parts * each);
  }
  // Each part has its own overflow, as large as a list, so that no block has to ask where to write.
  KSELECT_HD simt::global<candidate> overflow_of(position part) {
    const std::int64_t number = std::int64_t{part_.row} * a_.parts + part;
    return team_.simt.slice(a_.memory.overflow, number * a_.shape.capacity, a_.shape.capacity);
  }

  Team& team_;
  const args& a_;
  row_part part_;
  std::uint64_t tag_;
  crowded_part<T>* told_;
};

}  // namespace kselect::bms
