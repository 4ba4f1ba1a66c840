#pragma once
// Buffered multi-select with several blocks a row, for rows too few to fill the card: one launch,
// in which each block
//
//   reads its part of the row's first tile and posts the minima of its groups,
//   looks up those of the other parts, and finds the threshold of all for itself,
//   filters its part of the row, and leaves its survivors in memory;
//
// and the row's last block gathers what all have left, and selects.
//
// With few rows the time is that of one chain of latencies, so blocks meet in messages, each of
// which says by its tag that it is of this call: a new tag in each, and the last block takes it off
// again, as a CUDA graph repeats a call to the bit. Nothing need be cleared before.
//
// Blocks need not run side by side. The last waits for those before it, which a device starts
// earlier; its threshold is of all minima. Another block looks for them only so often, and a bound
// from some of them, or from all, is not below the last one's. So what that admits nobody left out,
// and if it is k elements in all, it is enough.

#include "algorithms/buffered_multi_select/grid_minima.cuh"
#include "algorithms/buffered_multi_select/grid_survivors.cuh"
#include "algorithms/buffered_multi_select/kernels.cuh"

namespace kselect::bms {

// A block's share of a row, or of a part of it. The first tile is loaded at once.
template <class Team, int loads>
class row_share {
 public:
  using reader = row_reader<Team, loads, false, true>;

  template <class Args>
  KSELECT_HD row_share(Team& team, const Args& a, std::int64_t row, position part = 0,
                       position parts = 1)
      : team_(team),
        source_(team, baselines::row_at(team.simt, a.matrix, row), a.matrix.wanted, row, part,
                parts) {
    source_.load(0, own_);
  }

  KSELECT_HD auto minima() {
    constexpr int groups = few_groups<typename Team::stored>;
    static_assert(reader::items > groups);  // or a group's minimum would not tell of a NaN
    return minima_of<groups, reader>(team_, own_);
  }

  // Enters what the list admits. Returns the size of the list.
  KSELECT_HD position filter(survivors<Team>& list) {
    stream<reader>(team_, source_, list).run(own_);
    return list.finish();
  }

 private:
  Team& team_;
  reader source_;
  typename reader::tile own_;
};

// Of a block's dynamic shared memory, what a team has comes first.
template <class T, bool indexed>
std::size_t grid_shared_bytes(const plan& shape, position parts) {
  return team_memory<T, indexed>::bytes(shape) + parts * sizeof(crowded_part<T>);
}

template <class T, bool indexed, int loads>
struct grid_kernel {
  static constexpr int max_threads = most_grid_threads;
  static constexpr int min_blocks = 2;
  using args = grid_args<T, indexed>;
  template <class Simt>
  using block_team = team<Simt, T, indexed, false>;
  struct storage {
    control<key_of<T>> team;
    grouped_minima<T> minima;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto number = static_cast<position>(simt.block());
    const position row = a.matrix.rows == 1 ? 0 : number / a.parts;  // division is slow
    const row_part part{row, number - row * a.parts};
    const auto memory = team_memory<T, indexed>::at(simt.dynamic_shared(), a.shape);
    block_team<Simt> block(simt, shared.team, memory, a.shape);
    row_share<block_team<Simt>, loads> share(block, a, row, part.number, a.parts);
    narrowing<block_team<Simt>> narrow(block);
    narrow.prepare();
    posted_minima<block_team<Simt>> minima(block, shared.minima, a, part);
    minima.post(share.minima());
    block.sync();  // the last block does not wait for itself
    const auto [bound, no_nans] = minima.threshold(narrow);
    survivors<block_team<Simt>> list(block, narrow, a.matrix.k);
    list.start(bound, no_nans);
    const position own = share.filter(list);
    auto* const told =
        reinterpret_cast<crowded_part<T>*>(static_cast<unsigned char*>(simt.dynamic_shared()) +
                                           team_memory<T, indexed>::bytes(a.shape));
    posted_survivors<block_team<Simt>> others(block, a, part, told);
    if (!part.is_last(a.parts)) return others.leave(own);
    others.prepare();
    block.sync();  // all have seen the size
    const position size = others.gather(list);
    if (size < a.matrix.k) {  // the tile misled, as in the one-block form
      block_team<Simt> whole(simt, shared.team, memory, a.alone);
      select(whole, a, row);
    } else {
      write(block, narrow, list, a, row, size);
    }
    minima.take_tags_off();
    others.take_tags_off();
  }

 private:
  // Selects from the whole row, with this block alone.
  template <class Team>
  KSELECT_HD static void select(Team& whole, const args& a, std::int64_t row) {
    narrowing<Team> narrow(whole);
    survivors<Team> list(whole, narrow, a.matrix.k);
    list.start(static_cast<key_of<T>>(~key_of<T>{0}), false);
    row_share<Team, loads> share(whole, a, row);
    const position size = share.filter(list);
    write(whole, narrow, list, a, row, size);
  }

  template <class Team>
  KSELECT_HD static void write(Team& block, narrowing<Team>& narrow, survivors<Team>& list,
                               const args& a, std::int64_t row, position size) {
    answer<Team, true>(block, narrow, a.out, row, a.matrix.k, a.matrix.wanted)
        .write(list.range(), size);
  }
};

}  // namespace kselect::bms
