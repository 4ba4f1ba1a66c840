#pragma once
// Buffered multi-select: the kernels. Each gives teams their rows and calls the steps.

#include "algorithms/buffered_multi_select/answer.cuh"
#include "algorithms/buffered_multi_select/stream.cuh"
#include "algorithms/buffered_multi_select/threshold.cuh"

namespace kselect::bms {

// One row by one team, its elements in a list.
template <class Team, int loads>
class filtered_row {
 public:
  using value = typename Team::value;
  using key = typename Team::key;
  using candidates = typename Team::candidates;
  using reader = row_reader<Team, loads>;
  using tile = typename reader::tile;

  KSELECT_HD filtered_row(Team& team, narrowing<Team>& narrow, reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), list_(team, narrow, k), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    position size = 0;
    // The first tile misleads if it has more than its share of the smallest elements: once in
    // 500,000 rows in random order, and in one of `tiles` sorted ones. Then the k-th of its minima
    // is a guarantee, if there are so many and they are numbers; else everything may enter.
    for (int attempt = 0; size < k_; ++attempt) {
      if (attempt != 0) {
        team_.sync();  // all have seen the size
        narrow_.forget_extremes();
        team_.sync();
      }
      const plan& p = team_.shape;
      const position rank = attempt == 0 ? p.rank : attempt == 1 ? k_ : ~position{0};
      size = pass(rank, attempt == 0 ? p.slack : p.kept_most - k_);
    }
    out.write(list_.range(), size);
  }

 private:
  // Reads the row once, with a threshold of that rank. Returns how many survived.
  KSELECT_HD position pass(position rank, position slack) {
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    tile own;
    row_.load(0, own);
    list_.start(threshold_of<reader>(team_, narrow_, own, rank, slack));
    stream<Team, loads>(team_, row_, list_).run(own);
    return list_.finish();
  }

  Team& team_;
  narrowing<Team>& narrow_;
  reader& row_;
  survivors<Team> list_;
  position k_;
};

// One row by one team, its elements in registers, as keys: for k so large a part of n that a
// threshold would hold little back. Narrowing comes first, so that the list is the answer, staged
// for neighbouring stores, and what has to be ranked for its last elements.
template <class Team, int loads>
class resident_row {
 public:
  using key = typename Team::key;
  using value = typename Team::value;
  using reader = row_reader<Team, loads>;
  using candidates = typename Team::candidates;
  static constexpr int items = reader::items;

  KSELECT_HD resident_row(Team& team, narrowing<Team>& narrow, reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    if (team_.thread() == 0) {
      team_.simt.count(simt::counter::passes);
      team_.shared.claimed = 0;
      team_.shared.gathered = 0;
    }
    load();
    const auto visit = [&](const auto& f) { visit_own(f); };
    auto low = static_cast<key>(~key{0});
    key high = 0;
    visit([&](key k) {
      if (k < low) low = k;
      if (k > high) high = k;
    });
    const auto r =
        narrow_.by_bins(narrow_.extremes(low, high, row_.size()), k_, 0, ranked_most, visit);
    if constexpr (Team::one_warp) team_.sync();  // the counters, if no step was taken
    const position rest = k_ - r.below;  // wanted of those in the range
    const bool whole = r.count == rest;
    const bool tied = r.low == r.high;
    if (whole || r.below != 0) {
      const key last = whole ? r.high : static_cast<key>(r.low - 1);
      enter(team_.shared.claimed, 0, k_, [&](key k) { return k <= last; });
    }
    if (!whole) {
      const key span = r.high - r.low;
      enter(team_.shared.gathered, r.below, tied ? rest : r.count,
            [&](key k) { return static_cast<key>(k - r.low) <= span; });
    }
    team_.sync();
    narrow_.forget_extremes();
    const auto staged = [&](position i) {
      return candidates::make(team_.memory.keys()[i],
                              Team::indexed ? team_.memory.places(team_.shape)[i] : 0);
    };
    out.copy(whole || tied ? k_ : r.below, staged);
    if (whole || tied) return;
    out.rank(r.count, r.below, rest, [&](position i) { return staged(r.below + i); });
  }

 private:
  KSELECT_HD void load() {
    typename reader::tile own;
    row_.load(0, own);
    held_ = own.held;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) keys_[i] = order_key(own.x[i]);
    end_ = row_.has_end() ? row_.key_at(row_.end_place()) : key{0};
  }

  // Enters the elements whose key is wanted into the list from `begin` on, at most `most` of them.
  template <class Wanted>
  KSELECT_HD void enter(position& counter, position begin, position most, const Wanted& wanted) {
    item_set set = 0;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (wanted(keys_[i])) set |= item_set{1} << i;
    }
    set &= held_;
    bool end = row_.has_end() && wanted(end_);
    auto own = static_cast<position>(team_.simt.popc(set)) + (end ? 1U : 0U);
    if (!team_.simt.any(simt::full_mask, own != 0)) return;
    position to = team_.claim(counter, own);
    for (; own != 0 && to + own > most; --own) {  // only of equal elements there are too many
      if (end) {
        end = false;
      } else {
        set &= set - 1;
      }
    }
    team_.simt.count(simt::counter::candidates, own);
    key* const keys = team_.memory.keys() + begin;
    position* const places = team_.memory.places(team_.shape) + begin;
    const auto put = [&](key k, position place) {
      keys[to] = k;
      if constexpr (Team::indexed) places[to] = place;
      ++to;
    };
    const position first = row_.place(0, 0);  // of one tile, so the others' distances are constant
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      constexpr int width = reader::width;
      const auto beyond = static_cast<position>(i / width * width * simt::warp_size + i % width);
      if ((set >> i & 1U) != 0) put(keys_[i], first + beyond);
    }
    if (end) put(end_, row_.end_place());
  }

  template <class F>
  KSELECT_HD void visit_own(const F& f) {
    KSELECT_UNROLL
    for (int v = 0; v < loads; ++v) {
      if ((held_ >> (v * reader::width) & 1U) == 0) continue;
      KSELECT_UNROLL
      for (int e = 0; e < reader::width; ++e) f(keys_[v * reader::width + e]);
    }
    if (row_.has_end()) f(end_);
  }

  Team& team_;
  narrowing<Team>& narrow_;
  reader& row_;
  position k_;
  key keys_[items];
  item_set held_;
  key end_;
};

// ---- launches

template <class T>
struct row_args {
  rows_view<T> matrix;
  answer_view<T> out;
  plan shape;
};

// Selects from row number `row` with a team that is ready to be used again afterwards, if synced.
template <class Team, int loads, bool resident, class T>
KSELECT_HD void select_row(Team& team, const row_args<T>& a, std::int64_t row) {
  narrowing<Team> narrow(team);
  row_reader<Team, loads> source(team, baselines::row_at(team.simt, a.matrix, row), a.matrix.wanted,
                                 row);
  answer<Team> out(team, narrow, a.out, row, a.matrix.k, a.matrix.wanted);
  if constexpr (resident) {
    resident_row<Team, loads>(team, narrow, source, a.matrix.k).select(out);
  } else {
    filtered_row<Team, loads>(team, narrow, source, a.matrix.k).select(out);
  }
}

// A row a block.
template <class T, bool indexed, int loads, bool resident>
struct block_kernel {
  static constexpr int max_threads = 512;
  static constexpr int min_blocks = 2;
  struct storage {
    control<order_key_t<T>> team;
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
    team<Simt, T, indexed, false> block(simt, shared.team, memory, a.shape);
    narrowing<decltype(block)>(block).prepare();
    simt.sync_block();
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      select_row<decltype(block), loads, resident>(block, a, row);
      simt.sync_block();  // the next row uses the same storage
    }
  }
};

inline constexpr int rows_per_block = 4;  // of the warp form

// A row a warp.
template <class T, bool indexed, int loads, bool resident>
struct warp_kernel {
  static constexpr int max_threads = rows_per_block * simt::warp_size;
  static constexpr int min_blocks = 7;  // 72 registers
  struct storage {
    control<order_key_t<T>> team[rows_per_block];
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const own =
        static_cast<unsigned char*>(simt.dynamic_shared()) +
        static_cast<std::size_t>(simt.warp()) * team_memory<T, indexed>::bytes(a.shape);
    const auto memory = team_memory<T, indexed>::at(own, a.shape);
    team<Simt, T, indexed, true> warp(simt, shared.team[simt.warp()], memory, a.shape);
    narrowing<decltype(warp)>(warp).prepare();
    simt.sync_warp(simt::full_mask);
    const std::int64_t stride = std::int64_t{simt.blocks()} * rows_per_block;
    const std::int64_t first = std::int64_t{simt.block()} * rows_per_block + simt.warp();
    for (std::int64_t row = first; row < a.matrix.rows; row += stride) {
      select_row<decltype(warp), loads, resident>(warp, a, row);
      simt.sync_warp(simt::full_mask);  // the next row uses the same storage
    }
  }
};

}  // namespace kselect::bms
