#pragma once
// Buffered multi-select: the exact end. Of a list in shared memory the k smallest are written:
// those below a narrowed range for certain, of those in it as many as are wanted, after ranking
// them if they differ.
//
// Lanes write to neighbouring places in the order of their ballot, so stores are coalesced although
// nothing is staged.

#include "algorithms/buffered_multi_select/narrowing.cuh"

namespace kselect::bms {

template <class Team>
class answer {
 public:
  using value = typename Team::value;
  using key = typename Team::key;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;

  KSELECT_HD answer(Team& team, narrowing<Team>& narrow, const answer_view<value>& out,
                    std::int64_t row, position k, direction wanted)
      : team_(team), narrow_(narrow), out_(out), first_(row * k), k_(k), wanted_(wanted) {}

  // The k smallest of the list's first `size` entries, at least k, whose keys lie in `all` or below
  // it, as it says. After a sync.
  KSELECT_HD void write(const key_range<key>& all, position size) {
    const candidate* const list = team_.memory.list;
    const auto listed = [&](position i) { return list[i]; };
    if (size == k_) return copy(k_, listed);
    if (size <= ranked_most) {
      if constexpr (Team::one_warp) {
        write_by_lanes(all, size);
      } else {
        rank(size, 0, k_, listed);
      }
      return;
    }
    auto& shared = team_.shared;
    if (team_.thread() == 0) {
      shared.written = 0;
      shared.tied = 0;
      shared.gathered = 0;
    }
    // A warp halves the range to its end, which takes less than ranking.
    const position few = Team::one_warp ? 1 : ranked_most;
    const auto r = narrow_.to_rank(all, k_, 0, few, [&](const auto& f) {
      for (position i = team_.thread(); i < size; i += team_.threads()) f(candidates::key(list[i]));
    });
    team_.sync();
    const position rest = k_ - r.below;  // wanted of those in the range
    const bool whole = r.count == rest;
    const bool tied = r.low == r.high;
    const destination to = here();
    for (position first = 0; first < size; first += team_.threads()) {
      const position i = first + team_.thread();
      const auto c = i < size ? list[i] : candidate{};
      const key k = candidates::key(c);
      put(to, shared.written, 0, k_, i < size && (whole ? k <= r.high : k < r.low), c);
      if (whole) continue;
      const bool inside = i < size && r.low <= k && k <= r.high;
      if (tied) {
        put(to, shared.tied, r.below, rest, inside, c);
      } else if (inside) {
        team_.memory.ranked[team_.simt.atomic_add(shared.gathered, 1U)] = c;
      }
    }
    if (whole || tied) return;
    team_.sync();
    rank(r.count, r.below, rest, [&](position i) { return team_.memory.ranked[i]; });
  }

  // Writes `count` candidates to the first places; `read(i)` reads the i-th.
  template <class Read>
  KSELECT_HD void copy(position count, const Read& read) {
    const destination to = here();
    for (position i = team_.thread(); i < count; i += team_.threads()) store(to, i, read(i));
  }

  // Writes the `rest` smallest of `count` candidates, each compared with all, to the places from
  // `below` on.
  template <class Read>
  KSELECT_HD void rank(position count, position below, position rest, const Read& read) {
    const destination to = here();
    for (position i = team_.thread(); i < count; i += team_.threads()) {
      const candidate own = read(i);
      position smaller = 0;
      for (position j = 0; j < count; ++j) {
        const candidate other = read(j);
        smaller += other < own || (!Team::indexed && other == own && j < i) ? 1U : 0U;
      }
      if (smaller < rest) store(to, below + smaller, own);
    }
  }

 private:
  // Where the row's answer lies. Made where it is needed: it takes registers.
  struct destination {
    simt::global<value> values;
    simt::global<std::int32_t> indices_32;  // one of the two, or neither
    simt::global<std::int64_t> indices_64;
    key flip;
  };
  KSELECT_HD destination here() {
    const auto row_of = [&](auto whole) {
      return whole.size == 0 ? whole : team_.simt.slice(whole, first_, k_);
    };
    return {row_of(out_.values), row_of(out_.indices_32), row_of(out_.indices_64),
            wanted_ == direction::largest ? static_cast<key>(~key{0}) : key{0}};
  }

  // The same by one warp, for a list so short that it fits into a few registers a lane.
  KSELECT_HD void write_by_lanes(const key_range<key>& all, position size) {
    constexpr int each = ranked_most / simt::warp_size;
    constexpr auto worst = static_cast<key>(~key{0});
    candidate own[each];
    key keys[each];
    KSELECT_UNROLL
    for (int e = 0; e < each; ++e) {
      const position i = e * simt::warp_size + team_.lane();
      own[e] = i < size ? team_.memory.list[i] : candidate{};
      keys[e] = i < size ? candidates::key(own[e]) : worst;  // above the middle of any range
    }
    const auto r = narrow_.to_rank(all, k_, 0, 1, [&](const auto& f) {
      KSELECT_UNROLL
      for (int e = 0; e < each; ++e) f(keys[e]);
    });
    const position rest = k_ - r.below;
    const bool tied = r.count != rest;  // else the range ends with the k-th
    const destination out = here();
    const std::uint32_t before = team_.simt.lanemask_lt();
    position written = 0, equal = 0;
    KSELECT_UNROLL
    for (int e = 0; e < each; ++e) {
      const bool has = e * simt::warp_size + team_.lane() < size;
      bool wanted = has && (tied ? keys[e] < r.low : keys[e] <= r.high);
      if (tied) {
        const bool tie = has && keys[e] == r.low;
        const std::uint32_t ties = team_.simt.ballot(simt::full_mask, tie);
        wanted |= tie && equal + static_cast<position>(team_.simt.popc(ties & before)) < rest;
        equal += static_cast<position>(team_.simt.popc(ties));
      }
      const std::uint32_t all_wanted = team_.simt.ballot(simt::full_mask, wanted);
      const auto to = written + static_cast<position>(team_.simt.popc(all_wanted & before));
      if (wanted) store(out, to, own[e]);
      written += static_cast<position>(team_.simt.popc(all_wanted));
    }
  }

  // Writes the candidates of the lanes that have one to the next places of the counter, from
  // `begin` on, as far as there are `most`.
  KSELECT_HD void put(const destination& to, position& counter, position begin, position most,
                      bool has, candidate c) {
    const std::uint32_t claims = team_.simt.ballot(simt::full_mask, has);
    if (claims == 0) return;
    const position number = team_.places(counter, claims);
    if (has && number < most) store(to, begin + number, c);
  }

  KSELECT_HD void store(const destination& to, position at, candidate c) {
    const auto flipped = static_cast<key>(candidates::key(c) ^ to.flip);
    team_.simt.store(to.values, at, from_order_key<value>(flipped));
    if constexpr (Team::indexed) {
      if (to.indices_32.size != 0) {
        team_.simt.store(to.indices_32, at, static_cast<std::int32_t>(candidates::index(c)));
      } else {
        team_.simt.store(to.indices_64, at, candidates::index(c));
      }
    }
  }

  Team& team_;
  narrowing<Team>& narrow_;
  const answer_view<value>& out_;
  std::int64_t first_;
  position k_;
  direction wanted_;
};

}  // namespace kselect::bms
