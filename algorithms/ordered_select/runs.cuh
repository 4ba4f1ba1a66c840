#pragma once
// Ordered selection for answers that do not fit into shared memory: a kernel that settles their
// ties, and one that merges the runs sorted by finish.cuh.

#include "algorithms/ordered_select/team.cuh"
#include "algorithms/ordered_select/ties.cuh"

namespace kselect::ordered {

// Writes the final ones of k + 1 elements in any order, and the value of the ties behind them
// (finish.cuh explains both): a block a row.
template <class T, class Ties>
struct settle_form {
  static constexpr int max_threads = 512;
  using key = key_word<T>;
  struct storage {
    team_storage team;
    position written;
  };
  struct args {
    answer_view<T> from;  // [rows][k + 1]
    Ties ties;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    simt.let_next_start();
    simt.wait_for_previous();
    const std::int64_t row = simt.block();
    if (simt.thread() == 0) shared.written = 0;
    simt.sync_block();
    const position given = a.ties.k + 1;
    const auto key_at = [&](position i) {
      return selection_key(simt.load(a.from.values, row * given + i), a.ties.wanted);
    };
    const auto first = static_cast<position>(simt.thread());
    const auto threads = static_cast<position>(simt.threads());
    answer_team<Simt> team(simt, shared.team, simt.threads());
    key worst = 0;
    for (position i = first; i < given; i += threads) {
      const key own = key_at(i);
      if (own > worst) worst = own;
    }
    worst = team.greatest(worst);
    position equal = 0;
    for (position i = first; i < given; i += threads) equal += key_at(i) == worst ? 1U : 0U;
    const position complete = given - team.sum(equal);
    write(simt, shared, a, row, worst, complete);
    note_row(simt, a.ties, row, complete, first, threads);
  }

 private:
  template <class Simt>
  KSELECT_HD static void write(Simt& simt, storage& shared, const args& a, std::int64_t row,
                               key worst, position complete) {
    const position k = a.ties.k;
    const auto thread = static_cast<position>(simt.thread());
    const auto threads = static_cast<position>(simt.threads());
    for (position tile = 0; tile < k + 1; tile += threads) {
      const bool inside = tile + thread < k + 1;
      const auto e =
          inside ? read_element<true>(simt, a.from, row * (k + 1) + tile + thread, a.ties.wanted)
                 : kernels::padding<key, true>();
      const bool final = inside && e.key < worst;
      const std::uint32_t lanes = simt.ballot(simt::full_mask, final);
      position to = 0;
      if (simt.lane() == 0) {
        to = simt.atomic_add(shared.written, static_cast<position>(simt.popc(lanes)));
      }
      to = simt.shfl(simt::full_mask, to, 0) +
           static_cast<position>(simt.popc(lanes & simt.lanemask_lt()));
      if (final) write_element(simt, a.ties.out, row * k + to, e, a.ties.wanted);
    }
    for (position i = complete + thread; i < k; i += threads) {
      simt.store(a.ties.out.values, row * k + i, value_of<T>(worst, a.ties.wanted));
      // A short row has no tie for some of them, which are sorted last.
      if constexpr (std::is_same_v<Ties, ragged_tie_args<T>>) {
        write_index(simt, a.ties.out, row * k + i, kernels::no_position);
      }
    }
  }
};
template <class T>
struct settle_kernel : settle_form<T, tie_args<T>> {};
template <class T>
struct settle_ragged_kernel : settle_form<T, ragged_tie_args<T>> {};

// Merges neighbouring sorted runs of answers, a thread an element. The element's place in its own
// run is known; a binary search finds its place in the other. Of equal elements, the first run's
// come first.
template <class T, bool indexed>
struct merge_kernel {
  static constexpr int max_threads = 256;
  using element = item<key_word<T>, indexed>;
  struct storage {};
  struct args {
    answer_view<T> from, out;  // [rows][k]
    order_t<T> wanted;
    std::int64_t rows;
    position k;
    std::int64_t run;  // elements of a run; an answer's last may have fewer
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.wait_for_previous();
    const std::int64_t place = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (place >= a.rows * a.k) return;
    const std::int64_t row = place / a.k;
    const std::int64_t i = place % a.k;
    const std::int64_t pair = i / (2 * a.run) * (2 * a.run);
    const bool second = i - pair >= a.run;
    const auto read = [&](std::int64_t at) {
      return read_element<indexed>(simt, a.from, row * a.k + at, a.wanted);
    };
    const element own = read(i);
    // Elements of the other run that come before it: all of [first, low), none from `high` on.
    const std::int64_t first = second ? pair : min(pair + a.run, a.k);
    std::int64_t low = first;
    std::int64_t high = min(first + a.run, second ? pair + a.run : a.k);
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const element other = read(middle);
      const bool earlier = second ? !before(own, other) : before(other, own);
      if (earlier) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const std::int64_t to = pair + (i - pair) % a.run + (low - first);
    write_element(simt, a.out, row * a.k + to, own, a.wanted);
  }

 private:
  KSELECT_HD static std::int64_t min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

}  // namespace kselect::ordered
