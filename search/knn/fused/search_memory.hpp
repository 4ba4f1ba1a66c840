#pragma once
// What a fused search holds in a backend's memory (fused_search.cu).

#include <optional>
#include <vector>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/filter_args.cuh"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/half_order.cuh"
#include "search/knn/fused/memory_plan.hpp"

namespace kselect::search::fused {

// The lists of one pass.
struct list_memory {
  list_memory(backend& place, const pass_plan& pass, std::int64_t rows)
      : sizes(list_sizes::of(pass, rows)),
        counts(make<std::uint32_t>(place, sizes.lists)),
        positions(make<std::uint32_t>(place, sizes.entries)),
        scores(make<float>(place, sizes.entries)) {}
  // Of that pass, or of one for fewer rows.
  survivor_lists lists(const pass_plan& pass) const {
    return {view<std::uint32_t>(counts), view<std::uint32_t>(positions), view<float>(scores),
            pass.splits, pass.room};
  }
  list_sizes sizes;
  device_buffer counts, positions, scores;
};

// The buffers of one batch of queries. Row r of each is the batch's r-th query.
struct batch_memory {
  // `named`: queries that may be unproven.
  batch_memory(backend& place, std::int64_t rows, std::int64_t slabs, std::int64_t named)
      : padded(tiles_of(rows) * tile_rows),
        slabs_(make<chunk>(place, padded / tile_rows * slabs * slab_vectors)),
        squares(make<double>(place, padded)),
        errors(make<double>(place, padded)),
        thresholds(make<float>(place, padded)),
        counts(make<std::uint32_t>(place, 3)),
        ids(make<std::int32_t>(place, named)),
        reach(make<double>(place, named)) {}
  // The rounded queries, by row.
  rounded queries() const {
    if (is_lent()) return lent;
    return {view<chunk>(slabs_), view<double>(squares), view<double>(errors)};
  }
  bool is_lent() const { return lent.slabs.data != nullptr; }
  unproven left() const {
    return {view<std::uint32_t>(counts), view<std::int32_t>(ids), view<double>(reach)};
  }
  std::int64_t padded;
  rounded lent;  // a corpus, if its vectors are the queries: they are rounded already
  device_buffer slabs_, squares, errors, thresholds, counts, ids, reach;
};

// Unproven queries from `first` on.
inline numbering named(const device_buffer& ids, std::int64_t first, std::int64_t count) {
  return {.ids = {view<const std::int32_t>(ids).data + first, count}, .count = count, .stride = 1};
}

// What queries that are done again take. Lists of a few, at most those of a tile, stay for later
// searches; but not beside others or float64 distances, since memory is planned for one of these.
struct again_memory {
  again_memory(backend& place, std::int64_t queries, std::int64_t slabs)
      : rows(queries), batch(place, queries, slabs, queries) {}
  std::int64_t rows;
  batch_memory batch;
  std::optional<list_memory> lists;
};

// What a graph by half of the products has of every position (half.cuh), and of every position in
// the order of limits (half_order.cuh).
struct half_memory {
  // Limits, starts and offsets of positions.
  struct sides {
    sides(backend& place, std::int64_t padded)
        : limits(make<float>(place, padded)),
          starts(make<float>(place, padded)),
          offsets(make<double>(place, padded)) {}
    device_buffer limits, starts, offsets;
  };
  half_memory(backend& place, const prepared_corpus& corpus, const half_plan& plan,
              bool shared = false)
      : padded(tiles_of(corpus.count()) * tile_rows),
        slabs(slabs_of(corpus.dimension(), corpus.factors())),
        room(plan.room),
        given(place, padded),
        ordered(place, padded),
        slabs_(make<chunk>(place, padded / tile_rows * slabs * slab_vectors)),
        squares(make<double>(place, padded)),
        errors(make<double>(place, padded)),
        bounds(make<float>(place, padded)),
        ids(make<std::int32_t>(place, corpus.count())),
        range(make<std::uint32_t>(place, 2)),
        bucket_counts(make<std::uint32_t>(place, limit_buckets::count)),
        bucket_least(make<std::uint32_t>(place, limit_buckets::count)),
        facts(make<corpus_facts>(place, 1)),
        counts(make<std::uint32_t>(place, padded)),
        positions(make<std::uint32_t>(place, padded * room)),
        scores(make<float>(place, padded * room)) {
    if (!shared) return;
    places = make<std::uint32_t>(place, corpus.count());
  }
  // Enqueues starts, offsets and facts of the sums, empty lists, and zeros to `unproven`.
  void begin(backend& place, const prepared_corpus& corpus,
             global<std::uint32_t> unproven = {}) const;
  // Enqueues limits from the thresholds that given.limits holds, and the order by them. Where the
  // pairs are shared, waits for the limits and gives all vectors their places.
  void order(backend& place, const prepared_corpus& corpus);
  // The vectors in that order.
  rounded vectors() const {
    return {view<chunk>(slabs_), view<double>(squares), view<double>(errors)};
  }
  numbering vector_of(std::int64_t count) const {
    return {.ids = {view<const std::int32_t>(ids).data, count}, .count = count};
  }
  // Sets what a filter of pairs reads of the vectors in that order.
  void give(filter_args& args) const {
    args.queries = args.corpus = vectors();
    args.starts = view<const float>(ordered.starts);
    args.thresholds = view<const float>(ordered.limits);
    args.bounds = view<const float>(bounds);
    args.lists = lists();
  }
  survivor_lists lists() const {
    return {view<std::uint32_t>(counts), view<std::uint32_t>(positions), view<float>(scores), 1,
            room};
  }
  limit_buckets buckets() const {
    return {view<std::uint32_t>(range), view<std::uint32_t>(bucket_counts),
            view<std::uint32_t>(bucket_least)};
  }
  std::int64_t padded, slabs;
  int room;
  sides given, ordered;
  device_buffer slabs_, squares, errors, bounds, ids;  // in the order of limits
  device_buffer range, bucket_counts, bucket_least;
  device_buffer facts, counts, positions, scores;
  // Of a share of the pairs alone.
  device_buffer places;              // by position
  std::vector<float> limits_of_all;  // by position

 private:
  void give_places(backend& place);
};

struct fused_search::memory {
  memory(backend& place, const prepared_corpus& corpus, std::int64_t queries,
         const search_plan& plan, const search_options& options)
      : images(place, queries, corpus.dimension(), corpus.measure()) {
    if (!plan.filters()) return;
    const bool shared = plan.half.taken() && options.share.of > 1;
    if (shared || options.wanted != 0) certain = make<double>(place, queries);
    if (corpus.measure() == metric::inner_product) {
      directions.emplace(place, queries, corpus.dimension(), metric::cosine);
      offsets = make<double>(place, queries);
    }
    batch.emplace(place, plan.rows, slabs_of(corpus.dimension(), corpus.factors()), queries);
    if (options.leaves_out == filtering::one) {
      starts = make<float>(place, tiles_of(corpus.count()) * tile_rows);
    }
    if (plan.first.tiles() != 0) first.emplace(place, plan.first, plan.rows);
    if (plan.half.taken()) {
      half.emplace(place, corpus, plan.half, shared);
    } else {
      second.emplace(place, plan.second, plan.rows);
    }
    matrix = make<float>(place, batch->padded * plan.columns());
    problem p;
    p.q = plan.rows;
    p.n = plan.columns();
    p.k = plan.matrix_rank;
    p.direction = direction::largest;
    p.payload = payload::kth_value;
    ranking.emplace(place, p, rankers);
    if (queries % plan.rows != 0) ranking->prepare(place, queries % plan.rows);
    ranking->prepare(place, plan.rows);
  }
  // For a pass over so many queries that are done again.
  again_memory& again_for(backend& place, const pass_plan& pass, std::int64_t rows,
                          std::int64_t slabs) {
    if (again && again->rows < rows) again.reset();
    if (!again) again.emplace(place, rows < tile_rows ? tile_rows : rows, slabs);
    if (rows > tile_rows) again->lists.reset();
    if (!again->lists) again->lists.emplace(place, pass, rows);
    return *again;
  }

  vector_images images;
  std::optional<vector_images> directions;  // of the inner product's queries
  device_buffer offsets;
  std::optional<batch_memory> batch;
  std::optional<list_memory> first, second;
  std::optional<again_memory> again;  // once a query was done again
  std::optional<half_memory> half;
  device_buffer starts;   // of a search whose queries all leave the same out
  device_buffer certain;  // of a search that leaves some uncertain, by query (certain.cuh)
  device_buffer matrix;
  std::optional<chosen_selection> ranking;
};

}  // namespace kselect::search::fused
