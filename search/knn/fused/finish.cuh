#pragma once
// From survivors to answers. One block a query: gathers its survivors from the lists, computes
// their distances in float64, orders them by distance, then index, writes the first k, and judges.
//
// The judgement (docs/decisions/knn.md). Every vector that is no survivor has a score of at most
// the threshold t. Its scaled distance is then at least
//
//     sqrt(T) - error(x) - E,   T = |x|^2 - 2 t,
//
// where E is the usual error of the corpus if sqrt(T) is within its reach, else the largest. If the
// k-th survivor is nearer than that, the answer is proven. It is also proven, with all that the
// query may return, if the threshold is -inf: every admitted vector survived then. Otherwise the
// query is named, with the distance of its k-th survivor: no neighbour is farther, so a threshold
// that admits all vectors up to there is certain to be enough (again_kernel). Where a k-th
// neighbour is known from a search of other vectors, the nearer of both counts (known.cuh).

#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/bitonic.cuh"
#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"
#include "search/knn/fused/images.cuh"
#include "search/knn/fused/inner.cuh"

namespace kselect::search::fused {

// The rounded query and its threshold, for bounds.
struct query_facts {
  double square, error;
};

// How much a score may lack beyond the starts' share, because the query is longer than usual.
KSELECT_HD inline double lacking(const corpus_facts& c, const query_facts& x) {
  const double beyond = std::sqrt(x.square) - c.usual_norm;
  return beyond > 0 ? c.sum_error * beyond * c.largest_norm : 0;
}

// No vector with a score of at most `threshold` is nearer, in scaled images. Negative: unknown.
KSELECT_HD inline double nearest_left_out(const corpus_facts& c, const query_facts& x,
                                          double threshold) {
  const double rounding = 0x1p-45 * (x.square + 2 * std::fabs(threshold));
  const double square = x.square - 2 * threshold - 2 * lacking(c, x) - rounding;
  if (!(square >= 0)) return -1;
  const double root = std::sqrt(square);
  return root - x.error - (root <= c.reach ? c.usual_error : c.largest_error);
}

// The reverse: a threshold that every vector at most `distance` away exceeds. +inf if there is
// none: then nothing passes, and float64 decides.
KSELECT_HD inline float threshold_for(const corpus_facts& c, const query_facts& x,
                                      double distance) {
  double root = (distance * (1 + 1e-8) + x.error + c.usual_error) * (1 + 1e-8);
  if (!(root <= c.reach)) {
    root = (distance * (1 + 1e-8) + x.error + c.largest_error) * (1 + 1e-8);
  }
  double t = (x.square - root * root) / 2 - lacking(c, x);
  t -= 0x1p-20 * std::fabs(t) + 0x1p-44 * x.square;  // of float32, and of nearest_left_out
  return std::fabs(t) <= 1e38 ? static_cast<float>(t) : std::numeric_limits<float>::infinity();
}

// A ranked distance between scaled images. `unit`: of unit vectors, whose number is half a square.
KSELECT_HD inline double scaled(const corpus_facts& c, bool unit, double ranked) {
  return c.scale * std::sqrt(unit ? 2 * ranked : ranked);
}

// Where the answers of a search go. Query i's are in row i.
struct answers {
  global<std::int64_t> indices;  // [queries][k]
  global<float> distances;       // [queries][k]; no data: not wanted
  global<double> exact;          // [queries][k], as ranked; no data: not wanted
  std::int64_t k = 0;
  bool root = false;  // euclidean
};

template <class Simt>
KSELECT_HD void write_answer(Simt& simt, const answers& to, std::int64_t query, std::int64_t j,
                             double ranked, std::int64_t index) {
  const std::int64_t at = query * to.k + j;
  simt.store(to.indices, at, index);
  if (to.distances.data != nullptr) {
    simt.store(to.distances, at, static_cast<float>(to.root ? std::sqrt(ranked) : ranked));
  }
  if (to.exact.data != nullptr) simt.store(to.exact, at, ranked);
}

// Place j of a query that may return no more than j vectors.
template <class Simt>
KSELECT_HD void write_none(Simt& simt, const answers& to, std::int64_t query, std::int64_t j) {
  write_answer(simt, to, query, j, std::numeric_limits<double>::infinity(), -1);
}

// The queries that are not proven.
struct unproven {
  global<std::uint32_t> counts;  // [0]: how many; [1], [2]: all survivors, lower and upper 32 bits
  global<std::int32_t> ids;      // [rows]
  global<double> reach;          // [rows]: scaled distance of the k-th survivor or of a known k-th
                                 // neighbour, +inf if there are too few;
                                 // of inner products as in inner.cuh
};

// `products`: the metric is the inner product. Its distances have both signs.
template <bool products>
struct finish_kernel_of {
  static constexpr int max_threads = 256;
  struct storage {
    std::uint32_t count, lost;
  };
  struct args {
    image_source queries, corpus;
    numbering query_of, vector_of;         // row to query, position to vector
    survivor_lists first, second;          // of `first` only those beyond the threshold
    global<const double> squares, errors;  // of the rounded queries, by row
    global<const float> thresholds;
    global<const corpus_facts> facts;
    answers to;
    unproven left;
    std::uint32_t room;           // survivors of a query: a power of two
    std::int64_t first_own = -1;  // the vector that query 0 is, if each leaves itself out; -1
    inner_queries inner = {};
    global<const double> known = {};  // [queries], known.cuh; no data: nothing is known
  };
  using survivors = kernels::shared_list<std::uint64_t, true>;
  // Keys order distances. The bits of distances that are not negative do.
  KSELECT_HD static std::uint64_t key_of(double distance) {
    return products ? order_key(distance) : std::bit_cast<std::uint64_t>(distance);
  }
  KSELECT_HD static double distance_of_key(std::uint64_t key) {
    return products ? from_order_key<double>(key) : std::bit_cast<double>(key);
  }
  static constexpr std::size_t dynamic_bytes(std::uint32_t room, std::int64_t dimension) {
    return room * survivors::item_bytes + static_cast<std::size_t>(dimension) * sizeof(double);
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t row = simt.block();
    const std::int64_t query = a.query_of(simt, row);
    const auto list = survivors::at(simt.dynamic_shared(), a.room);
    if (simt.thread() == 0) shared = {0, 0};
    const image_row x = image_of(simt, a.queries, query);
    const double* const image = place_image(simt, a, x);
    simt.sync_block();
    gather(simt, shared, a, a.first, row, query, list);
    gather(simt, shared, a, a.second, row, query, list);
    simt.sync_block();
    const std::uint32_t count = shared.count < a.room ? shared.count : a.room;
    measure(simt, a, x, image, list, count);
    const auto size = static_cast<kernels::position>(kernels::next_power_of_two(count));
    for (auto i = count + static_cast<std::uint32_t>(simt.thread()); i < size;
         i += static_cast<std::uint32_t>(simt.threads())) {
      list.set(i, kernels::padding<std::uint64_t, true>());
    }
    kernels::network_on(simt, list, size).sort_runs(size);
    for (std::int64_t j = simt.thread(); j < a.to.k; j += simt.threads()) {
      if (j >= count) {
        write_none(simt, a.to, query, j);
        continue;
      }
      const auto item = list.get(static_cast<kernels::position>(j));
      write_answer(simt, a.to, query, j, distance_of_key(item.key), item.at);
    }
    if (simt.thread() == 0) judge(simt, shared, a, row, query, list, count);
  }

 private:
  // Appends the vectors of a row's segments. They come in no particular order.
  template <class Simt>
  KSELECT_HD static void gather(Simt& simt, storage& shared, const args& a,
                                const survivor_lists& from, std::int64_t row, std::int64_t query,
                                const survivors& list) {
    const bool scored = from.scores.data != nullptr;
    const float threshold = scored ? simt.load(a.thresholds, row) : 0;
    for (int split = simt.warp(); split < from.splits; split += simt.warps()) {
      const std::int64_t segment = row * from.splits + split;
      const std::uint32_t all = simt.load(from.counts, segment);
      const auto room = static_cast<std::uint32_t>(from.room);
      if (all > room && simt.lane() == 0) simt.atomic_max(shared.lost, 1);
      const std::uint32_t kept = all < room ? all : room;
      for (std::uint32_t first = 0; first < kept; first += simt::warp_size) {
        const std::uint32_t i = first + static_cast<std::uint32_t>(simt.lane());
        const std::int64_t at = segment * from.room + i;
        std::int64_t vector = -1;
        if (i < kept && (!scored || simt.load(from.scores, at) > threshold)) {
          vector = a.vector_of(simt, simt.load(from.positions, at));
        }
        if (a.first_own >= 0 && vector == a.first_own + query) vector = -1;
        append(simt, shared, a, vector, list);
      }
    }
  }
  template <class Simt>
  KSELECT_HD static void append(Simt& simt, storage& shared, const args& a, std::int64_t vector,
                                const survivors& list) {
    const std::uint32_t those = simt.ballot(simt::full_mask, vector >= 0);
    std::uint32_t place = 0;
    if (simt.lane() == 0) {
      place = simt.atomic_add(shared.count, static_cast<std::uint32_t>(simt.popc(those)));
    }
    place = simt.shfl(simt::full_mask, place, 0) +
            static_cast<std::uint32_t>(simt.popc(those & simt.lanemask_lt()));
    if (vector < 0) return;
    if (place < a.room) {
      list.positions[place] = static_cast<kernels::position>(vector);
    } else {
      simt.atomic_max(shared.lost, 1);
    }
  }

  // The query's image in float64, after the list in shared memory.
  template <class Simt>
  KSELECT_HD static double* place_image(Simt& simt, const args& a, const image_row& x) {
    auto* const image = reinterpret_cast<double*>(static_cast<std::byte*>(simt.dynamic_shared()) +
                                                  std::size_t{a.room} * survivors::item_bytes);
    for (std::int64_t c = simt.thread(); c < a.queries.dimension; c += simt.threads()) {
      image[c] = component(x, simt.load(x.raw, c));
    }
    return image;
  }

  // A warp measures several survivors at a time, so that their loads overlap. The sums are those of
  // share_of_difference, or of share_of_product, bit for bit.
  static constexpr int at_once = 4;
  template <class Simt>
  KSELECT_HD static void measure(Simt& simt, const args& a, const image_row& x, const double* image,
                                 const survivors& list, std::uint32_t count) {
    const auto step = static_cast<std::uint32_t>(simt.warps() * at_once);
    for (auto first = static_cast<std::uint32_t>(simt.warp() * at_once); first < count;
         first += step) {
      image_row y[at_once];
      double sums[at_once] = {};
      KSELECT_UNROLL for (int i = 0; i < at_once; ++i) {
        const std::uint32_t place = first + i < count ? first + i : count - 1;
        y[i] = image_of(simt, a.corpus, list.positions[place]);
      }
      if (a.corpus.dimension % 4 == 0) {
        add_shares<4>(simt, a, image, y, sums);
      } else {
        add_shares<1>(simt, a, image, y, sums);
      }
      KSELECT_UNROLL for (int i = 0; i < at_once; ++i) {
        const double sum = warp_sum(simt, sums[i]);
        const double distance =
            products ? ranked_product(sum) : ranked(sum, a.corpus.unit(), x, y[i]);
        if (simt.lane() == 0 && first + i < count) {
          list.keys[first + i] = key_of(distance);
        }
      }
    }
  }
  // The lane's shares of several squared differences, or products, by vectors of N components.
  template <int N, class Simt>
  KSELECT_HD static void add_shares(Simt& simt, const args& a, const double* image,
                                    const image_row (&y)[at_once], double (&sums)[at_once]) {
    const bool unit = a.corpus.unit();
    for (std::int64_t c = simt.lane(); c < a.corpus.dimension / N; c += simt::warp_size) {
      simt::vec<float, N> parts[at_once];
      KSELECT_UNROLL for (int i = 0; i < at_once; ++i) {
        parts[i] = simt.load(simt::as_vec<N>(y[i].raw), c);
      }
      KSELECT_UNROLL for (int e = 0; e < N; ++e) {
        const double of_x = image[N * c + e];
        KSELECT_UNROLL for (int i = 0; i < at_once; ++i) {
          double of_y = parts[i][e];
          if constexpr (products) {
            sums[i] = std::fma(of_x, of_y, sums[i]);
            continue;
          }
          if (unit) of_y = component(y[i], parts[i][e]);
          const double d = of_x - of_y;
          sums[i] = std::fma(d, d, sums[i]);
        }
      }
    }
  }

  // How far a neighbour may be: as the k-th survivor, or as a k-th that is known. +inf: any.
  template <class Simt>
  KSELECT_HD static double farthest_wanted(Simt& simt, const args& a, std::int64_t query,
                                           const survivors& list, std::uint32_t count) {
    double last = std::numeric_limits<double>::infinity();
    if (count >= a.to.k) last = distance_of_key(list.keys[a.to.k - 1]);
    if (a.known.data == nullptr) return last;
    const double known = simt.load(a.known, query);
    return known < last ? known : last;
  }

  template <class Simt>
  KSELECT_HD static void judge(Simt& simt, const storage& shared, const args& a, std::int64_t row,
                               std::int64_t query, const survivors& list, std::uint32_t count) {
    const corpus_facts facts = simt.load(a.facts, 0);
    const query_facts x{simt.load(a.squares, row), simt.load(a.errors, row)};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double farthest = infinity;
    const double last = farthest_wanted(simt, a, query, list, count);
    if (last < infinity) {
      if constexpr (products) {
        farthest = inner_reach(simt, a.inner, facts, x.error, query, last);
      } else {
        farthest = scaled(facts, a.corpus.unit(), last);
      }
    }
    const std::uint32_t before = simt.atomic_add(a.left.counts, 1, count);
    if (before + count < before) simt.atomic_add(a.left.counts, 2, 1);
    const float threshold = simt.load(a.thresholds, row);
    const bool all = threshold == -std::numeric_limits<float>::infinity();
    bool proven = false;
    if constexpr (products) {
      proven = farthest < -static_cast<double>(threshold);
    } else {
      proven = farthest * (1 + 1e-9) < nearest_left_out(facts, x, threshold);
    }
    if (shared.lost == 0 && (all || proven)) return;
    const auto place = static_cast<std::int64_t>(simt.atomic_add(a.left.counts, 0, 1));
    simt.store(a.left.ids, place, static_cast<std::int32_t>(query));
    simt.store(a.left.reach, place, farthest);
  }
};

using finish_kernel = finish_kernel_of<false>;

// Thresholds for queries that are done again: every vector up to their reach exceeds them. A query
// that found too few survivors has none; if it leaves vectors out, it may have no more, and all
// that it admits survive.
struct again_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> squares, errors;  // of the rounded queries, by row
    global<const double> reach;
    global<const corpus_facts> facts;
    global<float> thresholds;
    std::int64_t rows;
    bool leaves_out;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (row >= a.rows) return;
    const double reach = simt.load(a.reach, row);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (a.leaves_out && reach > std::numeric_limits<double>::max()) {
      return simt.store(a.thresholds, row, -infinity);
    }
    const query_facts x{simt.load(a.squares, row), simt.load(a.errors, row)};
    simt.store(a.thresholds, row, threshold_for(simt.load(a.facts, 0), x, reach));
  }
};

}  // namespace kselect::search::fused
