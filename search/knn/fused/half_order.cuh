#pragma once
// Device code: a graph's vectors in the order of their limits, for half of the products.
//
// A score of a pair is a hit of the row if it is beyond the row's limit, and a hit of the column if
// it is beyond the column's. Where limits ascend, no column has a lower limit than a row before it.
// So a score that is not beyond the limit of its row is no hit at all, and a filter compares each
// score once (half_pairs.cuh).
//
// The order is by buckets of limits. Within a bucket vectors lie in any order. (Where several
// searches divide the pairs, it has to be the same for all: half_memory gives the places.) What a
// row's scores are compared with is the least limit of its bucket: its bound. Buckets divide the
// keys of the limits (kselect/order.hpp), so a few limits far from the others leave these in many
// buckets. Padding stays where it is, behind all vectors.

#include <cstdint>
#include <limits>

#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"
#include "search/knn/fused/centre.cuh"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

inline constexpr float without_limit = std::numeric_limits<float>::infinity();

struct limit_buckets {
  static constexpr std::uint32_t count = 4096;
  static constexpr std::uint32_t no_key = ~std::uint32_t{0};
  global<std::uint32_t> range;   // [2]: the least and the greatest key of a limit
  global<std::uint32_t> counts;  // [count]; then the place of the next vector
  global<std::uint32_t> least;   // [count]: keys of limits

  // Empties bucket b; the first also clears the range.
  template <class Simt>
  KSELECT_HD void clear(Simt& simt, std::int64_t b) const {
    simt.store(counts, b, 0);
    simt.store(least, b, no_key);
    if (b != 0) return;
    simt.store(range, 0, no_key);
    simt.store(range, 1, 0);
  }

  // By a whole warp, whose lanes have a limit each.
  template <class Simt>
  KSELECT_HD void widen(Simt& simt, float limit) const {
    const bool has_one = limit < without_limit;
    const std::uint32_t key = order_key(limit);
    const std::uint32_t low = simt.reduce_min(simt::full_mask, has_one ? key : no_key);
    const std::uint32_t high = simt.reduce_max(simt::full_mask, has_one ? key : 0);
    if (simt.lane() != 0 || low == no_key) return;
    simt.atomic_min(range, 0, low);
    simt.atomic_max(range, 1, high);
  }

  // The bucket of a limit. What has no limit is in the last one.
  template <class Simt>
  KSELECT_HD std::int64_t of(Simt& simt, float limit) const {
    return bucket_of(limit, simt.load(range, 0), simt.load(range, 1));
  }
  // `low`, `high`: the range.
  KSELECT_HD static std::int64_t bucket_of(float limit, std::uint32_t low, std::uint32_t high) {
    if (!(limit < without_limit)) return count - 1;
    int shift = 0;
    while ((high - low) >> shift >= count) ++shift;
    return (order_key(limit) - low) >> shift;
  }
};

// How many limits each bucket has, and the least of them.
struct count_limits_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  struct args {
    global<const float> limits;
    std::int64_t count;
    limit_buckets buckets;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.count) return;
    const float limit = simt.load(a.limits, i);
    const std::int64_t bucket = a.buckets.of(simt, limit);
    simt.atomic_add(a.buckets.counts, bucket, 1);
    if (limit < without_limit) simt.atomic_min(a.buckets.least, bucket, order_key(limit));
  }
};

// One block: from how many limits a bucket has to where its first vector goes.
struct place_buckets_kernel {
  static constexpr int max_threads = 1024;
  static constexpr int own = limit_buckets::count / max_threads;  // buckets of a thread
  struct storage {
    std::uint32_t totals[2][max_threads];  // of all threads up to this one
  };
  struct args {
    limit_buckets buckets;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const int thread = simt.thread();
    const std::int64_t first = std::int64_t{thread} * own;
    std::uint32_t total = 0;
    for (int b = 0; b < own; ++b) total += simt.load(a.buckets.counts, first + b);
    shared.totals[0][thread] = total;
    simt.sync_block();
    int from = 0;
    for (int step = 1; step < max_threads; step *= 2, from = 1 - from) {
      const std::uint32_t before = thread >= step ? shared.totals[from][thread - step] : 0;
      shared.totals[1 - from][thread] = shared.totals[from][thread] + before;
      simt.sync_block();
    }
    std::uint32_t place = shared.totals[from][thread] - total;
    for (int b = 0; b < own; ++b) {
      const std::uint32_t count = simt.load(a.buckets.counts, first + b);
      simt.store(a.buckets.counts, first + b, place);
      place += count;
    }
  }
};

// A graph's vectors at their positions, with what their pairs need.
struct pair_sides {
  rounded vectors;
  global<float> starts, limits;  // [padded]
  global<double> offsets;        // [padded]
};

// What the order adds.
struct limit_order {
  global<std::int32_t> ids;  // [count]: the vector at a position
  global<float> bounds;      // [padded]
};

// A warp a vector: copies it to its position.
struct order_by_limits_kernel {
  using storage = no_storage;
  static constexpr int max_threads = 256;
  static constexpr int warps = max_threads / simt::warp_size;
  struct args {
    pair_sides from, to;
    limit_order order;
    numbering vector_of;  // of the positions in `from`
    std::int64_t padded, count, slabs;
    limit_buckets buckets;
    global<const std::uint32_t> places;  // [count], given; no data: as threads come
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.warps() + simt.warp();
    if (i >= a.padded) return;
    std::uint32_t first = 0;
    if (simt.lane() == 0) first = place_of(simt, a, i);
    const std::int64_t to = simt.shfl(simt::full_mask, first, 0);
    copy_slabs(simt, a, i, to);
    if (simt.lane() != 0) return;
    simt.store(a.to.starts, to, simt.load(a.from.starts, i));
    simt.store(a.to.limits, to, simt.load(a.from.limits, i));
    simt.store(a.to.offsets, to, simt.load(a.from.offsets, i));
    simt.store(a.to.vectors.squares, to, simt.load(a.from.vectors.squares, i));
    simt.store(a.to.vectors.errors, to, simt.load(a.from.vectors.errors, i));
  }

 private:
  // Takes a place in the bucket of vector i, and says there which vector it is and its bound.
  template <class Simt>
  KSELECT_HD static std::uint32_t place_of(Simt& simt, const args& a, std::int64_t i) {
    if (i >= a.count) {
      simt.store(a.order.bounds, i, without_limit);
      return static_cast<std::uint32_t>(i);
    }
    const std::int64_t bucket = a.buckets.of(simt, simt.load(a.from.limits, i));
    const std::uint32_t place = a.places.data == nullptr
                                    ? simt.atomic_add(a.buckets.counts, bucket, 1)
                                    : simt.load(a.places, i);
    const std::uint32_t least = simt.load(a.buckets.least, bucket);
    simt.store(a.order.bounds, place,
               least == limit_buckets::no_key ? without_limit : from_order_key<float>(least));
    simt.store(a.order.ids, place, static_cast<std::int32_t>(a.vector_of(simt, i)));
    return place;
  }

  template <class Simt>
  KSELECT_HD static void copy_slabs(Simt& simt, const args& a, std::int64_t from, std::int64_t to) {
    const std::int64_t of_from = from / tile_rows * a.slabs * slab_vectors;
    const std::int64_t of_to = to / tile_rows * a.slabs * slab_vectors;
    const auto row_from = static_cast<int>(from % tile_rows);
    const auto row_to = static_cast<int>(to % tile_rows);
    for (std::int64_t c = simt.lane(); c < a.slabs * slab_chunks; c += simt::warp_size) {
      const std::int64_t slab = c / slab_chunks * slab_vectors;
      const auto in_slab = static_cast<int>(c % slab_chunks);
      simt.store(
          a.to.vectors.slabs, of_to + slab + place_in_slab(row_to, in_slab),
          simt.load(a.from.vectors.slabs, of_from + slab + place_in_slab(row_from, in_slab)));
    }
  }
};

}  // namespace kselect::search::fused
