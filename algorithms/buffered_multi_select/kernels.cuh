#pragma once
// Buffered multi-select: the kernels. Each gives teams their rows and calls the steps.

#include "algorithms/buffered_multi_select/answer.cuh"
#include "algorithms/buffered_multi_select/brief_row.cuh"
#include "algorithms/buffered_multi_select/stream.cuh"
#include "algorithms/buffered_multi_select/threshold.cuh"

namespace kselect::bms {

// One row by one team, its elements in a list.
template <class Reader, bool many>
class filtered_row {
 public:
  using Team = typename Reader::Team;
  using key = typename Team::key;
  using tile = typename Reader::tile;

  KSELECT_HD filtered_row(Team& team, narrowing<Team>& narrow, Reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), list_(team, narrow, k), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    position size = 0;
    // The first tile misleads if it has more than its share of the smallest elements: in one of
    // 5,000 rows in random order, and in one of `tiles` sorted ones. Then the k-th of its minima
    // is a guarantee, if there are so many and they are numbers; else everything may enter.
    for (int attempt = 0; size < k_; ++attempt) {
      tile own;
      row_.load(0, own);  // first, so that loads and preparations overlap
      prepare(attempt == 0);
      const plan& p = team_.shape;
      const position rank = attempt == 0 ? p.rank : attempt == 1 ? k_ : ~position{0};
      size = pass(own, rank, attempt == 0 ? p.slack : p.kept_most - k_);
    }
    out.write(list_.range(), size);
  }

 private:
  KSELECT_HD void prepare(bool first) {
    if (first && Team::one_warp) return;  // a warp does not count into bins
    if (first) {
      narrow_.prepare();
    } else {
      team_.sync();  // all have seen the size
      narrow_.forget_extremes();
    }
    team_.sync();
  }

  // Reads the row once, with a threshold of that rank; of its first tile the caller has loaded its
  // part. Returns how many survived.
  KSELECT_HD position pass(tile& own, position rank, position slack) {
    if (team_.thread() == 0) team_.simt.count(simt::counter::passes);
    constexpr int groups =
        many && !Team::one_warp ? many_groups : few_groups<typename Team::stored>;
    const auto [bound, no_nans] = threshold_of<groups, Reader>(team_, narrow_, own, rank, slack);
    list_.start(bound, no_nans);
    stream<Reader, many>(team_, row_, list_).run(own);
    return list_.finish();
  }

  Team& team_;
  narrowing<Team>& narrow_;
  Reader& row_;
  survivors<Team> list_;
  position k_;
};

// One row by one team, its elements in registers, as keys: for k so large a part of n that a
// threshold would hold little back. Narrowing comes first, so that the list is the answer, staged
// for neighbouring stores, and what has to be ranked for its last elements.
template <class Reader>
class resident_row {
 public:
  using Team = typename Reader::Team;
  using key = typename Team::key;
  using tile = typename Reader::tile;
  using candidates = typename Team::candidates;
  static constexpr int items = Reader::items;

  KSELECT_HD resident_row(Team& team, narrowing<Team>& narrow, Reader& row, position k)
      : team_(team), narrow_(narrow), row_(row), k_(k) {}

  KSELECT_HD void select(answer<Team>& out) {
    if (team_.thread() == 0) {
      team_.simt.count(simt::counter::passes);
      team_.shared.claimed = 0;
      team_.shared.gathered = 0;
    }
    load();
    const auto r =
        narrow_.by_bins_around(sample(), k_, ranked_most, [&](const auto& f) { visit_own(f); });
    const position rest = k_ - r.below;  // wanted of those in the range
    const bool whole = r.up_to == k_;
    const bool tied = r.low == r.high;
    part below{};
    if (whole || r.below != 0) below = not_above(whole ? r.high : static_cast<key>(r.low - 1));
    enter_many(below);
    if (!whole) {
      const part inside = not_above(r.high).without(below);
      enter_few(inside, r, tied ? rest : r.count());
    }
    team_.sync();
    const auto staged = [&](position i) {
      const key* const at = team_.memory.keys() + i;
      const auto place = Team::indexed ? static_cast<position>(at[team_.shape.capacity]) : 0;
      return candidates::make(at[0], place);
    };
    out.copy_staged(whole || tied ? k_ : r.below, staged);
    if (whole || tied) return;
    out.rank(team_.shared.gathered, r.below, rest, [&](position i) { return staged(r.below + i); });
  }

 private:
  // A set of the thread's elements.
  struct part {
    item_set items;  // of its tile
    bool end;        // its element of the row's ends
    KSELECT_HD part without(const part& other) const {
      return {items & ~other.items, end && !other.end};
    }
  };

  // Elements that the row does not have get the worst key. It may be a NaN's as well, so they are
  // counted like one, but never enter the list.
  KSELECT_HD void load() {
    tile own;
    row_.load(0, own);
    held_ = own.held;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) keys_[i] = element<typename Team::stored>::key_of(own.x[i]);
    if (held_ != ~item_set{0} >> (32 - items)) {
      KSELECT_UNROLL
      for (int i = 0; i < items; ++i) {
        if ((held_ >> i & 1U) == 0) keys_[i] = static_cast<key>(~key{0});
      }
    }
    end_ = row_.has_end() ? row_.key_at(row_.end_place()) : key{0};
  }

  // The extremes of two elements a thread: between them the k-th should be. The first and the last,
  // for rows in ascending and in descending order.
  KSELECT_HD key_range<key> sample() {
    auto low = static_cast<key>(~key{0});
    key high = 0;
    const auto take = [&](key k) {
      if (k < low) low = k;
      if (k > high) high = k;
    };
    if ((held_ & 1U) != 0) take(keys_[0]);
    if ((held_ >> (items - 1) & 1U) != 0) take(keys_[items - 1]);
    if (row_.has_end()) take(end_);
    return narrow_.extremes(low, high, row_.size());
  }

  template <class F>
  KSELECT_HD void visit_own(const F& f) {
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) f(keys_[i]);
    if (row_.has_end()) f(end_);
  }

  KSELECT_HD part not_above(key last) const {
    part p{0, row_.has_end() && end_ <= last};
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (keys_[i] <= last) p.items |= item_set{1} << i;
    }
    p.items &= held_;
    return p;
  }

  // Enters what may be a large part of the row, straight from the registers.
  KSELECT_HD void enter_many(const part& p) {
    const position own = size_of(p);
    if (!team_.simt.any(simt::full_mask, own != 0)) return;
    key* next = team_.memory.keys() + team_.claim(team_.shared.claimed, own);
    // Where the next place stands, in two registers more: a warp enters much, and takes 5
    // instructions for each item then instead of 7. (By a shuffle, or the compiler loads it for
    // each item.) A block enters a part of an eighth or less, and has the registers for something
    // else.
    constexpr bool held = Team::one_warp;
    const position capacity = team_.shape.capacity;
    const position places = held ? team_.simt.shfl(simt::full_mask, capacity, 0) : capacity;
    const auto put = [&](key k, position place) {
      next[0] = k;
      if constexpr (Team::indexed) next[places] = place;
      ++next;
    };
    const position first = row_.place(0, 0);
    const position step = team_.threads() * Reader::width;  // a load further on; there is one tile
    position place = first;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (!held) place = first + i / Reader::width * step + i % Reader::width;
      if ((p.items >> i & 1U) != 0) put(keys_[i], place);
      if (held) place += (i + 1) % Reader::width == 0 ? step - Reader::width + 1 : 1;
    }
    if (p.end) put(end_, row_.end_place());
  }

  // Enters elements of range `r` behind those below it, at most `most`. They are few, or equal.
  KSELECT_HD void enter_few(const part& p, const key_range<key>& r, position most) {
    const position own = size_of(p);
    if (!team_.simt.any(simt::full_mask, own != 0)) return;
    position to = team_.claim(team_.shared.gathered, own);
    const bool tied = r.low == r.high;
    for (item_set rest = p.items; rest != 0 && to < most; rest &= rest - 1, ++to) {
      const position place = row_.place(0, team_.simt.ffs(rest) - 1);
      stage(r.below + to, tied ? r.low : row_.key_at(place), place);
    }
    if (p.end && to < most) stage(r.below + to, end_, row_.end_place());
  }

  KSELECT_HD void stage(position to, key k, position place) {
    team_.memory.keys()[to] = k;
    if constexpr (Team::indexed) team_.memory.keys()[team_.shape.capacity + to] = place;
  }
  KSELECT_HD position size_of(const part& p) {
    const auto size = static_cast<position>(team_.simt.popc(p.items)) + (p.end ? 1U : 0U);
    team_.simt.count(simt::counter::candidates, size);
    return size;
  }

  Team& team_;
  narrowing<Team>& narrow_;
  Reader& row_;
  position k_;
  key keys_[items];
  item_set held_;
  key end_;
};

// ---- launches

// How a row is worked on: filtered by a threshold that few elements pass, or several of a thread's;
// in registers whole; or, by a warp, in registers until few are left.
enum class form : std::uint8_t { filtered, filtered_many, resident, brief };

template <class T>
struct row_args {
  rows_view<T> matrix;
  answer_view<T> out;
  plan shape;
};

// Selects from row number `row` with a team that is ready to be used again afterwards, if synced.
template <class Team, int loads, form how, class T>
KSELECT_HD void select_row(Team& team, const row_args<T>& a, std::int64_t row) {
  using reader =
      row_reader<Team, loads, how == form::brief || (how == form::resident && Team::one_warp)>;
  reader source(team, baselines::row_at(team.simt, a.matrix, row), a.matrix.wanted, row);
  narrowing<Team> narrow(team);
  answer<Team> out(team, narrow, a.out, row, a.matrix.k, a.matrix.wanted);
  if constexpr (how == form::resident) {
    resident_row<reader>(team, narrow, source, a.matrix.k).select(out);
  } else {
    if constexpr (how == form::brief) {
      if (brief_row<reader>(team, narrow, source, a.matrix.k).select(out)) return;
      team.sync();
    }
    filtered_row<reader, how != form::filtered>(team, narrow, source, a.matrix.k).select(out);
  }
}

// A row a block.
template <class T, bool indexed, int loads, form how>
struct block_kernel {
  static constexpr int max_threads = 1024;
  struct storage {
    control<key_of<T>> team;
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
    team<Simt, T, indexed, false> block(simt, shared.team, memory, a.shape);
    if constexpr (how == form::resident) {
      narrowing<decltype(block)>(block).prepare();
      simt.sync_block();
    }
    for (std::int64_t row = simt.block(); row < a.matrix.rows; row += simt.blocks()) {
      select_row<decltype(block), loads, how>(block, a, row);
      if constexpr (how == form::resident) narrowing<decltype(block)>(block).forget_extremes();
      simt.sync_block();  // the next row uses the same storage
    }
  }
};

// Of the warp form: few, as a block's registers are free again only when its last row is done.
inline constexpr int rows_per_block = 2;

// A row a warp.
template <class T, bool indexed, int loads, form how>
struct warp_kernel {
  static constexpr int max_threads = rows_per_block * simt::warp_size;
  // 72 registers: with 80, or with 64, rows in registers take longer.
  static constexpr int min_blocks = 28 / rows_per_block;
  struct storage {
    control<key_of<T>> team[rows_per_block];
  };
  using args = row_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const own =
        static_cast<unsigned char*>(simt.dynamic_shared()) +
        static_cast<std::size_t>(simt.warp()) * team_memory<T, indexed>::bytes(a.shape);
    const auto memory = team_memory<T, indexed>::at(own, a.shape);
    constexpr bool quarters = how == form::brief || how == form::filtered_many;
    team<Simt, T, indexed, true, quarters> warp(simt, shared.team[simt.warp()], memory, a.shape);
    if constexpr (how == form::resident) {  // the others do not count into bins
      narrowing<decltype(warp)>(warp).prepare();
      simt.sync_warp(simt::full_mask);
    }
    const std::int64_t stride = std::int64_t{simt.blocks()} * rows_per_block;
    const std::int64_t first = std::int64_t{simt.block()} * rows_per_block + simt.warp();
    for (std::int64_t row = first; row < a.matrix.rows; row += stride) {
      select_row<decltype(warp), loads, how>(warp, a, row);
      simt.sync_warp(simt::full_mask);  // the next row uses the same storage
    }
  }
};

}  // namespace kselect::bms
