#pragma once
// Buffered multi-select: the exact end. It writes the k smallest of a list in shared memory.
// Entries below a narrowed range are certain. Of the entries inside as many as are wanted follow,
// ranked if they differ. Lanes write to neighbouring places in the order of their ballot, so stores
// are coalesced without staging.

#include "algorithms/buffered_multi_select/steps/answer_places.cuh"
#include "algorithms/buffered_multi_select/steps/narrowing.cuh"
#include "algorithms/buffered_multi_select/steps/staging.cuh"

namespace kselect::bms {

// `waited_for`: rows are few, so the latency of each step counts. `where`: a list gets the k
// smallest in any order; ordered_answer.cuh or grid/in_order.cuh then writes them in order.
template <class Team, bool waited_for = false, answer_goes where = answer_goes::to_outputs>
class answer {
 public:
  using stored = typename Team::stored;
  using key = typename Team::key;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;

  // `list`: a pointer to it, if there may be one.
  template <class... List>
  KSELECT_HD answer(Team& team, narrowing<Team>& narrow, const answer_view<stored>& out,
                    std::int64_t row, position k, order_t<stored> wanted, List... list)
      : team_(team),
        narrow_(narrow),
        places_(team, out, row, k, wanted, list...),
        k_(k),
        wanted_(wanted) {}

  KSELECT_HD order_t<stored> wanted() const { return wanted_; }

  // Writes the k smallest of the list's first `size` entries, at least k, whose keys lie in `all`.
  // After a sync.
  KSELECT_HD void write(const key_range<key>& all, position size) {
    KSELECT_ASSERT(size >= k_);
    const candidate* const list = team_.memory.list;
    constexpr position most = Team::one_warp && Team::quarters ? brief_most : ranked_most;
    if (size <= most) {
      if constexpr (Team::one_warp) {
        write_by_lanes<static_cast<int>(most / simt::warp_size)>(
            all, size, [&](position i) { return list[i]; });
      } else {
        rank(size, 0, k_, [&](position i) { return list[i]; });
      }
      return;
    }
    auto& shared = team_.shared;
    if (team_.thread() == 0) {
      shared.written = 0;
      shared.gathered = 0;
    }
    // A warp narrows to the end, which takes less than ranking.
    const position few = Team::one_warp ? 1 : ranked_most;
    const auto r = narrow_.to_rank(all, k_, 0, few, [&](const auto& f) {
      for (position i = team_.thread(); i < size; i += team_.threads()) f(candidates::key(list[i]));
    });
    team_.sync();
    write_narrowed(r, size);
  }

  // write() for candidates in registers: `each(f)` calls f(has, c) equally often in all lanes of a
  // warp. `all` holds all candidates and their count. shared.written and shared.gathered are 0.
  // After a sync.
  template <class Each>
  KSELECT_HD void write_held(const key_range<key>& all, const Each& each) {
    KSELECT_ASSERT(all.count() >= k_);
    auto& shared = team_.shared;
    const auto r = narrow_.to_rank(all, k_, 0, simt::warp_size, [&](const auto& f) {
      each([&](bool has, const candidate& c) {
        if (has) f(candidates::key(c));
      });
    });
    const bool whole = r.up_to == k_;
    const bool tied = !whole && r.low == r.high;
    const auto sure = [&](bool has, key k) { return has && (whole ? k <= r.high : k < r.low); };
    position of_warp = 0, to = 0;
    each([&](bool has, const candidate& c) {
      const std::uint32_t writers =
          team_.simt.ballot(simt::full_mask, sure(has, candidates::key(c)));
      of_warp += static_cast<position>(team_.simt.popc(writers));
    });
    if (team_.lane() == 0) to = team_.simt.atomic_add(shared.written, of_warp);
    to = team_.simt.shfl(simt::full_mask, to, 0);
    places_.with_outputs([&](const auto& row) {
      each([&](bool has, const candidate& c) {
        const key k = candidates::key(c);
        to = put(row, to, sure(has, k), c);
        if (!has || k > r.high || sure(has, k)) return;
        const position found = team_.simt.atomic_add(shared.gathered, 1U);  // rare
        if (!tied) team_.memory.ranked[found] = c;
        if (tied && r.below + found < k_) places_.store(row, r.below + found, c);
      });
    });
    if (whole || tied) return;
    team_.sync();
    rank(r.count(), r.below, k_ - r.below, [&](position i) { return team_.memory.ranked[i]; });
  }

  // write() by one warp in few steps, for at most brief_most candidates with keys up to `highest`;
  // `read(i)` reads the i-th.
  template <class Read>
  KSELECT_HD void write_few(position size, key highest, const Read& read) {
    KSELECT_ASSERT(k_ <= size && size <= brief_most);
    constexpr position lanes = simt::warp_size;
    if (size <= lanes) {
      rank_lanes(size, 0, k_, read);
    } else if (size <= 2 * lanes) {
      write_by_lanes<2>({0, highest, 0, size}, size, read);
    } else {
      write_by_lanes<static_cast<int>(brief_most / lanes)>({0, highest, 0, size}, size, read);
    }
  }

  // Writes `count` candidates to the first places; `read(i)` reads the i-th.
  template <class Read>
  KSELECT_HD void copy(position count, const Read& read) {
    places_.with_outputs([&](const auto& row) {
      for (position i = team_.thread(); i < count; i += team_.threads()) {
        places_.store(row, i, read(i));
      }
    });
  }

  // copy() of staged values; `see(x)` sees each. A warp stages two arrays and copies four elements
  // a store. For a block that is slower.
  template <class See>
  KSELECT_HD void copy_staged(position count, const staging<Team>& staged, const See& see) {
    const auto element_of = [&](key word) {
      const auto x = staged.in_row(word);
      see(x);
      return element<stored>::narrowed(x);
    };
    places_.with_outputs([&]<class Index>(const row_outputs<stored, Index>& row) {
      position copied = 0;
      if constexpr (Team::one_warp && sizeof(stored) == 4 && sizeof(Index) == 4) {
        if (begins_aligned(row.values) && (!Team::indexed || begins_aligned(row.indices))) {
          copy_fours(row, count / 4, element_of);
          copied = count / 4 * 4;
        }
      }
      for (position i = copied + team_.thread(); i < count; i += team_.threads()) {
        const candidate c = staged.at(i);
        places_.store(row, i, element_of(candidates::key(c)), candidates::index(c));
      }
    });
  }

  // Writes the `rest` smallest of `count` candidates to the places from `below` on. Each is
  // compared with all.
  template <class Read>
  KSELECT_HD void rank(position count, position below, position rest, const Read& read) {
    if ((Team::one_warp || waited_for) && count <= simt::warp_size) {
      if (team_.warp() == 0) rank_lanes(count, below, rest, read);
      return;
    }
    // Ranking one is a chain of reads, which several lanes may share.
    int log = 0;  // of the lanes that share one
    if constexpr (waited_for) {
      while (log < 5 && count << (log + 1) <= team_.threads()) ++log;
    }
    const position sharing = position{1} << log;
    const position lane = team_.thread() & (sharing - 1);
    for (position first = 0; first < count; first += team_.threads() >> log) {
      const position i = first + (team_.thread() >> log);
      if (!waited_for && i >= count) return;
      const candidate own = read(i < count ? i : 0);
      position smaller = 0;
      for (position j = lane; j < count; j += sharing) {
        const candidate other = read(j);
        smaller += other < own || (!Team::indexed && other == own && j < i) ? 1U : 0U;
      }
      if constexpr (waited_for) {
        for (int delta = 1; delta < static_cast<int>(sharing); delta *= 2) {
          smaller += team_.simt.shfl_xor(simt::full_mask, smaller, delta);
        }
        if (i >= count || lane != 0) continue;
      }
      if (smaller < rest) places_.store_one(below + smaller, own);
    }
  }

 private:
  // write() where `r` is the range that holds the list's k-th.
  KSELECT_HD void write_narrowed(const key_range<key>& r, position size) {
    auto& shared = team_.shared;
    const candidate* const list = team_.memory.list;
    const bool whole = r.up_to == k_;
    const bool tied = !whole && r.low == r.high;
    const auto sure = [&](key k) { return whole ? k <= r.high : k < r.low; };
    // Each warp counts its entries to write, claims as many places, and writes.
    position counts = 0;  // low half: sure; high half: others in the range
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      const key k = candidates::key(list[i]);
      if (k <= r.high) counts += sure(k) ? 1U : 1U << 16;
    }
    const position begin = team_.take(shared.written, counts);
    places_.with_outputs([&](const auto& row) {
      position to = begin & 0xffff, to_equal = r.below + (begin >> 16);
      for (position first = 0; first < size; first += team_.threads()) {
        const position i = first + team_.thread();
        const auto c = i < size ? list[i] : candidate{};
        const key k = candidates::key(c);
        const bool inside = i < size && k <= r.high;
        to = put(row, to, inside && sure(k), c);
        if (tied) {
          to_equal = put(row, to_equal, inside && !sure(k), c);
        } else if (inside && !sure(k)) {
          team_.memory.ranked[team_.simt.atomic_add(shared.gathered, 1U)] = c;
        }
      }
    });
    if (whole || tied) return;
    team_.sync();
    rank(r.count(), r.below, k_ - r.below, [&](position i) { return team_.memory.ranked[i]; });
  }

  template <class T>
  KSELECT_HD static bool begins_aligned(simt::global<T> row) {
    return reinterpret_cast<std::uintptr_t>(row.data) % 16 == 0;
  }
  template <class Index, class Convert>
  KSELECT_HD void copy_fours(const row_outputs<stored, Index>& row, position fours,
                             const Convert& element_of) {
    using four_keys = simt::vec<key, 4>;
    const key* const keys = team_.memory.keys();
    const auto* const staged_keys = reinterpret_cast<const four_keys*>(keys);
    const auto* const staged_places =
        reinterpret_cast<const four_keys*>(keys + team_.shape.capacity);
    const auto values = simt::as_vec<4>(row.values);
    const auto indices = simt::as_vec<4>(row.indices);
    for (position i = team_.thread(); i < fours; i += team_.threads()) {
      const four_keys own = staged_keys[i];
      simt::vec<stored, 4> selected;
      KSELECT_UNROLL
      for (int e = 0; e < 4; ++e) selected[e] = element_of(own[e]);
      if (places_.is_wanted(row.values)) team_.simt.store(values, i, selected);
      if (!places_.is_wanted(row.indices)) continue;
      if constexpr (Team::indexed) {
        const four_keys at = staged_places[i];
        simt::vec<Index, 4> index;
        KSELECT_UNROLL
        for (int e = 0; e < 4; ++e) index[e] = static_cast<Index>(at[e]);
        team_.simt.store(indices, i, index);
      }
    }
  }

  // rank() by one warp, for at most as many candidates as lanes.
  template <class Read>
  KSELECT_HD void rank_lanes(position size, position below, position rest, const Read& read) {
    const position lane = team_.lane();
    const candidate own = read(lane < size ? lane : 0);
    const key mine = candidates::key(own);
    position smaller = 0;
    for (position i = 0; i < size; ++i) {
      const key other = team_.simt.shfl(simt::full_mask, mine, static_cast<int>(i));
      smaller += other < mine || (other == mine && i < lane) ? 1U : 0U;
    }
    // Not by places_.store_one(), with which the streams of a warp spill.
    if (lane < size && smaller < rest) {
      places_.with_outputs([&](const auto& row) { places_.store(row, below + smaller, own); });
    }
  }

  // Writes the k smallest of candidates that fit into `each` registers of the lanes.
  template <int each, class Read>
  KSELECT_HD void write_by_lanes(key_range<key> all, position size, const Read& read) {
    candidate own[each];
    key keys[each];
    KSELECT_UNROLL
    for (int e = 0; e < each; ++e) {
      const position i = e * simt::warp_size + team_.lane();
      own[e] = read(i < size ? i : 0);  // no branch: all loads are in flight at once
      // Missing ones have the greatest key, which is above the middle of any range.
      keys[e] = i < size ? candidates::key(own[e]) : all.high;
    }
    if constexpr (Team::quarters) all.low = lowest_of(keys);
    const auto r = narrow_.to_rank(all, k_, 0, 1, [&](const auto& f) {
      KSELECT_UNROLL
      for (int e = 0; e < each; ++e) f(keys[e]);
    });
    const auto has = [&](int e) { return e * simt::warp_size + team_.lane() < size; };
    places_.with_outputs([&](const auto& row) {
      position to = 0;
      if (r.up_to == k_) {  // the range ends with the k-th
        KSELECT_UNROLL
        for (int e = 0; e < each; ++e) to = put(row, to, has(e) && keys[e] <= r.high, own[e]);
      } else {
        position to_equal = r.below;
        KSELECT_UNROLL
        for (int e = 0; e < each; ++e) {
          to = put(row, to, has(e) && keys[e] < r.low, own[e]);
          to_equal = put(row, to_equal, has(e) && keys[e] == r.low, own[e]);
        }
      }
    });
  }

  template <std::size_t each>
  KSELECT_HD key lowest_of(const key (&keys)[each]) {
    key lowest = keys[0];
    KSELECT_UNROLL
    for (std::size_t e = 1; e < each; ++e) {
      if (keys[e] < lowest) lowest = keys[e];
    }
    return team_.warp_min(lowest);
  }

  // Writes the candidates of lanes that `has` one, from place `to` on and below k. Returns the next
  // place.
  template <class Outputs>
  KSELECT_HD position put(const Outputs& row, position to, bool has, candidate c) {
    const std::uint32_t writers = team_.simt.ballot(simt::full_mask, has);
    const auto own =
        to + static_cast<position>(team_.simt.popc(writers & team_.simt.lanemask_lt()));
    if (has && own < k_) places_.store(row, own, c);
    return to + static_cast<position>(team_.simt.popc(writers));
  }

  Team& team_;
  narrowing<Team>& narrow_;
  answer_places<Team, where> places_;
  position k_;
  order_t<stored> wanted_;
};

}  // namespace kselect::bms
