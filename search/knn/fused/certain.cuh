#pragma once
// What is certain of an answer where one search does not prove it. A vector nearer than what the
// threshold leaves out is certain to be in the answer of the search that met it. A merge of several
// searches' answers shows whether that is enough.
//
// The first case: a graph's pairs of tiles are dealt to several searches of the same corpus
// (half_pairs.cuh), on a GPU each. Thresholds come from the whole corpus and are the same for all,
// and so is the order by them (half_memory). Then each pair is met by one search. The lists of one
// search hold what it met, so they may lack neighbours.
//
// The second: parts of a corpus are searched by ranks (search/knn/tiled). Of k neighbours each part
// has a few. Its search has thresholds for these, and its answers end where they are not certain.

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/bounds.cuh"
#include "search/knn/fused/finish.cuh"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {

// Writes how near a vector must be so that it certainly was found, as ranked; 0 if nothing is
// certain: finish_kernel then names the vector as unproven. It takes the number for a known
// distance: what is farther is not wanted.
struct certain_distance_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> squares, errors;  // of the rounded queries, by row
    global<const float> thresholds;        // by row; of sums that lie lower by `offsets`
    global<const double> offsets;          // by row; no data: by nothing
    global<const corpus_facts> facts;
    numbering query_of;  // row to query
    std::int64_t count;
    bool unit;
    global<double> certain;  // by query
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t row = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (row >= a.count) return;
    const corpus_facts facts = simt.load(a.facts, 0);
    const query_facts x{simt.load(a.squares, row), simt.load(a.errors, row)};
    const double offset = a.offsets.data == nullptr ? 0 : simt.load(a.offsets, row);
    const double threshold = threshold_of_bound(simt.load(a.thresholds, row), offset);
    // A little less, so that finish_kernel finds it proven.
    const double nearest = nearest_left_out(facts, x, threshold) * (1 - 4e-9) / facts.scale;
    const double ranked = nearest > 0 ? nearest * nearest / (a.unit ? 2 : 1) : 0;
    simt.store(a.certain, a.query_of(simt, row), ranked);
  }
};

// Nothing is certain of queries whose list ran over. These are named.
struct none_certain_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const std::uint32_t> counts;  // [0]: how many are named
    global<const std::int32_t> ids;
    global<double> certain;
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= simt.load(a.counts, 0)) return;
    simt.store(a.certain, simt.load(a.ids, i), -1);
  }
};

// How many of each vector's answers are near enough to be certain.
struct count_certain_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> certain;  // [count]
    global<const double> exact;    // [count][k], in order
    std::int64_t count, k;
    global<std::int32_t> counts;  // [count]
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.count) return;
    const double certain = simt.load(a.certain, i);
    std::int32_t found = 0;
    while (found < a.k && simt.load(a.exact, i * a.k + found) <= certain) ++found;
    simt.store(a.counts, i, found);
  }
};

// Ends each answer where it is not certain: index -1 and infinity from there on. A thread a place.
struct only_certain_kernel {
  struct storage {};
  static constexpr int max_threads = 256;
  struct args {
    global<const double> certain;  // by query
    answers to;                    // with `exact`
    std::int64_t count;            // of queries
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::int64_t i = std::int64_t{simt.block()} * simt.threads() + simt.thread();
    if (i >= a.count * a.to.k) return;
    const std::int64_t query = i / a.to.k;
    if (simt.load(a.to.exact, i) <= simt.load(a.certain, query)) return;
    write_none(simt, a.to, query, i % a.to.k);
  }
};

// These three enqueue. After this one, what is farther than a certain distance is not wanted.
inline void find_certain(backend& place, finish_args& args, std::int64_t rows,
                         global<double> certain) {
  start<certain_distance_kernel>(place, blocks_for(rows, certain_distance_kernel::max_threads),
                                 {args.squares, args.errors, args.thresholds, args.offsets,
                                  args.facts, args.query_of, rows, args.corpus.unit(), certain});
  args.known = certain;
}
// At most `most` are named.
inline void none_certain(backend& place, const unproven& named, std::int64_t most,
                         global<double> certain) {
  if (most == 0) return;
  start<none_certain_kernel>(place, blocks_for(most, none_certain_kernel::max_threads),
                             {named.counts, named.ids, certain});
}
inline void only_certain(backend& place, const answers& to, std::int64_t queries,
                         global<double> certain) {
  start<only_certain_kernel>(place, blocks_for(queries * to.k, only_certain_kernel::max_threads),
                             {certain, to, queries});
}

}  // namespace kselect::search::fused
