#pragma once
// Gathers the elements of rows that a mask admits, in order (admitted.hpp).
//
// A row is divided at words of its mask into parts of equal size. A block gathers a part, each of
// its warps a share. What comes before a part is counted in the mask alone, so blocks need not wait
// for each other: the mask of a float32 row has a 32nd of its bytes, and stays in L2. A warp reads
// 32 words at a time, a lane each. Then its lanes read the elements of one word after the other, so
// loads are coalesced and words that admit nothing cost no load.

#include "kernels/ragged_rows.cuh"

namespace kselect::admitted {

using kernels::least, kernels::position;

template <class T>
struct gather_args {
  kernels::row_places places;  // of all rows
  simt::global<const T> input;
  simt::global<const std::uint32_t> mask;
  std::int64_t mask_pitch;
  kernels::numbers_view map;  // the caller's, if `named`
  std::int64_t map_step;      // its numbers from one row to the next
  bool named;
  std::int64_t first_row, rows, parts;  // that are gathered; parts of a row
  // The gathered rows, [rows][pitch]. Indices of one type, or none.
  simt::global<T> values;
  simt::global<std::int32_t> indices_32, lengths;
  simt::global<std::int64_t> indices_64;
  std::int64_t pitch;
};

// The words of a mask that belong to a row.
template <class Simt>
class row_mask {
 public:
  KSELECT_HD row_mask(Simt& simt, const simt::global<const std::uint32_t>& all, std::int64_t word,
                      std::int64_t first_bit, position length)
      : simt_(simt), all_(all), first_(word + first_bit / 32) {
    lead_ = static_cast<position>(first_bit % 32);
    end_ = lead_ + length;
  }

  KSELECT_HD position words() const { return (end_ + 31) / 32; }
  // Word number i, without the bits of elements that the row does not have.
  KSELECT_HD std::uint32_t word(position i) {
    std::uint32_t bits = simt_.load(all_, first_ + i);
    if (i == 0) bits &= ~std::uint32_t{0} << lead_;
    if (i == end_ / 32) bits &= (std::uint32_t{1} << end_ % 32) - 1;
    return bits;
  }
  // The place in the row of the element of a bit that is set.
  KSELECT_HD position place(position i, position bit) const { return i * 32 + bit - lead_; }

 private:
  Simt& simt_;
  const simt::global<const std::uint32_t>& all_;
  std::int64_t first_;
  position lead_, end_;  // bits of the first word before the row, and of all words up to its end
};

template <class T>
struct gather_kernel {
  static constexpr int max_threads = 256;
  static constexpr int warps = max_threads / simt::warp_size;
  struct storage {
    position before[warps], own[warps];  // admitted before the part, and in each warp's share
  };
  using args = gather_args<T>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    for (std::int64_t task = simt.block(); task < a.rows * a.parts; task += simt.blocks()) {
      gather(simt, shared, a, task / a.parts, task % a.parts);
      simt.sync_block();  // the next part uses the same storage
    }
  }

 private:
  static constexpr int at_once = 8;  // loads of a lane in flight at once

  template <class Simt>
  KSELECT_HD static void gather(Simt& simt, storage& shared, const args& a, std::int64_t to_row,
                                std::int64_t part) {
    const std::int64_t row = a.first_row + to_row;
    const auto range = kernels::range_of(simt, a.places, row);
    row_mask<Simt> mask(simt, a.mask, row * a.mask_pitch, range.start, range.length);
    const position words = range.length == 0 ? 0 : mask.words();
    const auto share = static_cast<position>((words + a.parts - 1) / a.parts);
    const position begin = least(static_cast<position>(part) * share, words);
    const position end = least(begin + share, words);
    const auto each = static_cast<position>((end - begin + simt.warps() - 1) / simt.warps());
    const auto warp = static_cast<position>(simt.warp());
    const position own_begin = least(begin + warp * each, end);
    const position own_end = least(own_begin + each, end);
    const auto thread = static_cast<position>(simt.thread());
    const auto lane = static_cast<position>(simt.lane());
    const position before = count(simt, mask, thread, begin, static_cast<position>(simt.threads()));
    const position own = count(simt, mask, own_begin + lane, own_end, simt::warp_size);
    if (lane == 0) {
      shared.before[warp] = before;
      shared.own[warp] = own;
    }
    simt.sync_block();
    position to = 0, all = 0;
    for (int w = 0; w < simt.warps(); ++w) {
      to += shared.before[w];
      all += shared.before[w] + shared.own[w];
      if (w < simt.warp()) to += shared.own[w];
    }
    if (part == a.parts - 1 && thread == 0) {
      simt.store(a.lengths, to_row, static_cast<std::int32_t>(all));
    }
    move(
        simt, a, mask,
        {row * a.places.pitch + range.start, row * a.map_step + range.start, to_row * a.pitch + to},
        own_begin, own_end);
  }

  // The warp's sum of the bits of words first, first + step, ... of its lanes.
  template <class Simt>
  KSELECT_HD static position count(Simt& simt, row_mask<Simt>& mask, position first, position end,
                                   position step) {
    position bits = 0;
    for (position i = first; i < end; i += step) {
      bits += static_cast<position>(simt.popc(mask.word(i)));
    }
    return simt.reduce_add(simt::full_mask, bits);
  }

  // Where a row's elements and their names begin, and where the warp's first one goes.
  struct places {
    std::int64_t elements, names, to;
  };

  // Moves the elements of the warp's words [begin, end).
  template <class Simt>
  KSELECT_HD static void move(Simt& simt, const args& a, row_mask<Simt>& mask, places at,
                              position begin, position end) {
    const auto lane = static_cast<position>(simt.lane());
    for (position first = begin; first < end; first += simt::warp_size) {
      const std::uint32_t mine = first + lane < end ? mask.word(first + lane) : 0;
      for (int step = 0; step < simt::warp_size; step += at_once) {
        if (first + static_cast<position>(step) >= end) break;
        move_some(simt, a, mask, at, first + static_cast<position>(step), mine, step);
      }
    }
  }

  // Of at_once words, from number `first` on; lane step + u holds the u-th.
  template <class Simt>
  KSELECT_HD static void move_some(Simt& simt, const args& a, const row_mask<Simt>& mask,
                                   places& at, position first, std::uint32_t mine, int step) {
    const auto lane = static_cast<position>(simt.lane());
    std::uint32_t words[at_once];
    T values[at_once];
    KSELECT_UNROLL
    for (int u = 0; u < at_once; ++u) {
      words[u] = simt.shfl(simt::full_mask, mine, step + u);
      const position j = mask.place(first + static_cast<position>(u), lane);
      values[u] = (words[u] >> lane & 1U) != 0 ? simt.load(a.input, at.elements + j) : T{};
    }
    KSELECT_UNROLL
    for (int u = 0; u < at_once; ++u) {
      const auto earlier = simt.popc(words[u] & simt.lanemask_lt());
      if ((words[u] >> lane & 1U) != 0) {
        const position j = mask.place(first + static_cast<position>(u), lane);
        store(simt, a, at.to + earlier, values[u], at.names + j, j);
      }
      at.to += simt.popc(words[u]);
    }
  }

  template <class Simt>
  KSELECT_HD static void store(Simt& simt, const args& a, std::int64_t to, T value,
                               std::int64_t name, position place) {
    simt.store(a.values, to, value);
    const bool indexed = a.indices_32.size != 0 || a.indices_64.size != 0;
    if (!indexed) return;
    const std::int64_t index = a.named ? kernels::number_at(simt, a.map, name) : place;
    if (a.indices_32.size != 0) simt.store(a.indices_32, to, static_cast<std::int32_t>(index));
    if (a.indices_64.size != 0) simt.store(a.indices_64, to, index);
  }
};

}  // namespace kselect::admitted
