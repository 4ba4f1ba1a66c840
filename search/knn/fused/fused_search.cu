#include <algorithm>
#include <array>
#include <optional>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/exact.cuh"
#include "search/knn/fused/filter.cuh"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/prepare.cuh"
#include "search/knn/fused/sharpen.cuh"

namespace kselect::search::fused {
namespace {

constexpr std::array<std::string_view, 4> rankers = {"bms-block", "bms-warp", "qms-block", "auto"};
constexpr std::array<std::string_view, 2> settled = {"bms-block+stable", "bms-grid+stable"};
constexpr std::int64_t float64_bytes = std::int64_t{1} << 30;  // of distances held at once
constexpr std::int64_t most_by_float64 = 256;                  // queries at once

std::int64_t blocks_for(std::int64_t items, std::int64_t a_block) {
  return (items + a_block - 1) / a_block;
}

// Enqueues one pass of the filter: the kernel for short vectors keeps its queries in shared memory.
template <output wanted>
void filter(backend& place, const filter_args& args, int splits) {
  const auto with = [&]<class Kernel>(Kernel) {
    start<Kernel>(place, std::int64_t{args.query_tiles} * splits, args, Kernel::max_threads,
                  Kernel::dynamic_bytes(args.slabs));
  };
  if (args.slabs <= filter_kernel<wanted, true>::most_slabs_that_stay) {
    with(filter_kernel<wanted, true>{});
  } else {
    with(filter_kernel<wanted, false>{});
  }
}

}  // namespace

search_report& search_report::operator+=(const search_report& more) {
  queries += more.queries;
  survivors += more.survivors;
  again += more.again;
  by_float64 += more.by_float64;
  return *this;
}

// The lists of one pass.
struct list_memory {
  list_memory(backend& place, const pass_plan& pass, std::int64_t rows, bool scored)
      : splits(pass.splits), room(pass.room) {
    const std::int64_t segments = tiles_of(rows) * tile_rows * splits;
    counts = make<std::uint32_t>(place, segments);
    positions = make<std::uint32_t>(place, segments * room);
    if (scored) scores = make<float>(place, segments * room);
  }
  survivor_lists lists() const {
    return {view<std::uint32_t>(counts), view<std::uint32_t>(positions),
            scores.data() == nullptr ? global<float>{} : view<float>(scores), splits, room};
  }
  int splits, room;
  device_buffer counts, positions, scores;
};

// The buffers of one batch of queries. Row r of each is the batch's r-th query.
struct batch_memory {
  batch_memory(backend& place, std::int64_t rows, std::int64_t slabs)
      : padded(tiles_of(rows) * tile_rows),
        slabs_(make<chunk>(place, padded / tile_rows * slabs * slab_vectors)),
        squares(make<double>(place, padded)),
        errors(make<double>(place, padded)),
        thresholds(make<float>(place, padded)),
        counts(make<std::uint32_t>(place, 3)),
        ids(make<std::int32_t>(place, rows)),
        reach(make<double>(place, rows)) {}
  rounded queries() const {
    return {view<chunk>(slabs_), view<double>(squares), view<double>(errors)};
  }
  unproven left() const {
    return {view<std::uint32_t>(counts), view<std::int32_t>(ids), view<double>(reach)};
  }
  std::int64_t padded;
  device_buffer slabs_, squares, errors, thresholds, counts, ids, reach;
};

// The queries of one call, batch by batch.
class fused_search::work {
 public:
  work(const fused_search& search, const float* raw, std::int64_t count, std::int64_t first_own,
       const answers& to, const stage_clock& clock)
      : s_(search),
        place_(search.place_),
        corpus_(search.corpus_),
        plan_(search.plan_),
        images_(place_, raw, count, corpus_.dimension(), corpus_.measure()),
        first_own_(search.leaves_self_out_ ? first_own : -1),
        to_(to),
        clock_(clock) {}

  search_report run(std::int64_t first, std::int64_t rows) {
    report_ = {.queries = rows};
    numbering all{.ids = {}, .count = first + rows, .stride = 1};
    if (first != 0) all = numbered(first, rows);
    if (!plan_.filters()) {
      clock_(stage::by_float64, [&] { by_float64(all, rows); });
      report_.by_float64 = rows;
      return report_;
    }
    const std::int64_t left = filtered(all, rows);
    if (left == 0) return report_;
    report_.again = left;
    std::int64_t still = 0;
    const device_buffer ids = std::move(batch_->ids), reach = std::move(batch_->reach);
    const numbering some{.ids = view<const std::int32_t>(ids), .count = left, .stride = 1};
    clock_(stage::again, [&] { still = again(some, left, view<const double>(reach)); });
    if (still == 0) return report_;
    report_.by_float64 = still;
    const numbering last{.ids = view<const std::int32_t>(batch_->ids), .count = still, .stride = 1};
    clock_(stage::by_float64, [&] { by_float64(last, still); });
    return report_;
  }

 private:
  numbering numbered(std::int64_t first, std::int64_t rows) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(rows));
    for (std::int64_t i = 0; i < rows; ++i) {
      ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
    }
    batch_ids_ = make<std::int32_t>(place_, rows);
    place_.to_device(batch_ids_.data(), std::as_bytes(std::span(ids)));
    return {.ids = view<const std::int32_t>(batch_ids_), .count = rows, .stride = 1};
  }

  filter_args products_of(std::int64_t rows) const {
    filter_args args;
    args.queries = batch_->queries();
    args.corpus = corpus_.vectors();
    args.starts = corpus_.starts();
    args.thresholds = view<const float>(batch_->thresholds);
    args.rows = rows;
    args.slabs = static_cast<int>(slabs_of(corpus_.dimension()));
    args.query_tiles = static_cast<int>(tiles_of(rows));
    return args;
  }
  template <output wanted>
  void pass(std::int64_t rows, const pass_plan& over, const survivor_lists& lists) {
    filter_args args = products_of(rows);
    args.first_tile = static_cast<int>(over.first);
    args.last_tile = static_cast<int>(over.last);
    args.part = static_cast<int>(over.part);
    args.lists = lists;
    filter<wanted>(place_, args, over.splits);
  }

  void round(const numbering& queries, std::int64_t rows) {
    start<rounding_kernel>(place_, tiles_of(rows),
                           {images_.source(),
                            queries,
                            rows,
                            corpus_.centre(),
                            corpus_.facts(),
                            batch_->queries(),
                            {}});
  }

  // The first thresholds, from all scores of a few tiles.
  void rank_matrix(std::int64_t rows) {
    const std::int64_t columns = plan_.matrix_tiles * tile_rows;
    const device_buffer matrix = make<float>(place_, batch_->padded * columns);
    filter_args args = products_of(rows);
    args.last_tile = static_cast<int>(plan_.matrix_tiles);
    const pass_plan cut = plan_pass(0, plan_.matrix_tiles, rows, 0, place_.description());
    args.part = static_cast<int>(cut.part);
    args.matrix = view<float>(matrix);
    args.matrix_pitch = columns;
    filter<output::matrix>(place_, args, cut.splits);
    problem p;
    p.q = rows;
    p.n = columns;
    p.k = plan_.matrix_rank;
    p.direction = direction::largest;
    p.payload = payload::kth_value;
    const chosen_selection ranking(place_, p, rankers);
    ranking.run(place_, {.input = matrix.data(), .values = batch_->thresholds.data()});
  }

  void finish(const numbering& queries, std::int64_t rows, const survivor_lists& first,
              const survivor_lists& second, std::uint32_t room) {
    constexpr std::array<std::uint32_t, 3> none{};
    place_.to_device(batch_->counts.data(), std::as_bytes(std::span(none)));
    finish_kernel::args args{.queries = images_.source(),
                             .corpus = corpus_.source(),
                             .query_of = queries,
                             .vector_of = corpus_.order(),
                             .first = first,
                             .second = second,
                             .squares = view<const double>(batch_->squares),
                             .errors = view<const double>(batch_->errors),
                             .thresholds = view<const float>(batch_->thresholds),
                             .facts = corpus_.facts(),
                             .to = to_,
                             .left = batch_->left(),
                             .room = room,
                             .first_own = first_own_};
    start<finish_kernel>(place_, rows, args, finish_kernel::max_threads,
                         finish_kernel::dynamic_bytes(room));
  }
  // How many queries the last finish() left unproven.
  std::int64_t count_unproven(std::int64_t* survivors) {
    std::array<std::uint32_t, 3> counts{};
    place_.to_host(std::as_writable_bytes(std::span(counts)), batch_->counts.data());
    if (survivors != nullptr) *survivors += counts[1] | std::int64_t{counts[2]} << 32;
    return counts[0];
  }

  std::int64_t filtered(const numbering& queries, std::int64_t rows) {
    batch_.emplace(place_, rows, slabs_of(corpus_.dimension()));
    std::optional<list_memory> first;
    if (plan_.first.tiles() != 0) first.emplace(place_, plan_.first, rows, true);
    const list_memory second(place_, plan_.second, rows, false);
    clock_(stage::round, [&] { round(queries, rows); });
    clock_(stage::threshold, [&] {
      rank_matrix(rows);
      if (!first) return;
      pass<output::scored>(rows, plan_.first, first->lists());
      start<sharpen_kernel>(place_, rows,
                            {first->lists(), static_cast<std::uint32_t>(plan_.first_rank),
                             view<float>(batch_->thresholds)});
    });
    clock_(stage::product, [&] { pass<output::positions>(rows, plan_.second, second.lists()); });
    clock_(stage::finish, [&] {
      finish(queries, rows, first ? first->lists() : survivor_lists{}, second.lists(),
             plan_.finish_room);
    });
    return count_unproven(&report_.survivors);
  }

  // Filters with thresholds that are certain to be low enough. Returns how many are still unproven.
  std::int64_t again(const numbering& queries, std::int64_t rows, global<const double> reach) {
    constexpr std::uint32_t room = 4096;
    batch_.emplace(place_, rows, slabs_of(corpus_.dimension()));
    round(queries, rows);
    start<again_kernel>(place_, blocks_for(rows, again_kernel::max_threads),
                        {view<const double>(batch_->squares), view<const double>(batch_->errors),
                         reach, corpus_.facts(), view<float>(batch_->thresholds), rows});
    const pass_plan over =
        plan_pass(0, tiles_of(corpus_.count()), rows, room / 3.0, place_.description());
    const list_memory lists(place_, over, rows, false);
    pass<output::positions>(rows, over, lists.lists());
    finish(queries, rows, {}, lists.lists(), room);
    return count_unproven(nullptr);
  }

  void by_float64(const numbering& queries, std::int64_t rows) {
    const std::int64_t n = corpus_.count();
    const std::int64_t fits = float64_bytes / (n * static_cast<std::int64_t>(sizeof(double)));
    const std::int64_t at_once = std::min(rows, std::clamp<std::int64_t>(fits, 1, most_by_float64));
    const device_buffer distances = make<double>(place_, at_once * n);
    const device_buffer values = make<double>(place_, at_once * to_.k);
    const device_buffer indices = make<std::int32_t>(place_, at_once * to_.k);
    for (std::int64_t first = 0; first < rows; first += at_once) {
      const std::int64_t count = std::min(at_once, rows - first);
      std::optional<device_buffer> slice;
      const numbering some = part_of(queries, first, count, slice);
      measure(some, count, view<double>(distances));
      problem p;
      p.q = count;
      p.n = n;
      p.k = to_.k;
      p.type = dtype::float64;
      const chosen_selection nearest(place_, p, settled);
      nearest.run(place_, {distances.data(), values.data(), indices.data()});
      start<place_kernel>(
          place_, blocks_for(count * to_.k, place_kernel::max_threads),
          {some, count, view<const double>(values), view<const std::int32_t>(indices), to_});
      require(place_.synchronise());
    }
  }
  // Queries [first, first + count) of these.
  numbering part_of(const numbering& of, std::int64_t first, std::int64_t count,
                    std::optional<device_buffer>& slice) {
    if (of.ids.data != nullptr) {
      return {.ids = {of.ids.data + first, count}, .count = count, .stride = 1};
    }
    if (first == 0) return of;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
    }
    slice.emplace(make<std::int32_t>(place_, count));
    place_.to_device(slice->data(), std::as_bytes(std::span(ids)));
    return {.ids = view<const std::int32_t>(*slice), .count = count, .stride = 1};
  }
  void measure(const numbering& queries, std::int64_t rows, global<double> distances) {
    exact_kernel::args args{.queries = images_.source(),
                            .corpus = corpus_.source(),
                            .query_of = queries,
                            .rows = rows,
                            .count = corpus_.count(),
                            .vectors_a_block = 256,
                            .distances = distances,
                            .first_own = first_own_};
    start<exact_kernel>(
        place_,
        blocks_for(rows, exact_kernel::together) * blocks_for(args.count, args.vectors_a_block),
        args);
  }

  const fused_search& s_;
  backend& place_;
  const prepared_corpus& corpus_;
  const search_plan& plan_;
  vector_images images_;
  const std::int64_t first_own_;
  const answers to_;
  const stage_clock& clock_;
  std::optional<batch_memory> batch_;
  device_buffer batch_ids_;
  search_report report_;
};

fused_search::fused_search(backend& place, const prepared_corpus& corpus, std::int64_t queries,
                           std::int64_t k, bool leaves_self_out)
    : place_(place),
      corpus_(corpus),
      k_(k),
      leaves_self_out_(leaves_self_out),
      plan_(plan_search({.n = corpus.count(),
                         .q = queries,
                         .dimension = corpus.dimension(),
                         .k = k + (leaves_self_out ? 1 : 0)},
                        place.description())) {}

search_report fused_search::run(const float* raw, std::int64_t count, std::int64_t first_own,
                                const answers& to, const stage_clock& clock) {
  search_report all;
  if (count == 0) return all;
  work calls(*this, raw, count, first_own, to, clock);
  for (std::int64_t first = 0; first < count; first += plan_.rows) {
    all += calls.run(first, std::min(plan_.rows, count - first));
  }
  return all;
}

}  // namespace kselect::search::fused
