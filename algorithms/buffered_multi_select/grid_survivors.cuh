#pragma once
// Buffered multi-select, several blocks a row: how the survivors of its parts come together. Each
// block posts its own, and the last gathers them: no trip to memory tells first how many there are.

#include "algorithms/buffered_multi_select/grid_args.cuh"
#include "algorithms/buffered_multi_select/survivors.cuh"

namespace kselect::bms {

// Survivors of others that one thread asks for at once.
inline constexpr int gathered_at_once = 4;

// What a block knows of a part that has left its survivors elsewhere, as they are too many: 0, if
// it has not.
template <class T>
struct crowded_part {
  key_of<T> least;
  position size;
};

template <class Team>
class posted_survivors {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using candidates = typename Team::candidates;
  using candidate = typename Team::candidate;
  using args = grid_args<T, Team::indexed>;

  // `told`: shared memory of the block, [parts].
  KSELECT_HD posted_survivors(Team& team, const args& a, const row_part& part,
                              crowded_part<T>* told)
      : team_(team), a_(a), part_(part), told_(told) {}

  // Leaves the list, of that size, to the row's last block.
  KSELECT_HD void leave(position size) {
    const bool crowded = size > a_.slots;
    if (crowded) leave_elsewhere(size);
    const candidate* const list = team_.memory.list;
    const auto to = entries_from(part_.number, 1);
    for (position i = team_.thread(); i < a_.slots; i += team_.threads()) {
      entry e{entry::none, 0};
      if (crowded) {
        if (i == slot_of_size) e.key = size;
        if (i == slot_of_least) e.key = team_.shared.lowest;
      } else if (i < size) {
        e = {static_cast<typename entry::word>(candidates::index(list[i])),
             candidates::key(list[i])};
      }
      post_entry(to, i, e);
    }
  }

  // For gather(), by the last block: before a sync.
  KSELECT_HD void prepare() {
    for (position i = team_.thread(); i < a_.parts; i += team_.threads()) told_[i] = {0, 0};
  }

  // Enters what the other parts have left, as far as it is not above the bound. Returns the size
  // of the list.
  KSELECT_HD position gather(survivors<Team>& list) {
    const auto from = entries_from(0, part_.number);
    const position count = part_.number * a_.slots;
    for (position first = 0; first < count; first += gathered_at_once * team_.threads()) {
      const auto at = [&](int c) {
        return first + static_cast<position>(c) * team_.threads() + team_.thread();
      };
      simt::message seen[gathered_at_once * words];
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once * words; ++c) {  // all are on their way at once
        const position slot = at(c / words);
        seen[c] = slot < count ? team_.simt.look(from, slot * words + c % words)
                               : simt::message{~std::uint64_t{0}, a_.tag};
      }
      candidate found[gathered_at_once];
      item_set held = 0;
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once; ++c) {
        const entry e = entry_of(from, at(c), seen + c * words);
        found[c] = candidates::make(e.key, static_cast<std::int64_t>(e.place));
        const bool real = e.place != entry::none;
        if (real && list.admits(e.key)) held |= item_set{1} << c;
        if (!real && e.key != 0 && at(c) < count) note(at(c), e.key);
      }
      enter(list, held, found);
    }
    const position size = list.finish();
    if (told_[part_.number].size == 0) return size;
    team_.sync();                          // all have seen the size
    const position best = best_crowded();  // of sorted rows it leaves nothing to read of the others
    gather_elsewhere(list, best);
    for (position first = 0; first < part_.number; first += simt::warp_size) {
      const position part = first + team_.lane();
      const bool wanted = part < part_.number && part != best && told_[part].size != 0 &&
                          list.admits(told_[part].least);
      for (std::uint32_t rest = team_.simt.ballot(simt::full_mask, wanted); rest != 0;
           rest &= rest - 1) {
        gather_elsewhere(list, first + static_cast<position>(team_.simt.ffs(rest) - 1));
      }
    }
    return list.finish();
  }

  KSELECT_HD void take_tags_off() {
    bms::take_tags_off(team_, entries_from(0, part_.number), part_.number * a_.slots * words);
  }

 private:
  static constexpr int words = entry_words<T>;

  // A survivor as it is posted, or what is said in place of one.
  struct entry {
    using word = std::conditional_t<words == 1, std::uint32_t, std::uint64_t>;
    static constexpr word none = static_cast<word>(~word{0});
    word place;  // none: there is none, and the key is 0; or the part has more survivors than
    word key;    // slots, and has left them elsewhere. Then two slots' keys are:
  };
  static constexpr position slot_of_size = 0;   // how many,
  static constexpr position slot_of_least = 1;  // and the least key among them

  KSELECT_HD void leave_elsewhere(position size) {
    const auto to = overflow_of(part_.number);
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      team_.simt.store(to, i, team_.memory.list[i]);
    }
    // After the barrier those who speak for all have seen it, which is ordered with what they post.
    team_.sync();
    if (team_.thread() <= slot_of_least) team_.simt.fence();
  }

  // Of a part that has left its survivors elsewhere: `key`, from that slot.
  KSELECT_HD void note(position slot, typename entry::word key) {
    team_.simt.fence();  // for those who will read what has been left
    const position part = slot / a_.slots;
    if (slot - part * a_.slots == slot_of_size) {
      told_[part].size = static_cast<position>(key);
      told_[part_.number].size = 1;  // there are such parts
    } else {
      told_[part].least = key;
    }
  }

  template <int most>
  KSELECT_HD void enter(survivors<Team>& list, item_set held, const candidate (&found)[most]) {
    list.enter(held, [&](int wanted) {
      candidate one = found[0];
      KSELECT_UNROLL
      for (int c = 1; c < most; ++c) {  // a register has no number
        if (c == wanted) one = found[c];
      }
      return one;
    });
  }

  // The entry of a slot from its messages, which may not have been there yet.
  KSELECT_HD entry entry_of(simt::global<simt::message> from, position slot, simt::message* seen) {
    KSELECT_UNROLL
    for (int w = 0; w < words; ++w) {
      if (seen[w].tag != a_.tag) {
        seen[w].payload = team_.simt.await(from, slot * words + w, a_.tag);
      }
    }
    if constexpr (words == 1) {
      return {static_cast<std::uint32_t>(seen[0].payload),
              static_cast<std::uint32_t>(seen[0].payload >> 32)};
    } else {
      return {seen[0].payload, seen[1].payload};
    }
  }

  // The part with the least key of those that have left their survivors elsewhere, of which there
  // are some.
  KSELECT_HD position best_crowded() {
    auto least = static_cast<key>(~key{0});
    position best = ~position{0};
    for (position part = team_.lane(); part < part_.number; part += simt::warp_size) {
      if (told_[part].size != 0 && (told_[part].least < least || best == ~position{0})) {
        least = told_[part].least;
        best = part;
      }
    }
    const key of_all = team_.warp_min(least);
    const std::uint32_t having =
        team_.simt.ballot(simt::full_mask, best != ~position{0} && least == of_all);
    return team_.simt.shfl(simt::full_mask, best, team_.simt.ffs(having) - 1);
  }

  // Enters what a part has left elsewhere, as long as any of it may be admitted. The warps, whose
  // number is a power of two, share it; of each part another has the first turn, as most are short.
  KSELECT_HD void gather_elsewhere(survivors<Team>& list, position part) {
    const auto [least, size] = told_[part];
    const auto from = overflow_of(part);
    constexpr position each = gathered_at_once * simt::warp_size;
    const position warps = team_.warps();
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

  KSELECT_HD void post_entry(simt::global<simt::message> to, position slot, const entry& e) {
    if constexpr (words == 1) {
      team_.simt.post(to, slot, {std::uint64_t{e.key} << 32 | e.place, a_.tag});
    } else {
      team_.simt.post(to, 2 * slot, {e.place, a_.tag});
      team_.simt.post(to, 2 * slot + 1, {e.key, a_.tag});
    }
  }

  // The slots of this row's parts from `part` on.
  KSELECT_HD simt::global<simt::message> entries_from(position part, position parts) {
    const std::int64_t each = std::int64_t{a_.slots} * words;
    return team_.simt.slice(a_.memory.entries, (std::int64_t{part_.row} * a_.parts + part) * each,
                            parts * each);
  }
  // Each part has its own, as many as a list, so that no block has to ask where to write.
  KSELECT_HD simt::global<candidate> overflow_of(position part) {
    const std::int64_t number = std::int64_t{part_.row} * a_.parts + part;
    return team_.simt.slice(a_.memory.overflow, number * a_.shape.capacity, a_.shape.capacity);
  }

  Team& team_;
  const args& a_;
  row_part part_;
  crowded_part<T>* told_;
};

}  // namespace kselect::bms
