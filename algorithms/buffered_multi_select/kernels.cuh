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

// One row by one team, its elements in registers: for k so large a part of n that a threshold would
// hold little back. Narrowing comes first, so that little more than the answer enters the list.
template <class Team, int loads>
class resident_row {
 public:
  using key = typename Team::key;
  using reader = row_reader<Team, loads>;

  KSELECT_HD resident_row(Team& team, narrowing<Team>& narrow, reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), list_(team, narrow, k), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    row_.load(0, own_);
    end_ = row_.has_end() ? row_.key_at(row_.end_place()) : key{0};
    const auto visit = [&](const auto& f) { visit_own(f); };
    auto low = static_cast<key>(~key{0});
    key high = 0;
    visit([&](key k) {
      if (k < low) low = k;
      if (k > high) high = k;
    });
    auto r = narrow_.to_rank(narrow_.extremes(low, high, row_.size()), k_, 0, ranked_most, visit);
    const bool tied = r.low == r.high && r.below + r.count > k_;
    if (tied) {  // those below it, then equal ones until there are k
      if (r.below != 0) {
        list_.start(static_cast<key>(r.low - 1));
        enter([&](key k) { return k < r.low; });
      } else {
        list_.start(0);
      }
      team_.sync();
      enter([&](key k) { return k == r.low; });
      r.count = k_ - r.below;
    } else {
      list_.start(r.high);
      enter([&](key k) { return k <= r.high; });
    }
    team_.sync();
    out.write(r, r.below + r.count);
  }

 private:
  // Enters the elements whose key is wanted, until the list has k and what has to be ranked.
  template <class Wanted>
  KSELECT_HD void enter(const Wanted& wanted) {
    item_set items = 0;
    KSELECT_UNROLL
    for (int i = 0; i < reader::items; ++i) {
      if (wanted(order_key(own_.x[i]))) items |= item_set{1} << i;
    }
    list_.enter_while_room(items & own_.held,
                           [&](int i) { return row_.candidate_at(row_.place(0, i)); });
    if (!row_.any_ends()) return;
    const item_set end = row_.has_end() && wanted(end_) ? 1 : 0;
    list_.enter_while_room(end, [&](int) { return row_.candidate_at(row_.end_place()); });
  }

  template <class F>
  KSELECT_HD void visit_own(const F& f) {
    KSELECT_UNROLL
    for (int v = 0; v < loads; ++v) {
      if ((own_.held >> (v * reader::width) & 1U) == 0) continue;
      KSELECT_UNROLL
      for (int e = 0; e < reader::width; ++e) f(order_key(own_.x[v * reader::width + e]));
    }
    if (row_.has_end()) f(end_);
  }

  Team& team_;
  narrowing<Team>& narrow_;
  reader& row_;
  survivors<Team> list_;
  position k_;
  typename reader::tile own_;
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
