#pragma once
// Ordered selection: the kernel after the member's. It sorts answers, or runs of them, and settles
// which of the elements equal to the k-th belong to an answer.
//
// To settle ties, the member is asked for a few elements more than k. If k of them are better than
// the worst, the answer is among them: no element equal to the k-th was left out. Otherwise the
// elements better than the worst are final, and the rest are the first in the row that equal it;
// the next kernel finds them (ties.cuh). Rows with fewer surplus ties than these few are not read
// again.

#include "algorithms/ordered_select/sort.cuh"
#include "algorithms/ordered_select/team.cuh"
#include "algorithms/ordered_select/ties.cuh"

namespace kselect::ordered {

// The most elements beyond k that a member is asked for. Two, because rows of numbers that seldom
// tie have hardly ever more than one surplus tie. Each takes two reductions.
inline constexpr position most_extra = 2;

template <class T>
struct finish_args {
  answer_view<T> from;  // [rows][k], or [rows][k + extra] to settle ties
  answer_view<T> out;   // [rows][k]; may be `from`
  tie_args<T> ties;     // to settle ties
  order_t<T> wanted;
  std::int64_t rows;
  position k;
  position run, runs;  // elements of a run, at most 8 * team; runs of an answer
  int team;            // threads that sort a run
  int runs_of_block;   // at most one for each team
  position extra;      // most_extra at most
};

// Settles which ties belong to an answer of at most 8 elements a thread.
template <class Team, class Element>
class settling {
 public:
  using key = decltype(Element::key);

  // `k`: elements of the answer; 0 if the team has no row.
  KSELECT_HD settling(Team& team, position k) : team_(team), k_(k) {}

  KSELECT_HD key last() const { return last_; }               // the k-th key
  KSELECT_HD position complete() const { return complete_; }  // final elements

  // `own`: the first k elements; register r of thread t holds number r * threads + t. `read(e)`
  // reads element k + e, of `extra`. Afterwards `own` has the final elements, and padding.
  template <class Read>
  KSELECT_HD void run(Element (&own)[each], position extra, const Read& read) {
    key worst = 0;
    for_own([&](auto r) { worst = own[r].key > worst ? own[r].key : worst; });
    for (position e = 0; e < extra && k_ != 0; ++e) {
      const key beyond = read(e).key;
      if (beyond > worst) worst = beyond;
    }
    last_ = worst = team_.greatest(worst);
    position count = 0;
    for_own([&](auto r) { count += own[r].key == worst ? 1U : 0U; });
    complete_ = k_ + extra - team_.sum(count);
    for (position e = 0; e < extra; ++e) {
      const Element beyond = k_ != 0 ? read(e) : Element{};  // again: there are no registers for it
      if (beyond.key == worst) --complete_;
      take(own, beyond);
    }
    if (complete_ >= k_) {
      complete_ = k_;
      return;
    }
    for_own([&](auto r) {
      if (own[r].key == worst) own[r] = kernels::padding<key, true>();
    });
  }

 private:
  // If it comes before the last of the team's elements, takes its place.
  KSELECT_HD void take(Element (&own)[each], const Element& other) {
    Element last{};
    for_own([&](auto r) {
      if (before(last, own[r])) last = own[r];
    });
    const key greatest = team_.greatest(last.key);
    const position at = team_.greatest(last.key == greatest ? last.at : position{0});
    if (!before(other, Element{greatest, at})) return;
    for_own([&](auto r) {
      if (own[r].key == greatest && own[r].at == at) own[r] = other;
    });
  }

  // Calls f(r) for the caller's elements. r is a constant, so that elements stay in registers.
  template <class F>
  KSELECT_HD void for_own(const F& f) const {
    kernels::unrolled<each>([&](auto r) {
      if (r * team_.threads() + team_.thread() < k_) f(r);
    });
  }

  Team& team_;
  position k_;
  key last_{};
  position complete_ = 0;
};

template <class T, bool indexed, bool settles>
struct finish_kernel {
  static_assert(indexed || !settles, "without indices equal elements cannot be told apart");
  static constexpr int max_threads = simt::thread_limit;
  using key = key_word<T>;
  using element = item<key, indexed>;
  using args = finish_args<T>;

  // `complete` elements are final; the others equal `last`.
  struct end_of_run {
    position complete;
    key last;
  };
  struct storage {
    team_storage teams;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if constexpr (settles) simt.let_next_start();
    simt.wait_for_previous();
    work<Simt>(simt, shared, a).run();
  }

 private:
  // A run: elements of one answer that a team sorts.
  struct run_of {
    std::int64_t row;
    position first, size;  // in the answer; size 0: the team has no run
  };

  template <class Simt>
  class work {
   public:
    KSELECT_HD work(Simt& simt, storage& shared, const args& a)
        : simt_(simt),
          a_(a),
          team_(simt, shared.teams, a.team),
          memory_(simt.dynamic_shared(), simt.threads()) {}

    KSELECT_HD void run() {
      element own[each];
      const run_of mine = run_of_team();
      load(mine, own);
      end_of_run end{mine.size, 0};
      if constexpr (settles) end = settle(mine, own);
      team_sort<Simt, key, indexed>(simt_, memory_, a_.team).run(own);
      write(mine, own, end);
    }

   private:
    KSELECT_HD run_of run_of_team() const {
      const std::int64_t number = std::int64_t{simt_.block()} * a_.runs_of_block + team_.number();
      if (team_.number() >= a_.runs_of_block || number >= a_.rows * a_.runs) return {0, 0, 0};
      if (a_.runs == 1) return {number, 0, a_.k};
      const auto first = static_cast<position>(number % a_.runs) * a_.run;
      return {number / a_.runs, first, a_.k - first < a_.run ? a_.k - first : a_.run};
    }

    // Calls f(r, i) for the caller's elements of a run of `size`: register r holds the run's
    // element i. r is a constant, so that elements stay in registers.
    template <class F>
    KSELECT_HD void for_own(position size, const F& f) const {
      kernels::unrolled<each>([&](auto r) {
        const position i = r * team_.threads() + team_.thread();
        if (i < size) f(r, i);
      });
    }

    // Loads all elements before any is written, because `from` and `out` may be the same memory.
    KSELECT_HD void load(const run_of& mine, element (&own)[each]) {
      const position given = settles ? a_.k + a_.extra : a_.k;
      const std::int64_t from = mine.row * given + mine.first;
      kernels::unrolled<each>([&](auto r) { own[r] = kernels::padding<key, indexed>(); });
      for_own(mine.size, [&](auto r, position i) {
        own[r].key = selection_key(simt_.load(a_.from.values, from + i), a_.wanted);
      });
      if constexpr (indexed) {
        with_indices(a_.from, [&](auto indices) {
          for_own(mine.size, [&](auto r, position i) {
            own[r].at = static_cast<position>(simt_.load(indices, from + i));
          });
        });
      }
    }

    KSELECT_HD end_of_run settle(const run_of& mine, element (&own)[each]) {
      settling<answer_team<Simt>, element> ties(team_, mine.size);
      ties.run(own, a_.extra, [&](position e) {
        const std::int64_t place = mine.row * (a_.k + a_.extra) + a_.k + e;
        return read_element<true>(simt_, a_.from, place, a_.wanted);
      });
      if (mine.size != 0) {
        note_row(simt_, a_.ties, mine.row, ties.complete(), team_.thread(), team_.threads());
      }
      return {ties.complete(), ties.last()};
    }

    // Through shared memory, so that stores are coalesced.
    KSELECT_HD void write(const run_of& mine, const element (&own)[each], const end_of_run& end) {
      const auto thread = static_cast<position>(simt_.thread());
      kernels::unrolled<each>([&](auto r) { memory_.put(thread * each + r, own[r]); });
      simt_.sync_block();
      const position first = static_cast<position>(team_.number()) * each * team_.threads();
      const std::int64_t to = mine.row * a_.k + mine.first;
      for_own(mine.size, [&](auto, position i) {
        const key found = i < end.complete ? memory_.get(first + i).key : end.last;
        simt_.store(a_.out.values, to + i, value_of<T>(found, a_.wanted));
      });
      if constexpr (indexed) {
        with_indices(a_.out, [&]<class Index>(simt::global<Index> indices) {
          for_own(end.complete < mine.size ? end.complete : mine.size, [&](auto, position i) {
            simt_.store(indices, to + i, static_cast<Index>(memory_.get(first + i).at));
          });
        });
      }
    }

    Simt& simt_;
    const args& a_;
    answer_team<Simt> team_;
    exchange_memory<key, indexed> memory_;
  };
};

}  // namespace kselect::ordered
