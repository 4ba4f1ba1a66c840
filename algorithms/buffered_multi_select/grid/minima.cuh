#pragma once
// Buffered multi-select, several blocks a row: how the blocks of a row find its threshold together.
// Each block posts the minima of its groups and looks up those of the other blocks.

#include "algorithms/buffered_multi_select/grid/args.cuh"
#include "algorithms/buffered_multi_select/steps/threshold.cuh"

namespace kselect::bms {

// A block's static shared memory.
template <class T>
struct grouped_minima {
  std::uint64_t tag;  // of messages
  // Minima of warps, where several warps join for a posted minimum.
  typename element<T>::value of_warp[few_groups<T>][most_grid_threads / simt::warp_size];
};

template <class Team>
class posted_minima {
 public:
  using T = typename Team::stored;
  using key = typename Team::key;
  using value = typename Team::value;
  using args = grid_args<T, Team::indexed>;
  static constexpr int most_groups = few_groups<T>;
  using storage = grouped_minima<T>;

  KSELECT_HD posted_minima(Team& team, storage& shared, const args& a, const row_part& part)
      : team_(team), shared_(shared), a_(a), part_(part) {
    KSELECT_ASSERT((a.lanes & (a.lanes - 1)) == 0);  // shuffles join lanes
  }

  // Posts the block's minima; `least` are those of the caller's groups.
  template <class Minima>
  KSELECT_HD void post(const Minima& least, std::uint64_t tag) {
    if (team_.thread() == 0) shared_.tag = tag;
    const auto to = of_row(part_.number * a_.messages, a_.messages);
    const int lanes_log = team_.simt.ffs(a_.lanes) - 1;
    const position sets = team_.threads() >> lanes_log;  // of threads that join their groups
    value joined[most_groups];
    join_lanes(least, joined);
    if (a_.lanes <= simt::warp_size) {
      if ((team_.thread() & (a_.lanes - 1)) != 0) return;
      post_of_lanes(to, joined, tag, sets, team_.thread() >> lanes_log);
    } else {
      post_of_warps(to, joined, tag, sets);
    }
  }

  // The row's threshold, from all of its minima. In blocks other than the last, a minimum that is
  // not there in time counts as the worst; the bound is then not below the row's threshold. The
  // minima are searched in shared memory, where the list will be. After a sync of the threads that
  // posted.
  KSELECT_HD found_threshold<key> threshold(narrowing<Team>& narrow) {
    key* const minima = team_.memory.minima();
    const position messages = a_.parts * a_.messages;
    const auto each = static_cast<int>(minima_each<T>(a_.shape));
    const auto from = all();
    auto low = static_cast<key>(~key{0});
    key high = 0;
    for (position at = team_.thread(); at < messages; at += team_.threads()) {
      const simt::message found = look(from, at);
      KSELECT_UNROLL
      for (int m = 0; m < most_each; ++m) {
        if (m >= each) continue;
        const key minimum = found.tag == shared_.tag
                                ? static_cast<key>(found.payload >> (m * key_bits))
                                : element<T>::worst;
        minima[at * each + m] = minimum;
        if (minimum < low) low = minimum;
        if (minimum > high) high = minimum;
      }
    }
    const position count = messages * each;
    const auto extremes = narrow.extremes(low, high, count);
    const plan& p = a_.shape;
    // The last block's bound is not below up to rank + slack of all minima. This bound must not be
    // below that one.
    const bool some_missing = extremes.high == element<T>::worst && !part_.is_last(a_.parts);
    const position rank = some_missing ? p.rank + p.slack : p.rank;
    const auto visit = [&](const auto& f) {
      for (position i = team_.thread(); i < count; i += team_.threads()) f(minima[i]);
    };
    return {narrow.to_rank(extremes, rank, p.slack, 0, visit).high, without_nans<T>(extremes.high)};
  }

 private:
  // Minima in a message: one, or two.
  static constexpr int most_each = sizeof(std::uint64_t) / sizeof(key);
  static constexpr int key_bits = 8 * static_cast<int>(sizeof(key));

  KSELECT_HD int groups() const { return static_cast<int>(a_.shape.groups); }

  // Joins the minima of `lanes` neighbours, of a warp at most.
  template <class Minima>
  KSELECT_HD void join_lanes(const Minima& least, value (&joined)[most_groups]) {
    KSELECT_UNROLL
    for (int g = 0; g < most_groups; ++g) {
      if (g >= groups()) continue;
      joined[g] = least.x[g];
      for (int delta = 1; delta < simt::warp_size && delta < static_cast<int>(a_.lanes);
           delta *= 2) {
        joined[g] =
            team_.simt.smaller(joined[g], team_.simt.shfl_xor(simt::full_mask, joined[g], delta));
      }
    }
  }

  // Posts the minima of `set`, which is not larger than a warp, of `sets`.
  KSELECT_HD void post_of_lanes(simt::global<simt::message> to, const value (&joined)[most_groups],
                                std::uint64_t tag, position sets, position set) {
    KSELECT_UNROLL
    for (int g = 0; g < most_groups; g += most_each) {
      if (g >= groups()) continue;
      post_to(to, g / most_each * sets + set, tag, [&](int i) { return joined[g + i]; });
    }
  }

  // Posts minima of sets of several warps, which meet in shared memory.
  KSELECT_HD void post_of_warps(simt::global<simt::message> to, const value (&joined)[most_groups],
                                std::uint64_t tag, position sets) {
    KSELECT_UNROLL
    for (int g = 0; g < most_groups; ++g) {
      if (g < groups() && team_.lane() == 0) shared_.of_warp[g][team_.warp()] = joined[g];
    }
    team_.sync();
    if (team_.thread() >= a_.messages) return;
    const position joins = a_.lanes / simt::warp_size;
    const position first = team_.thread() % sets * joins;
    const position group = team_.thread() / sets * most_each;
    post_to(to, team_.thread(), tag, [&](int i) {
      const value* const warps = shared_.of_warp[group + i] + first;
      value least_of_all = warps[0];
      for (position w = 1; w < joins; ++w) {
        least_of_all = team_.simt.smaller(least_of_all, warps[w]);
      }
      return least_of_all;
    });
  }

  // Posts, as message `to`, the minima `least(i)` of as many groups as a message holds.
  template <class Least>
  KSELECT_HD void post_to(simt::global<simt::message> messages, position to, std::uint64_t tag,
                          const Least& least) {
    std::uint64_t payload = 0;
    KSELECT_UNROLL
    for (int i = 0; i < most_each; ++i) {
      if (i == 0 || i < static_cast<int>(a_.shape.groups)) {
        payload |= std::uint64_t{element<T>::key_of(least(i))} << (i * key_bits);
      }
    }
    team_.simt.post(messages, to, {payload, tag});
  }

  KSELECT_HD simt::global<simt::message> of_row(position first, position count) {
    const position all = a_.parts * a_.messages;
    return team_.simt.slice(a_.memory.minima, std::int64_t{part_.row} * all + first, count);
  }

  KSELECT_HD simt::global<simt::message> all() { return of_row(0, a_.parts * a_.messages); }

  // A message of minima. The last block waits for it; others look `patience` times.
  KSELECT_HD simt::message look(simt::global<simt::message> from, position at) {
    simt::message seen = team_.simt.look(from, at);
    for (position looks = 1; seen.tag != shared_.tag && looks < a_.patience; ++looks) {
      team_.simt.pause();
      seen = team_.simt.look(from, at);
    }
    if (seen.tag != shared_.tag && part_.is_last(a_.parts))
      return {team_.simt.await(from, at, shared_.tag), shared_.tag};
    return seen;
  }

  Team& team_;
  storage& shared_;
  const args& a_;
  row_part part_;
};

}  // namespace kselect::bms
