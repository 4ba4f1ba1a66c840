#pragma once
// Quick multi-select, the device side: the steps of Komarov, Dashti & D'Souza 2014, "GPU-Based
// Quick Multi-Select", in the order of the text. quick_multi_select.cu holds the essay, the drivers
// and the registry entries.
//
// A row is worked on by a *team*: one warp, or all warps of a block. The steps are written once; a
// team of one warp needs no inter-warp step and synchronises within the warp.

#include <cmath>
#include <cstdint>

#include "kselect/algorithm.hpp"
#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::qms {

using position = std::uint32_t;  // of an element in its row

// Elements a lane holds at a time: a warp reads four 32-wide segments before it partitions them, so
// that four loads are in flight.
inline constexpr int items = 4;
inline constexpr int most_warps = 32;

enum class pivot_rule : std::uint8_t {
  random,       // the paper's: a random element
  median_of_3,  // of the first, the middle and the last element
  sample        // the element of one sample a thread whose rank suits k (Floyd & Rivest 1975)
};

// After this many rounds pivots come from halving the range of keys instead (see choose_pivot),
// which ends after as many rounds as a key has bits.
inline constexpr int free_rounds = 24;

// Where a run of elements lies: [begin, end) of the row's input or of one of its auxiliary arrays.
enum class array : std::uint32_t { input, auxiliary_0, auxiliary_1 };
struct reference {
  position begin, end;
  array where;
};

// A round pushes at most one reference, and none if it found nothing below its pivot; past the free
// rounds those that found something are as many as a key has bits.
template <class Key>
inline constexpr int stack_capacity = free_rounds + 8 * static_cast<int>(sizeof(Key)) + 2;

// The part of a row still to be partitioned, and how many of its elements are wanted.
template <class Key>
struct state {
  reference active;
  position wanted;
  Key low, high;  // every active key lies in [low, high]
  int round;
  bool found_minimum;  // the last pivot was the least active key: split off its ties next
};

template <class Key>
KSELECT_HD constexpr state<Key> initial_state(position n, position k) {
  return {{0, n, array::input}, k, Key{0}, static_cast<Key>(~Key{0}), 0, false};
}

// Where the elements of a partition go: the input is never written, so the first goes to 0.
KSELECT_HD constexpr array other(array where) {
  return where == array::auxiliary_0 ? array::auxiliary_1 : array::auxiliary_0;
}

// Whether no further partition is needed: the rest is wanted as a whole, or is all one value, or is
// small enough for a team of `threads` to rank.
template <class Key>
KSELECT_HD constexpr bool settled(const state<Key>& s, position threads) {
  const position size = s.active.end - s.active.begin;
  return s.wanted == size || s.low == s.high || size <= threads;
}

// Algorithm 1's decision after a partition that found `left` elements below the pivot: the wanted
// ones are among them, go on there; else keep the left side where it is, by the returned reference
// instead of a copy (empty otherwise), and go on with the rest on the right.
template <class Key>
KSELECT_HD constexpr reference decide(state<Key>& s, Key pivot, position left) {
  const array to = other(s.active.where);
  const reference left_side{s.active.begin, s.active.begin + left, to};
  ++s.round;
  s.found_minimum = left == 0;
  if (s.wanted <= left) {
    s.active = left_side;
    s.high = pivot - 1;
    return {0, 0, to};
  }
  s.active = {left_side.end, s.active.end, to};
  s.wanted -= left;
  s.low = pivot;
  return left_side;
}

template <class T>
struct row_view {
  simt::global<const T> input;
  simt::global<order_key_t<T>> keys_0, keys_1;      // auxiliary arrays, each as long as the row
  simt::global<position> positions_0, positions_1;  // empty when only values are wanted
  direction wanted;
  std::int64_t row;

  // Chosen, not indexed: an array indexed at run time would live in local memory.
  KSELECT_HD simt::global<order_key_t<T>> keys(array where) const {
    return where == array::auxiliary_0 ? keys_0 : keys_1;
  }
  KSELECT_HD simt::global<position> positions(array where) const {
    return where == array::auxiliary_0 ? positions_0 : positions_1;
  }
};

// Where the answer of a row goes.
template <class T>
struct output_view {
  simt::global<T> values;
  simt::global<std::int32_t> indices_32;  // one of the two, or neither
  simt::global<std::int64_t> indices_64;
  direction wanted;
};

// What a team shares; `stage` is its part of dynamic shared memory.
template <class Key>
struct team_storage {
  reference stack[stack_capacity<Key>];
  position left_before[most_warps];  // elements below the pivot in the warps before, in this tile
  position tile_left;                // and in the tile
  Key pivot;
};

template <class Key>
struct stage_view {
  Key* keys;            // one tile: 32 * items elements a warp
  position* positions;  // null when only values are wanted
};

template <class Key>
KSELECT_HD constexpr std::size_t stage_bytes(int warps, bool indexed) {
  return static_cast<std::size_t>(warps * simt::warp_size * items) *
         (sizeof(Key) + (indexed ? sizeof(position) : 0));
}

template <class Simt, bool whole_block>
class team {
 public:
  KSELECT_HD explicit team(Simt& simt) : simt_(simt) {}
  KSELECT_HD int warp() const { return whole_block ? simt_.warp() : 0; }
  KSELECT_HD int warps() const { return whole_block ? simt_.warps() : 1; }
  KSELECT_HD int thread() const { return whole_block ? simt_.thread() : simt_.lane(); }
  KSELECT_HD int threads() const { return warps() * simt::warp_size; }
  KSELECT_HD void sync() {
    if constexpr (whole_block) {
      simt_.sync_block();
    } else {
      simt_.sync_warp(simt::full_mask);
    }
  }

 private:
  Simt& simt_;
};

// All steps on one row. `indexed`: positions travel with the keys.
template <class Simt, class T, bool indexed, bool whole_block>
class selection {
 public:
  using key = order_key_t<T>;

  KSELECT_HD selection(Simt& simt, team_storage<key>& shared, stage_view<key> stage,
                       const row_view<T>& row)
      : simt_(simt), team_(simt), shared_(shared), stage_(stage), row_(row) {}

  // Algorithm 1, without leaving the device: partitions until the k smallest are known, then writes
  // them. The paper takes its decisions on the CPU and launches a kernel a round.
  KSELECT_HD void select(position n, position k, pivot_rule rule, const output_view<T>& out) {
    state<key> s = initial_state<key>(n, k);
    int depth = 0;
    while (!settled(s, static_cast<position>(team_.threads()))) {
      const key pivot = choose_pivot(s, rule);
      const reference left = decide(s, pivot, partition(s, pivot, rule));
      if (left.begin == left.end) continue;
      KSELECT_ASSERT(depth < stack_capacity<key>);
      if (team_.thread() == 0) shared_.stack[depth] = left;
      ++depth;
    }
    team_.sync();  // the stack was written by thread 0
    position next = 0;
    for (int i = 0; i < depth; ++i) {
      const reference kept = shared_.stack[i];
      copy_out(kept, next, out);
      next += kept.end - kept.begin;
    }
    KSELECT_ASSERT(next == k - s.wanted);
    write_rest(s, next, out);
  }

  // A key in (low, high]; keys below it go left. Every thread gets the same one.
  KSELECT_HD key choose_pivot(const state<key>& s, pivot_rule rule) {
    // The fallback: half of the keys' range is lost a round, whatever the input. It comes first, as its
    // pivots need not occur in the row.
    if (s.round >= free_rounds) return s.low + (s.high - s.low) / 2 + 1;
    // Everything is >= the last pivot, which occurs: just above it splits off all its ties. So
    // elements equal to the pivot cannot stall the selection.
    if (s.found_minimum) return s.low + 1;
    switch (rule) {
      case pivot_rule::random:
        return at_least(read_key(s.active, random_place(s, 0)), s.low);
      case pivot_rule::median_of_3:
        return at_least(median_of_3(s.active), s.low);
      default:
        return at_least(sampled_pivot(s), s.low);
    }
  }

  // One round. A sampled pivot is chosen such that the wanted elements almost surely lie to its
  // left: then the right side, which would be dropped, is not written. Should they not, the round
  // is repeated as the paper has it. Returns the number of elements below the pivot.
  KSELECT_HD position partition(const state<key>& s, key pivot, pivot_rule rule) {
    const position size = s.active.end - s.active.begin;
    if (rule == pivot_rule::sample && s.wanted <= size / 2) {
      const position left = partition<false>(s.active, pivot);
      if (left >= s.wanted) return left;
    }
    return partition<true>(s.active, pivot);
  }

  // Read in, pivot and write out (Fig. 2, 3, 4), tile after tile: elements below the pivot go to
  // the left end of the other array's [begin, end), the others to its right end (`both`) or
  // nowhere. Each element is read once. Returns the number of elements below the pivot.
  template <bool both>
  KSELECT_HD position partition(reference from, key pivot) {
    const array to = other(from.where);
    const position tile = static_cast<position>(team_.threads() * items);
    position left = from.begin;  // next free place on the left
    position right = from.end;   // one past the next free place on the right
    for (position first = from.begin; first < from.end;) {
      const position count = from.end - first < tile ? from.end - first : tile;
      const position tile_left = pivot_into_stage<both>(from, first, count, pivot);
      write_out(to, left, right, both ? count : tile_left, tile_left);
      left += tile_left;
      right -= count - tile_left;
      first += count;
    }
    if (team_.thread() == 0) {
      simt_.count(simt::counter::partitions);
      simt_.count(simt::counter::comparisons, from.end - from.begin);
    }
    team_.sync();  // what was written is read by other threads in the next round
    return left - from.begin;
  }

  // Writes the wanted elements of a settled state to out[next ...].
  KSELECT_HD void write_rest(const state<key>& s, position next, const output_view<T>& out) {
    const position size = s.active.end - s.active.begin;
    if (s.wanted == size || s.low == s.high) {
      copy_out({s.active.begin, s.active.begin + s.wanted, s.active.where}, next, out);
    } else {
      rank_out(s, next, out);
    }
  }

  // Copies a run to out[next ...].
  KSELECT_HD void copy_out(reference part, position next, const output_view<T>& out) {
    const position size = part.end - part.begin;
    for (position i = static_cast<position>(team_.thread()); i < size;
         i += static_cast<position>(team_.threads())) {
      const element e = read(part, part.begin + i);
      write(out, next + i, e);
    }
  }

  // The wanted elements of a rest of at most one element a thread: each thread counts those before
  // its own, ties by place, and writes its own if it is among them.
  KSELECT_HD void rank_out(const state<key>& s, position next, const output_view<T>& out) {
    const position size = s.active.end - s.active.begin;
    const auto mine = static_cast<position>(team_.thread());
    element own{};
    if (mine < size) {
      own = read(s.active, s.active.begin + mine);
      stage_.keys[mine] = own.k;
    }
    team_.sync();
    if (mine < size) {
      position rank = 0;
      for (position i = 0; i < size; ++i) {
        const key other = stage_.keys[i];
        rank += static_cast<position>(other < own.k || (other == own.k && i < mine));
      }
      if (rank < s.wanted) write(out, next + rank, own);
    }
  }

 private:
  struct element {
    key k;
    position at;
  };

  KSELECT_HD key read_key(reference from, position i) {
    if (from.where == array::input) {
      return selection_key(simt_.load(row_.input, i), row_.wanted);
    }
    return simt_.load(row_.keys(from.where), i);
  }

  KSELECT_HD element read(reference from, position i) {
    element e{read_key(from, i), i};
    if constexpr (indexed) {
      if (from.where != array::input) {
        e.at = simt_.load(row_.positions(from.where), i);
      }
    }
    return e;
  }

  KSELECT_HD void write(const output_view<T>& out, position to, const element& e) {
    simt_.store(out.values, to, from_selection_key<T>(e.k, out.wanted));
    if constexpr (indexed) {
      if (out.indices_32.size != 0) {
        simt_.store(out.indices_32, to, static_cast<std::int32_t>(e.at));
      } else {
        simt_.store(out.indices_64, to, static_cast<std::int64_t>(e.at));
      }
    }
  }

  // Fig. 2 and 3. Each warp reads its 32-wide segments, votes which elements lie below the pivot,
  // and counts the votes of the lanes before to find each element's place; both sides are gathered
  // in shared memory, left from the left end, right from the right end. Returns how many went left.
  template <bool both>
  KSELECT_HD position pivot_into_stage(reference from, position first, position count, key pivot) {
    element own[items];
    std::uint32_t below[items];
    // The v-th element of a lane is number lane + 32 v of the warp's part of the tile.
    const auto part = static_cast<position>(team_.warp() * simt::warp_size * items);
    const position part_size = count <= part ? 0 : count - part;
    const auto lane = static_cast<position>(simt_.lane());
    for (int v = 0; v < items; ++v) {
      const position i = lane + static_cast<position>(v * simt::warp_size);
      own[v] = element{};
      if (i < part_size) own[v] = read(from, first + part + i);
    }
    position lefts = 0;  // of this warp
    for (int v = 0; v < items; ++v) {
      const position i = lane + static_cast<position>(v * simt::warp_size);
      below[v] = simt_.ballot(simt::full_mask, i < part_size && own[v].k < pivot);
      lefts += static_cast<position>(simt_.popc(below[v]));
    }
    position left = 0;  // place of the warp's next left element
    const position tile_left = place_warps(lefts, left);
    // The right elements of the warps before are what is not left of their full parts.
    position right = count - 1 - (part - left);  // place of the warp's next right element
    for (int v = 0; v < items; ++v) {
      const position i = lane + static_cast<position>(v * simt::warp_size);
      const auto before = static_cast<position>(simt_.popc(below[v] & simt_.lanemask_lt()));
      if ((below[v] >> lane & 1U) != 0) {
        stage(left + before, own[v]);
      } else if (both && i < part_size) {
        stage(right - (lane - before), own[v]);
      }
      const auto here = static_cast<position>(simt_.popc(below[v]));
      left += here;
      right -= simt::warp_size - here;  // a partial segment is the warp's last
    }
    team_.sync();
    return tile_left;
  }

  KSELECT_HD void stage(position place, const element& e) {
    stage_.keys[place] = e.k;
    if constexpr (indexed) stage_.positions[place] = e.at;
  }

  // The inter-warp prefix sum of the block form: by one thread, serially, for at most 32 warps.
  // Gives the warp the number of left elements in the warps before it, and returns that of the
  // tile.
  KSELECT_HD position place_warps(position lefts, position& before) {
    if constexpr (!whole_block) {
      before = 0;
      return lefts;
    } else {
      if (simt_.lane() == 0) shared_.left_before[simt_.warp()] = lefts;
      team_.sync();
      if (team_.thread() == 0) {
        position sum = 0;
        for (int w = 0; w < team_.warps(); ++w) {
          const position of_warp = shared_.left_before[w];
          shared_.left_before[w] = sum;
          sum += of_warp;
        }
        shared_.tile_left = sum;
      }
      team_.sync();
      before = shared_.left_before[simt_.warp()];
      return shared_.tile_left;
    }
  }

  // Fig. 4: `count` elements leave shared memory for the other array, each side in one coalesced
  // run.
  KSELECT_HD void write_out(array to, position left, position right, position count,
                            position tile_left) {
    for (position i = static_cast<position>(team_.thread()); i < count;
         i += static_cast<position>(team_.threads())) {
      const position place = i < tile_left ? left + i : right - (count - i);
      simt_.store(row_.keys(to), place, stage_.keys[i]);
      if constexpr (indexed) simt_.store(row_.positions(to), place, stage_.positions[i]);
    }
    team_.sync();  // the stage is free for the next tile
  }

  KSELECT_HD static key at_least(key chosen, key low) {
    // A pivot equal to `low` splits nothing off: everything is >= low.
    return chosen > low ? chosen : static_cast<key>(low + 1);
  }

  // A place in the active part, the same for every thread and on every machine: splitmix64's
  // finaliser over row, round and draw.
  KSELECT_HD position random_place(const state<key>& s, position draw) const {
    std::uint64_t x = static_cast<std::uint64_t>(row_.row) << 32 ^
                      (static_cast<std::uint64_t>(s.round) << 24) ^ draw;
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    const auto high = static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
    const std::uint64_t size = s.active.end - s.active.begin;
    return s.active.begin + static_cast<position>(high * size >> 32);
  }

  KSELECT_HD key median_of_3(reference active) {
    const key a = read_key(active, active.begin);
    const key b = read_key(active, active.begin + (active.end - active.begin) / 2);
    const key c = read_key(active, active.end - 1);
    const key low = a < b ? a : b;
    const key high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
  }

  // Of one random element a thread, the one whose rank leaves just more than the wanted elements on
  // the left, or, when more than half are wanted, just fewer: two standard deviations off, so that
  // almost always the smaller part is what remains.
  KSELECT_HD key sampled_pivot(const state<key>& s) {
    const int samples = team_.threads();
    const int mine = team_.thread();
    const key own = read_key(s.active, random_place(s, static_cast<position>(mine)));
    stage_.keys[mine] = own;
    team_.sync();
    int rank = 0;
    for (int i = 0; i < samples; ++i) {
      const key other = stage_.keys[i];
      rank += static_cast<int>(other < own || (other == own && i < mine));
    }
    if (rank == sample_rank(s, samples)) shared_.pivot = own;
    team_.sync();
    const key pivot = shared_.pivot;
    team_.sync();  // the stage and the pivot may be written again
    return pivot;
  }

  KSELECT_HD static int sample_rank(const state<key>& s, int samples) {
    const auto size = static_cast<float>(s.active.end - s.active.begin);
    const float fraction = static_cast<float>(s.wanted) / size;
    const float mean = fraction * static_cast<float>(samples);
    const float margin = 2 * sqrtf(mean * (1 - fraction)) + 1;
    const float rank = fraction <= 0.5F ? mean + margin : mean - margin;
    if (rank < 1) return 1;
    return rank > static_cast<float>(samples - 1) ? samples - 1 : static_cast<int>(rank);
  }

  Simt& simt_;
  team<Simt, whole_block> team_;
  team_storage<key>& shared_;
  stage_view<key> stage_;
  const row_view<T>& row_;
};

}  // namespace kselect::qms
