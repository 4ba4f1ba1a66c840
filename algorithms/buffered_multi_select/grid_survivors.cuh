#pragma once
// Buffered multi-select, several blocks a row: how the survivors of its parts come together. Each
// block posts its own, and the last gathers them: no trip to memory tells first how many there are.

#include "algorithms/buffered_multi_select/grid_args.cuh"
#include "algorithms/buffered_multi_select/survivors.cuh"

namespace kselect::bms {

// Survivors of others that one thread asks for at once.
inline constexpr int gathered_at_once = 4;

template <class Team>
class posted_survivors {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using candidates = typename Team::candidates;
  using candidate = typename Team::candidate;
  using args = grid_args<T, Team::indexed>;

  KSELECT_HD posted_survivors(Team& team, const args& a, const row_part& part)
      : team_(team), a_(a), part_(part) {}

  // Leaves the list, of that size, to the row's last block.
  KSELECT_HD void leave(position size) {
    const auto to = entries_from(part_.number, 1);
    const candidate* const list = team_.memory.list;
    if (size > a_.slots) return leave_many(size);
    for (position i = team_.thread(); i < a_.slots; i += team_.threads()) {
      entry e{entry::none, 0};
      if (i < size) {
        e = {static_cast<typename entry::word>(candidates::index(list[i])),
             candidates::key(list[i])};
      }
      post_entry(to, i, e);
    }
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
      position sizes[gathered_at_once];  // of parts that have left too many elsewhere
      item_set held = 0;
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once; ++c) {
        const entry e = entry_of(from, at(c), seen + c * words);
        found[c] = candidates::make(e.key, static_cast<std::int64_t>(e.place));
        const bool real = e.place != entry::none;
        if (real && list.admits(e.key)) held |= item_set{1} << c;
        sizes[c] = real || at(c) >= count ? 0 : static_cast<position>(e.key);
      }
      enter(list, held, found);
      KSELECT_UNROLL
      for (int c = 0; c < gathered_at_once; ++c) {
        if (team_.simt.any(simt::full_mask, sizes[c] != 0)) {
          gather_overflow(list, at(c) / a_.slots, sizes[c]);
        }
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
    word place;  // none: there is none; and then the key of the first slot is the size of a part
    word key;    // that has more survivors than slots, and has left them elsewhere, else 0
  };

  KSELECT_HD void leave_many(position size) {
    const auto to = overflow_of(part_.number);
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      team_.simt.store(to, i, team_.memory.list[i]);
    }
    // After the barrier one thread speaks for all: what it has seen is ordered with what it
    // posts.
    team_.sync();
    if (team_.thread() == 0) team_.simt.fence();
    for (position i = team_.thread(); i < a_.slots; i += team_.threads()) {
      post_entry(entries_from(part_.number, 1), i, {entry::none, i == 0 ? size : 0});
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

  // Enters what parts have left elsewhere: those of which a lane of the warp knows that they have
  // left so many.
  KSELECT_HD void gather_overflow(survivors<Team>& list, position part, position size) {
    team_.simt.fence();
    const auto lane = static_cast<position>(team_.simt.lane());
    for (std::uint32_t rest = team_.simt.ballot(simt::full_mask, size != 0); rest != 0;
         rest &= rest - 1) {
      const int teller = team_.simt.ffs(rest) - 1;
      const auto from = overflow_of(team_.simt.shfl(simt::full_mask, part, teller));
      const position all = team_.simt.shfl(simt::full_mask, size, teller);
      constexpr position at_once = gathered_at_once * simt::warp_size;
      for (position first = 0; first < all; first += at_once) {
        const auto at = [&](int c) {
          return first + static_cast<position>(c) * simt::warp_size + lane;
        };
        candidate found[gathered_at_once];
        KSELECT_UNROLL
        for (int c = 0; c < gathered_at_once; ++c) {
          found[c] = at(c) < all ? team_.simt.load_fresh(from, at(c)) : candidate{};
        }
        item_set held = 0;
        KSELECT_UNROLL
        for (int c = 0; c < gathered_at_once; ++c) {
          const bool admitted = at(c) < all && list.admits(candidates::key(found[c]));
          if (admitted) held |= item_set{1} << c;
        }
        enter(list, held, found);
      }
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
};

}  // namespace kselect::bms
