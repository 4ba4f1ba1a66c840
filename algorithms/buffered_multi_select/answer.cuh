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
  using stored = typename Team::stored;
  using key = typename Team::key;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;
  static constexpr auto what = Team::indexed ? baselines::answer::pairs : baselines::answer::values;

  KSELECT_HD answer(Team& team, narrowing<Team>& narrow, const answer_view<stored>& out,
                    std::int64_t row, position k, direction wanted)
      : team_(team), narrow_(narrow), out_(out), first_(row * k), k_(k), wanted_(wanted) {}

  // The k smallest of the list's first `size` entries, at least k, whose keys lie in `all`. After a
  // sync.
  KSELECT_HD void write(const key_range<key>& all, position size) {
    const candidate* const list = team_.memory.list;
    if (size <= ranked_most) {
      if constexpr (Team::one_warp) {
        const auto read = [&](position i) { return list[i]; };
        if constexpr (Team::quarters) {
          write_few<ranked_most>(size, all.high, read);
        } else {
          write_by_lanes<ranked_most / simt::warp_size>(all, size, read);
        }
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
    // A warp halves the range to its end, which takes less than ranking.
    const position few = Team::one_warp ? 1 : ranked_most;
    const auto r = narrow_.to_rank(all, k_, 0, few, [&](const auto& f) {
      for (position i = team_.thread(); i < size; i += team_.threads()) f(candidates::key(list[i]));
    });
    team_.sync();
    const bool whole = r.below + r.count == k_;
    const bool tied = !whole && r.low == r.high;
    const auto sure = [&](key k) { return whole ? k <= r.high : k < r.low; };
    // Each warp counts what it has to write, takes as many places, and writes.
    position counts = 0;  // of the sure, and of the others in the range, in halves
    for (position i = team_.thread(); i < size; i += team_.threads()) {
      const key k = candidates::key(list[i]);
      if (k <= r.high) counts += sure(k) ? 1U : 1U << 16;
    }
    const position begin = team_.take(shared.written, counts);
    position to = begin & 0xffff, to_equal = r.below + (begin >> 16);
    for (position first = 0; first < size; first += team_.threads()) {
      const position i = first + team_.thread();
      const auto c = i < size ? list[i] : candidate{};
      const key k = candidates::key(c);
      const bool inside = i < size && k <= r.high;
      to = put(to, inside && sure(k), c);
      if (tied) {
        to_equal = put(to_equal, inside && !sure(k), c);
      } else if (inside && !sure(k)) {
        team_.memory.ranked[team_.simt.atomic_add(shared.gathered, 1U)] = c;
      }
    }
    if (whole || tied) return;
    team_.sync();
    rank(r.count, r.below, k_ - r.below, [&](position i) { return team_.memory.ranked[i]; });
  }

  // The same by one warp in few steps, of at most `most` candidates with keys up to `highest`;
  // `read(i)` reads the i-th.
  template <position most, class Read>
  KSELECT_HD void write_few(position size, key highest, const Read& read) {
    constexpr position lanes = simt::warp_size;
    if (size <= lanes) {
      rank_lanes(size, read);
    } else if (most == 2 * lanes || size <= 2 * lanes) {
      write_by_lanes<2>({0, highest, 0, size}, size, read);
    } else {
      write_by_lanes<static_cast<int>(most / lanes)>({0, highest, 0, size}, size, read);
    }
  }

  // Writes `count` candidates to the first places; `read(i)` reads the i-th.
  template <class Read>
  KSELECT_HD void copy(position count, const Read& read) {
    const auto values = mine(out_.values);
    const auto copy_to = [&]<class Index>(simt::global<Index> indices) {
      for (position i = team_.thread(); i < count; i += team_.threads()) {
        const candidate c = read(i);
        team_.simt.store(values, i, element<stored>::selected(candidates::key(c), wanted_));
        if constexpr (Team::indexed) {
          team_.simt.store(indices, i, static_cast<Index>(candidates::index(c)));
        }
      }
    };
    if (!Team::indexed || out_.indices_32.size != 0) {
      copy_to(mine(out_.indices_32));
    } else {
      copy_to(mine(out_.indices_64));
    }
  }

  // Writes the `rest` smallest of `count` candidates, each compared with all, to the places from
  // `below` on.
  template <class Read>
  KSELECT_HD void rank(position count, position below, position rest, const Read& read) {
    for (position i = team_.thread(); i < count; i += team_.threads()) {
      const candidate own = read(i);
      position smaller = 0;
      for (position j = 0; j < count; ++j) {
        const candidate other = read(j);
        smaller += other < own || (!Team::indexed && other == own && j < i) ? 1U : 0U;
      }
      if (smaller < rest) store(below + smaller, own);
    }
  }

 private:
  // The k smallest of as many candidates as a warp has lanes, at most, best first.
  template <class Read>
  KSELECT_HD void rank_lanes(position size, const Read& read) {
    const position lane = team_.lane();
    const candidate own = lane < size ? read(lane) : candidate{};
    const key mine = candidates::key(own);
    position smaller = 0;
    for (position i = 0; i < size; ++i) {
      const key other = team_.simt.shfl(simt::full_mask, mine, static_cast<int>(i));
      smaller += other < mine || (other == mine && i < lane) ? 1U : 0U;
    }
    if (lane < size && smaller < k_) store(smaller, own);
  }

  // The k smallest of so few candidates that `each` registers of the lanes hold them.
  template <int each, class Read>
  KSELECT_HD void write_by_lanes(key_range<key> all, position size, const Read& read) {
    candidate own[each];
    key keys[each];
    KSELECT_UNROLL
    for (int e = 0; e < each; ++e) {
      const position i = e * simt::warp_size + team_.lane();
      own[e] = i < size ? read(i) : candidate{};
      // Where there is none, the greatest key stands, which is above the middle of any range.
      keys[e] = i < size ? candidates::key(own[e]) : all.high;
    }
    if constexpr (Team::quarters) all.low = lowest_of(keys);
    const auto r = narrow_.to_rank(all, k_, 0, 1, [&](const auto& f) {
      KSELECT_UNROLL
      for (int e = 0; e < each; ++e) f(keys[e]);
    });
    const bool tied = r.below + r.count != k_;  // else the range ends with the k-th
    position to = 0, to_equal = r.below;
    KSELECT_UNROLL
    for (int e = 0; e < each; ++e) {
      const bool has = e * simt::warp_size + team_.lane() < size;
      to = put(to, has && (tied ? keys[e] < r.low : keys[e] <= r.high), own[e]);
      if (tied) to_equal = put(to_equal, has && keys[e] == r.low, own[e]);
    }
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

  // Writes the candidates of the lanes that have one to the places from `to` on, as far as the
  // answer has them. Returns the next place.
  KSELECT_HD position put(position to, bool has, candidate c) {
    const std::uint32_t writers = team_.simt.ballot(simt::full_mask, has);
    const auto own =
        to + static_cast<position>(team_.simt.popc(writers & team_.simt.lanemask_lt()));
    if (has && own < k_) store(own, c);
    return to + static_cast<position>(team_.simt.popc(writers));
  }

  // Of an output of the answer, or of none, the row's.
  template <class T>
  KSELECT_HD simt::global<T> mine(simt::global<T> all) {
    return all.size == 0 ? all : team_.simt.slice(all, first_, k_);
  }
  KSELECT_HD void store(position to, candidate c) {
    baselines::write_answer<what>(team_.simt, out_, first_ + to,
                                  static_cast<order_key_t<stored>>(candidates::key(c)),
                                  static_cast<position>(candidates::index(c)), wanted_);
  }

  Team& team_;
  narrowing<Team>& narrow_;
  const answer_view<stored>& out_;
  std::int64_t first_;
  position k_;
  direction wanted_;
};

}  // namespace kselect::bms
