#pragma once
// Buffered multi-select: a row as a team reads it, in tiles of 16-byte loads.
//
// A tile is `loads` vectors a thread. Each load of a warp reads a 512-byte segment. A tile's
// segments are spread over the row: segment s of tile t is number s * tiles + t. So each tile is a
// sample of the whole row, whatever its order. Load v of warp w is segment v * warps + w: in a
// sorted row the smallest elements belong to many threads, a few to each.
//
// Rows begin with different tiles, because starts that are a power of two apart fall on the same
// memory channels. Where others wait for the row, a middle tile comes first. Reason: in sorted rows
// the k smallest are neighbours, and a first tile with a whole segment of them gives too low a
// threshold. Aligned loads miss up to 14 elements, the row's *ends*; each belongs to one thread.
//
// Elements are *oriented*: their sign is flipped if the largest are wanted, so that a smaller one
// is always better (of integers more is flipped: element.hpp). order_key of an oriented value is
// the selection key.

#include <bit>
#include <limits>

#include "algorithms/buffered_multi_select/steps/team.cuh"
#include "kselect/simt/in_register.hpp"
#include "kselect/simt/load_kept.hpp"

namespace kselect::bms {

// A set of a thread's elements of a tile, one bit each.
using item_set = std::uint32_t;

// The items whose bit(x), 0 or 1, is 1.
template <int items, class Bit>
KSELECT_HD item_set which(const float (&x)[items], const Bit& bit) {
  constexpr int at_once = items % 4 == 0 ? 4 : 1;  // independent chains of shifts
  constexpr int each = items / at_once;
  item_set set = 0;
  KSELECT_UNROLL
  for (int c = 0; c < at_once; ++c) {
    item_set part = 0;
    KSELECT_UNROLL
    for (int i = each - 1; i >= 0; --i) part = part << 1 | bit(x[c * each + i]);
    set |= part << (c * each);
  }
  return set;
}

// The numbers below `end`, which is finite. None is NaN. The sign of x - end is exact, also for
// zeros: -0 - 0 is -0. (Differences must not be flushed to zero; the build refuses flags that do
// so.) This is an addition and a shift. Comparing, selecting and collecting bits would all use one
// pipe, which limits short rows.
template <int items>
KSELECT_HD item_set before(const float (&x)[items], float end) {
  return which(x, [&](float value) { return bits_of(value - end) >> 31; });
}

// The values above `limit`, by the same means. NaNs are not among them.
template <class Simt, int items>
KSELECT_HD item_set above(Simt& simt, const float (&x)[items], float limit) {
  return which(x, [&](float value) { return simt.exceeds(value, limit); });
}

// The oriented values that are not above `limit`. `no_nans`: certainly none is NaN; floats are then
// subtracted. Otherwise bits are compared. Values up to a positive limit are less or equal as
// signed integers, negative ones included. Values up to a negative limit have greater or equal
// bits.
template <class Value, int items>
KSELECT_HD item_set not_above(const Value (&x)[items], std::type_identity_t<Value> limit,
                              bool no_nans) {
  if constexpr (std::is_integral_v<Value>) {
    item_set set = 0;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (x[i] <= limit) set |= item_set{1} << i;
    }
    return set;
  }
  if constexpr (std::is_same_v<Value, float>) {
    const float next = from_order_key<float>(order_key(limit) + 1);
    if (no_nans && !is_nan(next) && !is_infinite(next)) return before(x, next);
  }
  using signed_bits = std::make_signed_t<order_key_t<Value>>;
  const auto last = bits_of(limit);
  item_set set = 0;
  if (last < sign_bit<Value>) {
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (static_cast<signed_bits>(bits_of(x[i])) <= static_cast<signed_bits>(last)) {
        set |= item_set{1} << i;
      }
    }
  } else {
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      if (bits_of(x[i]) >= last) set |= item_set{1} << i;
    }
  }
  return set;
}

// The teams that read a row. one: a single team. several: rows are few. scattered: several, and
// each has a threshold of its own part. A segment is then eight 64-byte chunks, as far apart as
// possible, and neighbouring chunks belong to different parts. So no part has all of a sorted row's
// smallest elements.
enum class readers : std::uint8_t { one, several, scattered };

// `whole`: the row, or the team's part of it, is known to be one tile.
template <class Team_, int loads, bool whole = false, readers by = readers::one>
class row_reader {
 public:
  using Team = Team_;
  using stored = typename Team::stored;
  using value = typename Team::value;
  using key = typename Team::key;
  static constexpr int width = 16 / static_cast<int>(sizeof(stored));
  static constexpr int items = loads * width;  // of a thread in a tile
  static_assert(items <= 32);

  struct tile {
    value x[items];
    item_set held;  // items that the row has; the others are infinity, or the worst integer
  };

  // Row number `number`. The team reads part `part` of `parts`; all their teams have the same size.
  KSELECT_HD row_reader(Team& team, simt::global<const stored> row, order_t<stored> wanted,
                        std::int64_t number, position part = 0, position parts = 1)
      : team_(team),
        row_(row),
        orientation_(element<stored>::orientation_for(wanted)),
        warp_(by == readers::scattered ? team.warp() * parts + part
                                       : part * team.warps() + team.warp()),
        step_(tiles() * parts * team.warps() * simt::warp_size) {
    const auto n = static_cast<position>(row.size);
    const auto misaligned =
        static_cast<position>(reinterpret_cast<std::uintptr_t>(row.data) % 16 / sizeof(stored));
    head_ = misaligned == 0 ? 0 : width - misaligned;
    if (head_ > n) head_ = n;
    vectors_ = (n - head_) / width;
    ends_ = n - vectors_ * width;
    rotation_ = tiles() == 1 ? 0 : first_tile(static_cast<position>(number));
  }

  KSELECT_HD void load(position t, tile& into) {
    const position first = first_vector(t);
    if (is_whole(t, first)) {
      into.held = ~item_set{0} >> (32 - items);
      KSELECT_UNROLL
      for (int v = 0; v < loads; ++v) {
        const auto loaded = load_vector(first, v);
        KSELECT_UNROLL
        for (int e = 0; e < width; ++e) into.x[v * width + e] = as_value(loaded[e]);
      }
    } else {
      load_part(first, into);
    }
    if (orientation_.none()) return;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) into.x[i] = oriented(into.x[i]);
  }

  // The place in the row of item i of tile t, of this thread or another lane.
  KSELECT_HD position place(position t, int i) const { return place(t, i, team_.lane()); }
  KSELECT_HD position place(position t, int i, position lane) const {
    const position v = static_cast<position>(i) / width;
    return head_ + (first_vector(t, lane) + v * step_) * width + static_cast<position>(i) % width;
  }
  // Calls f(i, place) for all items in order. `kept`: keeps the place in a register. If f branches,
  // each branch may otherwise be compiled to compute the place from scratch.
  template <bool kept = false, class F>
  KSELECT_HD void each_place(position t, const F& f) const {
    position at = kept ? simt::in_register(place(t, 0)) : place(t, 0);
    const position step = step_ * width - width + 1;
    KSELECT_UNROLL
    for (int i = 0; i < items; ++i) {
      f(i, at);
      at += (i + 1) % width == 0 ? step : 1;
    }
  }
  // The element at a place that the row has.
  KSELECT_HD key key_at(position place) {
    return element<stored>::key_of(oriented(as_value(team_.simt.load(row_, place))));
  }
  KSELECT_HD typename Team::candidate candidate_at(position place) {
    return Team::candidates::make(key_at(place), place);
  }

  KSELECT_HD bool any_ends() const { return ends_ != 0; }
  KSELECT_HD bool has_end() const { return reader() < ends_; }
  KSELECT_HD position end_place() const { return end_place(team_.lane()); }
  KSELECT_HD position end_place(position lane) const {
    const position i = reader(lane);
    return i < head_ ? i : vectors_ * width + i;
  }

  KSELECT_HD auto orientation() const { return orientation_; }
  KSELECT_HD position size() const { return static_cast<position>(row_.size); }
  KSELECT_HD position tiles() const { return whole ? 1 : team_.shape.tiles; }

 private:
  // If one team reads a row, rows are many. With few tiles, each must be the first of some rows to
  // spread the rows over the memory channels. A misleading first tile delays only its own row.
  KSELECT_HD position first_tile(position number) const {
    constexpr position many = 32;
    if (by != readers::one) return tiles() / 2 + (number & 3U) * (tiles() / 16);
    if (tiles() < many) return number % tiles();  // wide division is slow
    return tiles() / 4 + number % (tiles() / 2);
  }

  // Loads a tile in which the row ends within the warp's part.
  KSELECT_HD void load_part(position first, tile& into) {
    into.held = 0;
    const auto body = this->body();
    KSELECT_UNROLL
    for (int v = 0; v < loads; ++v) {
      const position i = first + static_cast<position>(v) * step_;
      const bool there = i < vectors_;
      simt::vec<stored, width> loaded;
      KSELECT_UNROLL
      for (int e = 0; e < width; ++e) {
        loaded[e] = element<stored>::narrowed(
            std::bit_cast<value>(orientation_.restored(bits_of(element<stored>::last))));
      }
      if (there) {
        loaded = team_.simt.load(body, i);
        into.held |= ((item_set{1} << width) - 1) << (v * width);
      }
      KSELECT_UNROLL
      for (int e = 0; e < width; ++e) into.x[v * width + e] = as_value(loaded[e]);
    }
  }

  // Vector v of the thread, whose first is number `first`. A warp reads its tile again where
  // elements pass the bound, so the tile should stay in L1; a block's rows take longer that way.
  // (The two loads compute addresses differently: either way, in the other form, makes the stream
  // spill registers.)
  KSELECT_HD auto load_vector(position first, int v) {
    const position beyond = static_cast<position>(v) * step_;
    if constexpr (Team::one_warp) {
      return simt::load_kept(team_.simt, team_.simt.slice(body(), first, vectors_ - first), beyond);
    } else {
      return team_.simt.load(body(), first + beyond);
    }
  }

  KSELECT_HD auto body() {
    return simt::as_vec<width>(
        team_.simt.slice(row_, head_, static_cast<std::int64_t>(vectors_) * width));
  }

  // The thread's number among all that read the row.
  KSELECT_HD position reader() const { return reader(team_.lane()); }
  KSELECT_HD position reader(position lane) const { return warp_ * simt::warp_size + lane; }

  // The thread's first vector of tile t; the others follow in steps.
  KSELECT_HD position first_vector(position t) const { return first_vector(t, team_.lane()); }
  KSELECT_HD position first_vector(position t, position lane) const {
    const position turned = t + rotation_;
    const position segment = turned < tiles() ? turned : turned - tiles();
    if constexpr (by == readers::scattered) {
      constexpr position chunk = 4, chunks = simt::warp_size / chunk;
      const position number = warp_ * tiles() + segment;
      return lane / chunk * (step_ / chunks) + number * chunk + lane % chunk;
    }
    return (warp_ * tiles() + segment) * simt::warp_size + lane;
  }
  // Whether the row fills the warp's part of tile t. `first`: the caller's first vector there.
  KSELECT_HD bool is_whole(position t, position first) const {
    if constexpr (by == readers::scattered) {
      return first_vector(t, simt::warp_size - 1) + (loads - 1) * step_ < vectors_;
    }
    return first - team_.lane() + (loads - 1) * step_ + simt::warp_size <= vectors_;
  }
  KSELECT_HD value oriented(value x) const {
    return std::bit_cast<value>(orientation_.oriented(bits_of(x)));
  }
  KSELECT_HD static value as_value(stored x) { return element<stored>::widened(x); }

  Team& team_;
  simt::global<const stored> row_;
  typename element<stored>::orientation orientation_;
  position warp_;  // among all that read the row
  position step_;  // from a vector of a thread to its next
  position head_, vectors_, ends_, rotation_;
};

}  // namespace kselect::bms
