#pragma once
// Buffered multi-select with several blocks a row, for rows too few to fill the card: two launches.
//
//   sample_kernel  each block reads its part of the row's first tile and publishes group minima
//   stream_kernel  each block finds the threshold for itself from all minima of the row, filters
//                  its part of the row, and leaves its survivors in memory; the block that is last
//                  to do so gathers them and selects
//
// No block waits for another. With few rows the time is that of one chain of latencies, so the
// second launch overlaps the first: its blocks read their part of the first tile, too, while the
// sample is being taken, and then wait for the minima.
//
// What may overlap: sample_kernel is launched plainly, so when it starts everything before it on
// the stream has ended. stream_kernel starts after that, so it may read the rows, whoever wrote
// them, before it waits. And the sample of the next call does not overwrite the minima and counts
// that this call still reads.

#include "algorithms/buffered_multi_select/kernels.cuh"

namespace kselect::bms {

template <class T, bool indexed>
struct grid_memory {
  using candidate = typename candidate_of<T, indexed>::type;
  simt::global<key_of<T>> minima;     // [rows][row_minima]
  simt::global<candidate> survivors;  // [rows][parts][capacity]
  simt::global<position> sizes;       // [rows][parts]: survivors of the part
  simt::global<position> finished;    // [rows]: parts that have left theirs
};

template <class T, bool indexed>
struct grid_args {
  rows_view<T> matrix;
  answer_view<T> out;
  grid_memory<T, indexed> memory;
  plan shape;           // of a row's parts
  plan alone;           // of a block that reads the whole row; differs in the tiles
  position parts;       // blocks a row
  position lanes;       // threads whose groups are joined for a published minimum: a power of two
  position row_minima;  // published, of a row
  position gatherers;   // threads that gather the survivors of one part: 1, 2, 4 ...
};

// Survivors of a part that one thread asks for before it knows how many there are.
inline constexpr int gathered_ahead = 8;

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

template <class T, bool indexed, int loads>
struct sample_kernel {
  static constexpr int max_threads = 512;
  static constexpr int most_groups = few_groups<T>;
  using value = typename element<T>::value;
  struct storage {
    control<key_of<T>> team;
    value of_warp[most_groups][max_threads / simt::warp_size];
  };
  using args = grid_args<T, indexed>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    simt.let_next_start();
    const std::int64_t row = simt.block() / a.parts;
    const auto part = static_cast<position>(simt.block() % a.parts);
    const team_memory<T, indexed> none{};
    team<Simt, T, indexed, false> block(simt, shared.team, none, a.shape);
    row_share<decltype(block), loads> share(block, a, row, part, a.parts);
    if (part == 0 && block.thread() == 0) simt.store(a.memory.finished, row, 0);
    const position published = a.row_minima / a.parts;
    const auto to = simt.slice(a.memory.minima, row * a.row_minima + part * published, published);
    const auto least = share.minima();
    const auto groups = static_cast<int>(a.shape.groups);
    const position each = block.threads() / a.lanes;  // published of one group
    KSELECT_UNROLL
    for (int g = 0; g < most_groups; ++g) {
      if (g >= groups) continue;
      auto joined = least.x[g];
      for (int delta = 1; delta < simt::warp_size && delta < static_cast<int>(a.lanes);
           delta *= 2) {
        joined = simt.smaller(joined, simt.shfl_xor(simt::full_mask, joined, delta));
      }
      if (a.lanes > simt::warp_size) {
        shared.of_warp[g][block.warp()] = joined;
      } else if (block.thread() % a.lanes == 0) {
        simt.store(to, g * each + block.thread() / a.lanes, element<T>::key_of(joined));
      }
    }
    if (a.lanes <= simt::warp_size) return;
    block.sync();
    if (block.thread() >= published) return;
    const value* const warps = shared.of_warp[block.thread() / each];
    const position joins = a.lanes / simt::warp_size;
    const position first = block.thread() % each * joins;
    value joined = warps[first];
    for (position w = 1; w < joins; ++w) joined = simt.smaller(joined, warps[first + w]);
    simt.store(to, block.thread(), element<T>::key_of(joined));
  }
};

template <class T, bool indexed, int loads>
struct stream_kernel {
  static constexpr int max_threads = 512;
  static constexpr int min_blocks = 2;
  using key = key_of<T>;
  struct storage {
    control<key> team;
    position finished;  // parts before this one
  };
  using args = grid_args<T, indexed>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t row = simt.block() / a.parts;
    work<Simt>(simt, shared, a, row, static_cast<position>(simt.block() % a.parts)).run();
  }

 private:
  template <class Simt>
  class work {
   public:
    using block_team = team<Simt, T, indexed, false>;
    using candidate = typename block_team::candidate;

    KSELECT_HD work(Simt& simt, storage& shared, const args& a, std::int64_t row, position part)
        : simt_(simt), shared_(shared), a_(a), row_(row), part_(part) {}

    KSELECT_HD void run() {
      const auto memory = team_memory<T, indexed>::at(simt_.dynamic_shared(), a_.shape);
      block_team block(simt_, shared_.team, memory, a_.shape);
      row_share<block_team, loads> share(block, a_, row_, part_, a_.parts);
      narrowing<block_team> narrow(block);
      narrow.prepare();
      simt_.wait_for_previous();
      const auto [bound, no_nans] = find_threshold(block, narrow);
      survivors<block_team> list(block, narrow, a_.matrix.k);
      list.start(bound, no_nans);
      leave(block, share.filter(list));
      if (shared_.finished + 1 != a_.parts) return;
      list.start(bound, false);
      const position size = gather(block, list);
      if (size < a_.matrix.k) {  // the tile misled, as in the one-block form
        block_team whole(simt_, shared_.team, memory, a_.alone);
        select(whole);
      } else {
        write(block, narrow, list, size);
      }
    }

   private:
    // The row's minima are searched in shared memory, where the list will be. Several are asked for
    // before the first is waited for: the loop is bound by the way to memory and back.
    KSELECT_HD found_threshold<key> find_threshold(block_team& block,
                                                   narrowing<block_team>& narrow) {
      constexpr int at_once = 4;
      key* const minima = reinterpret_cast<key*>(block.memory.list);
      const position count = a_.row_minima;
      const auto from = simt_.slice(a_.memory.minima, row_ * count, count);
      for (position first = block.thread(); first < count; first += at_once * block.threads()) {
        key ahead[at_once];
        KSELECT_UNROLL
        for (int i = 0; i < at_once; ++i) {
          const position at = first + static_cast<position>(i) * block.threads();
          ahead[i] = at < count ? simt_.load(from, at) : key{0};
        }
        KSELECT_UNROLL
        for (int i = 0; i < at_once; ++i) {
          const position at = first + static_cast<position>(i) * block.threads();
          if (at < count) minima[at] = ahead[i];
        }
      }
      block.sync();
      return threshold(narrow, count, a_.shape.rank, a_.shape.slack, [&](const auto& f) {
        for (position i = block.thread(); i < count; i += block.threads()) f(minima[i]);
      });
    }

    // The place of a part's survivors. Each part has its own, as large as a list, so that no block
    // has to ask where to write.
    KSELECT_HD simt::global<candidate> left_by(position part) {
      const std::int64_t number = row_ * a_.parts + part;
      return simt_.slice(a_.memory.survivors, number * a_.shape.capacity, a_.shape.capacity);
    }

    // Leaves the block's survivors to the one that finishes last, and counts the block as finished.
    KSELECT_HD void leave(block_team& block, position size) {
      const auto to = left_by(part_);
      // gather() reads so many in any case.
      const position least = a_.gatherers * gathered_ahead;
      const position stored = size < least ? least : size;
      for (position i = block.thread(); i < stored; i += block.threads()) {
        simt_.store(to, i, i < size ? block.memory.list[i] : candidate{});
      }
      if (block.thread() == 0) simt_.store(a_.memory.sizes, row_ * a_.parts + part_, size);
      // After the barrier one thread speaks for all: what it has seen is ordered with what it
      // wrote.
      block.sync();
      if (block.thread() == 0) {
        shared_.finished = simt_.ordered_add(a_.memory.finished, row_, 1);
      }
      block.sync();
    }

    // Enters what all parts have left. Returns the size of the list.
    KSELECT_HD position gather(block_team& block, survivors<block_team>& list) {
      const position at_once = block.threads() / a_.gatherers;  // parts
      const position lane = block.thread() % a_.gatherers;
      for (position first = 0; first < a_.parts; first += at_once) {
        const position part = first + block.thread() / a_.gatherers;
        gather_part(list, part < a_.parts ? part : part_, lane, part < a_.parts);
      }
      return list.finish();
    }

    // The caller's share of one part, if it `has` one: entries lane, lane + gatherers ... The first
    // are asked for together with the number of entries, which saves a trip to memory.
    KSELECT_HD void gather_part(survivors<block_team>& list, position part, position lane,
                                bool has) {
      const auto from = left_by(part);
      const position size =
          has ? simt_.load_fresh(a_.memory.sizes, row_ * a_.parts + part) : position{0};
      position i = lane;
      position readable = a_.gatherers * gathered_ahead;
      do {
        candidate ahead[gathered_ahead];
        item_set held = 0;
        KSELECT_UNROLL
        for (int c = 0; c < gathered_ahead; ++c, i += a_.gatherers) {
          ahead[c] = i < readable ? simt_.load_fresh(from, i) : candidate{};
          if (i < size) held |= item_set{1} << c;
        }
        list.enter(held, [&](int wanted) {
          candidate found = ahead[0];
          KSELECT_UNROLL
          for (int c = 1; c < gathered_ahead; ++c) {  // a register has no number
            if (c == wanted) found = ahead[c];
          }
          return found;
        });
        readable = size;
      } while (simt_.any(simt::full_mask, i < size));
    }

    // Selects from the whole row, with this block alone.
    KSELECT_HD void select(block_team& whole) {
      narrowing<block_team> narrow(whole);
      survivors<block_team> list(whole, narrow, a_.matrix.k);
      list.start(static_cast<key>(~key{0}), false);
      row_share<block_team, loads> share(whole, a_, row_);
      write(whole, narrow, list, share.filter(list));
    }

    KSELECT_HD void write(block_team& block, narrowing<block_team>& narrow,
                          survivors<block_team>& list, position size) {
      answer<block_team>(block, narrow, a_.out, row_, a_.matrix.k, a_.matrix.wanted)
          .write(list.range(), size);
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    std::int64_t row_;
    position part_;
  };
};

}  // namespace kselect::bms
