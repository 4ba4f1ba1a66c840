#pragma once
// Device code: a block measures vectors against its query in float64 (finish.cuh), and orders them.
//
// The query's image lies in shared memory. A lane takes four components at a time, so a component's
// neighbours there are those that other lanes take: image c of d is at c / 4 + d / 4 * (c % 4).
// Else a load would meet four-way bank conflicts.

#include "kernels/bitonic.cuh"
#include "search/knn/fused/byte_distances.cuh"
#include "search/knn/fused/survivors.cuh"

namespace kselect::search::fused {

// A warp measures so many vectors at a time, so that their loads overlap.
inline constexpr int measured_at_once = 4;

struct query_image {
  double* components;
  std::int64_t dimension;

  // Lanes take so many components at a time.
  KSELECT_HD bool in_fours() const { return dimension % 4 == 0; }
  template <int N>
  KSELECT_HD double& at(std::int64_t vector, int component) const {
    return components[vector + dimension / N * component];
  }
  template <class Simt>
  KSELECT_HD void place(Simt& simt, const image_row& x) const {
    for (std::int64_t c = simt.thread(); c < dimension; c += simt.threads()) {
      const double of_x = component(x, simt.load(x.raw, c));
      if (in_fours()) {
        at<4>(c / 4, static_cast<int>(c % 4)) = of_x;
      } else {
        components[c] = of_x;
      }
    }
  }
};

// The sums over a warp of a lane's four numbers: lanes 8 i to 8 i + 7 get that of number i. The
// bits are those of warp_sum, which adds in the same order.
template <class Simt>
KSELECT_HD double four_sums(Simt& simt, const double (&of_lane)[measured_at_once]) {
  static_assert(measured_at_once == 4);
  const bool upper = (simt.lane() & 16) != 0, odd = (simt.lane() & 8) != 0;
  const auto added = [&](double kept, double given, int step) {
    return kept + simt.shfl_xor(simt::full_mask, given, step);
  };
  const double even_half =
      added(upper ? of_lane[2] : of_lane[0], upper ? of_lane[0] : of_lane[2], 16);
  const double odd_half =
      added(upper ? of_lane[3] : of_lane[1], upper ? of_lane[1] : of_lane[3], 16);
  double sum = added(odd ? odd_half : even_half, odd ? even_half : odd_half, 8);
  for (int step = 4; step > 0; step /= 2) sum = added(sum, sum, step);
  return sum;
}

// `products`: of inner products, else of squared differences.
template <bool products, class Simt>
class survivor_distances {
 public:
  KSELECT_HD survivor_distances(Simt& simt, const image_source& corpus, const image_row& x,
                                const query_image& image, const byte_distances<Simt>& bytes)
      : simt_(simt), corpus_(corpus), x_(x), image_(image), bytes_(bytes) {}

  // Writes to keys[i] the key of the distance to the vector vectors[i], for `from` <= i < `count`.
  // keys[i] is its position before. The sums are those of share_of_difference, or of
  // share_of_product, bit for bit.
  template <class Key>
  KSELECT_HD void measure(const kernels::position* vectors, std::uint64_t* keys, std::uint32_t from,
                          std::uint32_t count, const Key& key_of) const {
    const auto step = static_cast<std::uint32_t>(simt_.warps() * measured_at_once);
    for (auto first = from + static_cast<std::uint32_t>(simt_.warp() * measured_at_once);
         first < count; first += step) {
      if constexpr (!products) {
        if (bytes_.any() && measure_bytes(keys, first, count, key_of)) continue;
      }
      kernels::position those[measured_at_once];
      double shares[measured_at_once] = {};
      KSELECT_UNROLL for (int i = 0; i < measured_at_once; ++i) {
        those[i] = vectors[first + i < count ? first + i : count - 1];
      }
      if (!image_.in_fours()) {
        add_shares<1, true>(those, shares);
      } else if (!products && corpus_.unit()) {
        add_shares<4, true>(those, shares);
      } else {
        add_shares<4, false>(those, shares);
      }
      const double sum = four_sums(simt_, shares);
      const std::uint32_t own = first + static_cast<std::uint32_t>(simt_.lane() / 8);
      if (simt_.lane() % 8 == 0 && own < count) {
        keys[own] = key_of(products ? ranked_product(sum) : of_own(sum, vectors[own]));
      }
    }
  }

 private:
  // The same for a warp's next vectors, where all are bytes.
  template <class Key>
  KSELECT_HD bool measure_bytes(std::uint64_t* keys, std::uint32_t first, std::uint32_t count,
                                const Key& key_of) const {
    static_assert(slab_chunks * measured_at_once == simt::warp_size);
    const std::uint32_t own = first + static_cast<std::uint32_t>(simt_.lane() / slab_chunks);
    double distance = 0;
    if (!bytes_.measure(static_cast<std::int64_t>(keys[own < count ? own : first]), distance)) {
      return false;
    }
    if (simt_.lane() % slab_chunks == 0 && own < count) keys[own] = key_of(distance);
    return true;
  }

  KSELECT_HD double of_own(double sum, kernels::position vector) const {
    if (!corpus_.unit()) return ranked(sum, false, x_, x_);
    return ranked(sum, true, x_, image_of(simt_, corpus_, vector));
  }

  // The lane's shares of several squared differences, or products, by N components at a time.
  // `unit`: the vectors may be unit ones; a test of every component would take more instructions.
  // So would products of 64 bits to find a vector.
  template <int N, bool unit>
  KSELECT_HD void add_shares(const kernels::position (&vectors)[measured_at_once],
                             double (&sums)[measured_at_once]) const {
    image_row y[measured_at_once];
    if constexpr (unit) {
      KSELECT_UNROLL for (int i = 0; i < measured_at_once; ++i) {
        y[i] = image_of(simt_, corpus_, vectors[i]);
      }
    }
    const auto raw = simt::as_vec<N>(corpus_.raw);
    const auto each = static_cast<std::uint32_t>(corpus_.dimension / N);
    for (auto c = static_cast<std::uint32_t>(simt_.lane()); c < each; c += simt::warp_size) {
      simt::vec<float, N> parts[measured_at_once];
      KSELECT_UNROLL for (int i = 0; i < measured_at_once; ++i) {
        parts[i] = simt_.load(raw, static_cast<std::int64_t>(std::uint64_t{vectors[i]} * each + c));
      }
      KSELECT_UNROLL for (int e = 0; e < N; ++e) {
        const double of_x = image_.template at<N>(c, e);
        KSELECT_UNROLL for (int i = 0; i < measured_at_once; ++i) {
          double of_y = parts[i][e];
          if constexpr (products) {
            sums[i] = std::fma(of_x, of_y, sums[i]);
            continue;
          }
          if constexpr (unit) of_y = component(y[i], parts[i][e]);
          const double d = of_x - of_y;
          sums[i] = std::fma(d, d, sums[i]);
        }
      }
    }
  }

  Simt& simt_;
  const image_source& corpus_;
  const image_row& x_;
  const query_image& image_;
  const byte_distances<Simt>& bytes_;
};

// Each thread has one item, and counts those before it: a few barriers instead of dozens. It
// compares the upper halves of keys, which takes fewer instructions. The sum of the counts tells
// whether two are equal; then it compares whole keys, and positions.
template <class Simt, class List>
KSELECT_HD void order_by_counting(Simt& simt, const List& list, std::uint32_t count,
                                  gathered& shared) {
  using four_halves = simt::vec<std::uint32_t, 4>;
  KSELECT_ASSERT(simt.threads() <= score_bins && simt.threads() % 4 == 0);
  const auto own = static_cast<std::uint32_t>(simt.thread());
  const bool has = own < count;
  const auto item = list.get(has ? own : 0);
  const auto half = static_cast<std::uint32_t>(item.key >> 32);
  if (own == 0) shared.ranks = 0;
  shared.bins[own] = has ? half : ~0U;
  simt.sync_block();
  const auto* const halves = reinterpret_cast<const four_halves*>(shared.bins);
  kernels::position before = 0;
  for (std::uint32_t i = 0; 4 * i < count; ++i) {
    const four_halves those = halves[i];
    KSELECT_UNROLL for (int e = 0; e < 4; ++e) before += those[e] < half ? 1 : 0;
  }
  const std::uint32_t of_warp = simt.reduce_add(simt::full_mask, has ? before : 0);
  if (simt.lane() == 0) simt.atomic_add(shared.ranks, of_warp);
  simt.sync_block();
  if (shared.ranks != count * (count - 1) / 2) {
    before = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t key = list.keys[i];
      before += key < item.key || (key == item.key && list.positions[i] < item.at) ? 1 : 0;
    }
    simt.sync_block();
  }
  if (has) list.set(before, item);
  simt.sync_block();
}

// Orders `count` items by key, then position. Begins and ends with a barrier. `list` has room for
// the next power of two. No two items are equal.
template <class Simt, class List>
KSELECT_HD void order_survivors(Simt& simt, const List& list, std::uint32_t count,
                                gathered& shared) {
  if (count > static_cast<std::uint32_t>(simt.threads())) {
    const auto size = static_cast<kernels::position>(kernels::next_power_of_two(count));
    for (auto i = count + static_cast<std::uint32_t>(simt.thread()); i < size;
         i += static_cast<std::uint32_t>(simt.threads())) {
      list.set(i, kernels::padding<std::uint64_t, true>());
    }
    kernels::network_on(simt, list, size).sort_runs(size);
    return;
  }
  simt.sync_block();
  order_by_counting(simt, list, count, shared);
}

}  // namespace kselect::search::fused
