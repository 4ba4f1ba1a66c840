#pragma once
// Buffered multi-select: where the elements of a row's answer go.

#include "algorithms/buffered_multi_select/steps/team.cuh"

namespace kselect::bms {

// The row's outputs, with one type of indices.
template <class T, class Index>
struct row_outputs {
  simt::global<T> values;
  simt::global<Index> indices;
};

// `list`: an answer that is to be put in order. `either`: known when the kernel runs.
enum class answer_goes : std::uint8_t { to_outputs, to_list, to_either };

// To the row's outputs.
template <class Team, answer_goes where = answer_goes::to_outputs>
class answer_places {
 public:
  using stored = typename Team::stored;
  using candidate = typename Team::candidate;
  using candidates = typename Team::candidates;

  KSELECT_HD answer_places(Team& team, const answer_view<stored>& out, std::int64_t row, position k,
                           order_t<stored> wanted)
      : team_(team), out_(out), row_(row), k_(k), wanted_(wanted) {}

  // Calls f with the row's outputs, once for a loop of stores. A store that tests the type of
  // indices and finds the row's beginning each time takes more instructions.
  template <class F>
  KSELECT_HD void with_outputs(const F& f) {
    if constexpr (Team::ragged) {
      const auto row = team_.outputs();
      if (row.indices_64.size == 0) {
        f(row_outputs<stored, std::int32_t>{row.values, row.indices_32});
      } else {
        f(row_outputs<stored, std::int64_t>{row.values, row.indices_64});
      }
      return;
    }
    const auto values = mine(out_.values);
    if (!Team::indexed || out_.indices_32.size != 0) {
      f(row_outputs<stored, std::int32_t>{values, mine(out_.indices_32)});
    } else {
      f(row_outputs<stored, std::int64_t>{values, mine(out_.indices_64)});
    }
  }

  template <class Index>
  KSELECT_HD void store(const row_outputs<stored, Index>& row, position to, candidate c) {
    store(row, to, element<stored>::selected(candidates::key(c), wanted_), candidates::index(c));
  }
  template <class Index>
  KSELECT_HD void store(const row_outputs<stored, Index>& row, position to, stored x,
                        std::int64_t index) {
    if (is_wanted(row.values)) team_.simt.store(row.values, to, x);
    if constexpr (Team::indexed) {
      if (is_wanted(row.indices)) team_.simt.store(row.indices, to, static_cast<Index>(index));
    }
  }
  // store() for a thread that stores once.
  KSELECT_HD void store_one(position to, candidate c) {
    if constexpr (Team::may_be_unwanted) {
      with_outputs([&](const auto& row) { store(row, to, c); });
      return;
    }
    constexpr auto what = Team::indexed ? kernels::answer::pairs : kernels::answer::values;
    kernels::write_answer<what>(team_.simt, out_, row_ * k_ + to,
                                static_cast<order_key_t<stored>>(candidates::key(c)),
                                static_cast<position>(candidates::index(c)), wanted_);
  }

  // Known when compiled, but for ragged rows and words.
  template <class T>
  KSELECT_HD static bool is_wanted(simt::global<T> output) {
    return !Team::may_be_unwanted || output.size != 0;
  }

 private:
  // The row's part of an output; an output that is not there stays empty.
  template <class T>
  KSELECT_HD simt::global<T> mine(simt::global<T> all) {
    return all.size == 0 ? all : team_.simt.slice(all, row_ * k_, k_);
  }

  Team& team_;
  const answer_view<stored>& out_;
  std::int64_t row_;
  position k_;
  order_t<stored> wanted_;
};

// Room for an answer that is to be put in order, behind the team's memory: [k] for a warp,
// [capacity] for a block.
template <class Team>
KSELECT_HD typename Team::candidate* answer_list(const Team& team) {
  using memory = team_memory<typename Team::stored, Team::indexed>;
  const int threads = Team::one_warp ? 0 : static_cast<int>(team.threads());
  return reinterpret_cast<typename Team::candidate*>(
      reinterpret_cast<unsigned char*>(team.memory.list) + memory::bytes(team.shape, threads));
}

// To that list.
template <class Team>
class answer_places<Team, answer_goes::to_list> {
 public:
  using stored = typename Team::stored;
  using candidate = typename Team::candidate;

  KSELECT_HD answer_places(Team& team, const answer_view<stored>&, std::int64_t, position,
                           order_t<stored>)
      : list_(answer_list(team)) {}

  template <class F>
  KSELECT_HD void with_outputs(const F& f) {
    f(list_);
  }
  KSELECT_HD void store(candidate* list, position to, candidate c) { list[to] = c; }
  KSELECT_HD void store_one(position to, candidate c) { list_[to] = c; }

 private:
  candidate* list_;
};

// To a list if there is one, else to the outputs.
template <class Team>
class answer_places<Team, answer_goes::to_either> : answer_places<Team> {
 public:
  using outputs = answer_places<Team>;
  using stored = typename Team::stored;
  using candidate = typename Team::candidate;

  KSELECT_HD answer_places(Team& team, const answer_view<stored>& out, std::int64_t row, position k,
                           order_t<stored> wanted, candidate* list)
      : outputs(team, out, row, k, wanted), list_(list) {}

  template <class F>
  KSELECT_HD void with_outputs(const F& f) {
    if (list_ != nullptr) {
      f(list_);
    } else {
      outputs::with_outputs(f);
    }
  }
  using outputs::store;
  KSELECT_HD void store(candidate* list, position to, candidate c) { list[to] = c; }
  KSELECT_HD void store_one(position to, candidate c) {
    if (list_ != nullptr) {
      list_[to] = c;
    } else {
      outputs::store_one(to, c);
    }
  }

 private:
  candidate* list_;
};

}  // namespace kselect::bms
