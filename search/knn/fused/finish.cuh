#pragma once
// From survivors to answers. One block a query: gathers its survivors from the lists, computes the
// distances of those that may be neighbours in float64, orders these by distance, then index,
// writes the first k, and judges.
//
// Those with the best scores are measured first (survivors.cuh). No neighbour is farther than the
// k-th of them, so the threshold that all vectors up to there exceed leaves out none: of the other
// survivors only those beyond it are measured, and the judgement is by this threshold.
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
// Scores of a graph by half of the products are lower by an offset of the query's (half.cuh).

#include <cmath>
#include <cstddef>
#include <limits>

#include "kselect/order.hpp"
#include "kselect/simt/launch.hpp"
#include "search/knn/fused/bounds.cuh"
#include "search/knn/fused/plan.hpp"
#include "search/knn/fused/survivor_distances.cuh"
#include "search/knn/fused/survivors.cuh"

namespace kselect::search::fused {

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

struct finish_args {
  image_source queries, corpus;
  numbering query_of, vector_of;         // row to query, position to vector
  survivor_lists first, second;          // only what is beyond the threshold counts
  global<const double> squares, errors;  // of the rounded queries, by row
  global<const float> thresholds;
  global<const corpus_facts> facts;
  byte_rows bytes = {};
  answers to;
  unproven left;
  finish_room room;
  std::int64_t first_own = -1;  // the vector that query 0 is, if each leaves itself out; -1
  inner_queries inner = {};
  global<const double> known = {};  // [queries], known.cuh; no data: nothing is known
  // [rows]: by how much the scores in lists, and thresholds, lie below those of the bound
  // (half.cuh); no data: by nothing.
  global<const double> offsets = {};
};

// `products`: the metric is the inner product. Its distances have both signs.
template <bool products>
struct finish_kernel_of {
  static constexpr int max_threads = 256;
  static constexpr int min_blocks = 4;  // a block waits most of its time
  using storage = gathered;
  using args = finish_args;
  using distances = kernels::shared_list<std::uint64_t, true>;
  // Keys order distances. The bits of distances that are not negative do.
  KSELECT_HD static std::uint64_t key_of(double distance) {
    return products ? order_key(distance) : std::bit_cast<std::uint64_t>(distance);
  }
  KSELECT_HD static double distance_of_key(std::uint64_t key) {
    return products ? from_order_key<double>(key) : std::bit_cast<double>(key);
  }
  static constexpr std::size_t dynamic_bytes(const finish_room& room, std::int64_t dimension,
                                             int slabs_of_bytes) {
    return room.measured * distances::item_bytes +
           byte_rows::chunks_of_query(slabs_of_bytes) * sizeof(chunk) +
           static_cast<std::size_t>(dimension) * sizeof(double) +
           room.survivors * (sizeof(std::uint32_t) + sizeof(float));
  }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const query_at at{simt.block(), a.query_of(simt, simt.block()),
                      simt.load(a.thresholds, simt.block())};
    const memory here = memory_of(simt, a);
    shared.clear(simt);
    const image_row x = image_of(simt, a.queries, at.query);
    const bool exact_bytes =
        !products && a.bytes.slabs != 0 && simt.load(a.facts, 0).largest_error == 0;
    const byte_distances<Simt> bytes(simt, a.bytes, exact_bytes, here.query_bytes);
    // Nothing is measured by images if the query is exact, too.
    if (!exact_bytes || simt.load(a.errors, at.row) != 0) here.image.place(simt, x);
    bytes.place(at.row, a.squares, a.errors);
    simt.sync_block();
    collect(simt, shared, a.first, at.row, at.threshold, here.all);
    collect(simt, shared, a.second, at.row, at.threshold, here.all);
    simt.sync_block();
    const std::uint32_t count = shared.count < a.room.survivors ? shared.count : a.room.survivors;
    const best_scores best = best_of(simt, shared, here.all, count, wanted_first(a), at.threshold,
                                     highest_score(simt, a, at.row));
    const auto take = [&](const auto& wants) {
      append(simt, shared, a, at.query, here, count, wants);
    };
    take([&](float score) { return best.has(score); });
    const survivor_distances<products, Simt> to_query(simt, a.corpus, x, here.image, bytes);
    std::uint32_t measured = measure_from(simt, shared, a, to_query, here, 0);
    float threshold = at.threshold;
    if (!best.all()) {
      threshold = raised(simt, a, at, here.list, measured);
      take([&](float score) { return !best.has(score) && score > threshold; });
      measured = measure_from(simt, shared, a, to_query, here, measured);
    }
    write(simt, a.to, at.query, here.list, measured);
    if (simt.thread() == 0) judge(simt, shared, a, {at.row, at.query, threshold}, here, measured);
  }

 private:
  struct query_at {
    std::int64_t row, query;
    float threshold;
  };
  // What lies in dynamic shared memory.
  struct memory {
    distances list;
    chunk* query_bytes;
    query_image image;
    scored_list all;
  };
  template <class Simt>
  KSELECT_HD static memory memory_of(Simt& simt, const args& a) {
    const std::uint32_t survivors = a.room.survivors, most = a.room.measured;
    memory here{};
    here.list.keys = static_cast<std::uint64_t*>(simt.dynamic_shared());
    here.query_bytes = reinterpret_cast<chunk*>(here.list.keys + most);
    here.image = {
        reinterpret_cast<double*>(here.query_bytes + byte_rows::chunks_of_query(a.bytes.slabs)),
        a.queries.dimension};
    here.list.positions =
        reinterpret_cast<kernels::position*>(here.image.components + a.queries.dimension);
    here.all = {here.list.positions + most,
                reinterpret_cast<float*>(here.list.positions + most + survivors), survivors};
    return here;
  }

  // A few more than k, and the query's own vector.
  KSELECT_HD static std::uint32_t wanted_first(const args& a) {
    const std::int64_t wanted = a.to.k + a.to.k / 16 + (a.first_own >= 0 ? 5 : 4);
    return static_cast<std::uint32_t>(wanted);
  }
  // A vector at the place of the query has about this score.
  template <class Simt>
  KSELECT_HD static float highest_score(Simt& simt, const args& a, std::int64_t row) {
    if constexpr (products) return std::numeric_limits<float>::infinity();
    return static_cast<float>(simt.load(a.squares, row) / 2 - offset_of(simt, a, row));
  }

  // Appends the vectors of survivors whose score is wanted, with their positions as keys.
  template <class Simt, class Wants>
  KSELECT_HD static void append(Simt& simt, storage& shared, const args& a, std::int64_t query,
                                const memory& here, std::uint32_t count, const Wants& wants) {
    for (auto first = static_cast<std::uint32_t>(simt.warp() * simt::warp_size); first < count;
         first += static_cast<std::uint32_t>(simt.threads())) {
      const std::uint32_t i = first + static_cast<std::uint32_t>(simt.lane());
      std::int64_t vector = -1;
      if (i < count && wants(here.all.scores[i])) {
        vector = a.vector_of(simt, here.all.positions[i]);
        if (a.first_own >= 0 && vector == a.first_own + query) vector = -1;
      }
      const std::uint32_t place = place_to_append(simt, shared.measured, vector >= 0);
      if (vector < 0) continue;
      if (place < a.room.measured) {
        here.list.positions[place] = static_cast<kernels::position>(vector);
        here.list.keys[place] = here.all.positions[i];
      } else {
        simt.atomic_max(shared.lost, 1);
      }
    }
  }

  // Measures what was appended after the first `before`, and orders all. Returns how many there
  // are.
  template <class Simt>
  KSELECT_HD static std::uint32_t measure_from(Simt& simt, storage& shared, const args& a,
                                               const survivor_distances<products, Simt>& to_query,
                                               const memory& here, std::uint32_t before) {
    simt.sync_block();
    const std::uint32_t most = a.room.measured;
    const std::uint32_t count = shared.measured < most ? shared.measured : most;
    if (count == before) return count;
    to_query.measure(here.list.positions, here.list.keys, before, count,
                     [](double distance) { return key_of(distance); });
    order_survivors(simt, here.list, count, shared);
    return count;
  }

  // The first k of the measured vectors, or all, if they are fewer.
  template <class Simt>
  KSELECT_HD static void write(Simt& simt, const answers& to, std::int64_t query,
                               const distances& list, std::uint32_t measured) {
    for (std::int64_t j = simt.thread(); j < to.k; j += simt.threads()) {
      if (j >= measured) {
        write_none(simt, to, query, j);
        continue;
      }
      const auto item = list.get(static_cast<kernels::position>(j));
      write_answer(simt, to, query, j, distance_of_key(item.key), item.at);
    }
  }

  // The threshold that all vectors up to the k-th measured one exceed, if that is higher.
  template <class Simt>
  KSELECT_HD static float raised(Simt& simt, const args& a, const query_at& at,
                                 const distances& list, std::uint32_t measured) {
    const double last = farthest_wanted(simt, a, at.query, list, measured);
    if (!(last <= std::numeric_limits<double>::max())) return at.threshold;
    const query_facts x{simt.load(a.squares, at.row), simt.load(a.errors, at.row)};
    const float higher = threshold_up_to<products>(simt, a.inner, simt.load(a.facts, 0), x,
                                                   at.query, a.corpus.unit(), last);
    if (!(higher < std::numeric_limits<float>::infinity())) return at.threshold;
    const float here = threshold_of_lists(higher, offset_of(simt, a, at.row));
    return here > at.threshold ? here : at.threshold;
  }

  template <class Simt>
  KSELECT_HD static double offset_of(Simt& simt, const args& a, std::int64_t row) {
    return a.offsets.data == nullptr ? 0 : simt.load(a.offsets, row);
  }

  // How far a neighbour may be: as the k-th survivor, or as a k-th that is known. +inf: any.
  template <class Simt>
  KSELECT_HD static double farthest_wanted(Simt& simt, const args& a, std::int64_t query,
                                           const distances& list, std::uint32_t count) {
    double last = std::numeric_limits<double>::infinity();
    if (count >= a.to.k) last = distance_of_key(list.keys[a.to.k - 1]);
    if (a.known.data == nullptr) return last;
    const double known = simt.load(a.known, query);
    return known < last ? known : last;
  }

  template <class Simt>
  KSELECT_HD static void judge(Simt& simt, const storage& shared, const args& a, const query_at& at,
                               const memory& here, std::uint32_t measured) {
    const corpus_facts facts = simt.load(a.facts, 0);
    const query_facts x{simt.load(a.squares, at.row), simt.load(a.errors, at.row)};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double farthest = infinity;
    const double last = farthest_wanted(simt, a, at.query, here.list, measured);
    if (last < infinity) {
      if constexpr (products) {
        farthest = inner_reach(simt, a.inner, facts, x.error, at.query, last);
      } else {
        farthest = scaled(facts, a.corpus.unit(), last);
      }
    }
    const std::uint32_t before = simt.atomic_add(a.left.counts, 1, shared.count);
    if (before + shared.count < before) simt.atomic_add(a.left.counts, 2, 1);
    const bool all = at.threshold == -std::numeric_limits<float>::infinity();
    bool proven = false;
    if constexpr (products) {
      proven = farthest < -static_cast<double>(at.threshold);
    } else {
      const double bounded = threshold_of_bound(at.threshold, offset_of(simt, a, at.row));
      proven = farthest * (1 + 1e-9) < nearest_left_out(facts, x, bounded);
    }
    if (shared.lost == 0 && (all || proven)) return;
    const auto place = static_cast<std::int64_t>(simt.atomic_add(a.left.counts, 0, 1));
    simt.store(a.left.ids, place, static_cast<std::int32_t>(at.query));
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
