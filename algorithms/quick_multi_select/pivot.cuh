#pragma once
// Quick multi-select: the choice of a pivot (Komarov et al. 2014, Methods, "Pivot selection").

#include <cmath>

#include "algorithms/quick_multi_select/team.cuh"

namespace kselect::qms {

template <class Team>
class pivots {
 public:
  using key = typename Team::key;

  KSELECT_HD explicit pivots(Team& team) : team_(team) {}

  // A key in (low, high]; keys below it go left. Every thread gets the same one.
  KSELECT_HD key choose(const state<key>& s, pivot_rule rule) {
    // The fallback halves the range of keys each round, for any input. It comes first, because its
    // pivots need not occur in the row.
    if (s.round >= free_rounds) return s.low + (s.high - s.low) / 2 + 1;
    // No key is below the last pivot, which occurs in the row. A pivot just above it splits off all
    // its ties, so they cannot stall the selection.
    if (s.found_minimum) return s.low + 1;
    const key chosen = by_rule(s, rule);
    // A pivot equal to `low` would split nothing off, because no key is below `low`.
    return chosen > s.low ? chosen : static_cast<key>(s.low + 1);
  }

 private:
  KSELECT_HD key by_rule(const state<key>& s, pivot_rule rule) {
    switch (rule) {
      case pivot_rule::random:
      case pivot_rule::random_unranked:
        return team_.read_key(s.active.where, random_place(s, 0));
      case pivot_rule::median_of_3:
        return median_of_3(s.active);
      default:
        return of_sample(s);
    }
  }

  // A place in the active part, the same for every thread and machine: splitmix64's finaliser of
  // row, round and draw.
  KSELECT_HD position random_place(const state<key>& s, position draw) const {
    std::uint64_t x = static_cast<std::uint64_t>(team_.row.row) << 32 ^
                      (static_cast<std::uint64_t>(s.round) << 24) ^ draw;
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    const auto high = static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
    const std::uint64_t size = s.active.size();
    return s.active.begin + static_cast<position>(high * size >> 32);
  }

  KSELECT_HD key median_of_3(reference active) {
    const key a = team_.read_key(active.where, active.begin);
    const key b = team_.read_key(active.where, active.begin + active.size() / 2);
    const key c = team_.read_key(active.where, active.end - 1);
    const key low = a < b ? a : b;
    const key high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
  }

  KSELECT_HD int sample_size() const {
    const int threads = team_.threads();
    return threads < least_samples ? least_samples
                                   : (threads < most_samples ? threads : most_samples);
  }

  // Of random elements, the one whose rank leaves more than the wanted elements on the left, or
  // fewer if most are wanted. The margin is so large that almost always the smaller part remains.
  KSELECT_HD key of_sample(const state<key>& s) {
    const int threads = team_.threads();
    const int samples = sample_size();
    key* const sample = team_.stage_of_keys();
    if (team_.thread() == 0) team_.shared.pivot = 0;
    key own[most_own] = {};  // sample number thread + i * threads
    KSELECT_UNROLL
    for (int i = 0; i < most_own; ++i) {
      const int mine = team_.thread() + i * threads;
      if (mine < samples) {
        own[i] = team_.read_key(s.active.where, random_place(s, static_cast<position>(mine)));
        sample[mine] = own[i];
      }
    }
    team_.sync();
    if (team_.thread() < samples) {
      int less[most_own] = {};  // samples below the own ones
      for (int other = 0; other < samples; ++other) {
        const key k = sample[other];
        KSELECT_UNROLL
        for (int i = 0; i < most_own; ++i) less[i] += static_cast<int>(k < own[i]);
      }
      // The sample of rank `rank` is the largest that has at most `rank` samples below it.
      const int rank = sample_rank(s);
      KSELECT_UNROLL
      for (int i = 0; i < most_own; ++i) {
        const int mine = team_.thread() + i * threads;
        if (mine < samples && less[i] <= rank) team_.simt.atomic_max(team_.shared.pivot, own[i]);
      }
    }
    team_.sync();
    const key pivot = team_.shared.pivot;
    team_.sync();  // the stage and the pivot may be written again
    return pivot;
  }

  // The number of wanted elements in the sample is nearly Poisson-distributed. It exceeds the mean
  // by 4.5 deviations and 2 in one of 10^5 rounds. If between a quarter and three quarters are
  // wanted, such a margin would cost more than it saves; the pivot is then the likeliest last
  // wanted element.
  KSELECT_HD int sample_rank(const state<key>& s) const {
    const auto samples = static_cast<float>(sample_size());
    const float mean = static_cast<float>(s.wanted) / static_cast<float>(s.active.size()) * samples;
    if (few_wanted(s)) return static_cast<int>(mean + 4.5F * sqrtf(mean) + 2);
    const float left_out = samples - mean;
    if (left_out > samples / 4) return static_cast<int>(mean);
    return static_cast<int>(samples - (left_out + 4.5F * sqrtf(left_out) + 3));
  }

  Team& team_;
};

}  // namespace kselect::qms
