#include <algorithm>
#include <array>

#include "search/knn/fused/admitted.cuh"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/certain.cuh"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/float64_search.cuh"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/half.cuh"
#include "search/knn/fused/inner.cuh"
#include "search/knn/fused/known.cuh"
#include "search/knn/fused/prepare.cuh"
#include "search/knn/fused/search_memory.hpp"
#include "search/knn/fused/sharpen.cuh"

namespace kselect::search::fused {
// The queries of one call, batch by batch.
class fused_search::work {
 public:
  work(const fused_search& search, const float* raw, std::int64_t count, std::int64_t first_own,
       const answers& to, const stage_clock& clock, const admitted& allowed,
       global<const double> known)
      : place_(search.place_),
        corpus_(search.corpus_),
        plan_(search.plan_),
        memory_(*search.memory_),
        options_(search.options_),
        count_(count),
        first_own_(search.leaves_self_out_ ? first_own : -1),
        allowed_(allowed),
        known_(known),
        to_(to),
        clock_(clock),
        starts_(corpus_.starts()) {
    // Filters of each query take the query's number from its row (filter_wgmma.cu).
    const std::int64_t batch = allowed.each() ? 0 : plan_.rows;
    if (plan_.filters()) memory_.batch->lent = corpus_.lent_as(raw, count, batch);
    clock(stage::round, [&] {
      queries_ = memory_.images.of(place_, raw, count);
      rounded_from_ = queries_;
      if (memory_.directions) take_directions(raw);
      if (plan_.filters() && !allowed.all() && !allowed.each()) leave_out_of_all();
    });
  }

  // Enqueues the filtering of all queries, batch by batch.
  void enqueue() {
    if (!plan_.filters()) return;
    if (plan_.half.taken()) {
      filtered_by_pairs();
    } else if (memory_.batch->is_lent()) {
      filtered(corpus_.order(), count_, true);
    } else {
      for (std::int64_t first = 0; first < count_; first += plan_.rows) {
        const std::int64_t rows = std::min(plan_.rows, count_ - first);
        filtered({.ids = {}, .count = rows, .stride = 1, .first = first}, rows, first == 0);
      }
    }
    if (!leaves_uncertain()) return;
    clock_(stage::finish, [&] {
      const global<double> certain = view<double>(memory_.certain);
      none_certain(place_, memory_.batch->left(), count_, certain);
      if (options_.wanted != 0) only_certain(place_, to_, count_, certain);
    });
  }
  std::int64_t unproven() { return plan_.filters() ? counts_of(*memory_.batch)[0] : count_; }

  search_report finish() {
    report_ = {.queries = count_};
    if (!plan_.filters()) {
      by_float64({.ids = {}, .count = count_, .stride = 1}, count_);
      return report_;
    }
    const auto counts = counts_of(*memory_.batch);
    report_.survivors = counts[1] | std::int64_t{counts[2]} << 32;
    if (leaves_uncertain()) return report_;
    for (std::int64_t first = 0; first < counts[0]; first += plan_.rows) {
      again(first, std::min<std::int64_t>(plan_.rows, counts[0] - first));
    }
    return report_;
  }

  void by_float64(const numbering& queries, std::int64_t rows) {
    report_.by_float64 += rows;
    const std::int64_t at_once = float64_rows(plan_, corpus_.count());
    clock_(stage::by_float64, [&] {
      float64_search(place_, corpus_, queries_, first_own_, allowed_, to_)
          .run(queries, rows, at_once);
    });
  }

 private:
  // The inner product rounds queries as unit vectors.
  void take_directions(const float* raw) {
    rounded_from_ = memory_.directions->of(place_, raw, count_);
    const global<double> offsets = view<double>(memory_.offsets);
    constexpr int warps = centre_product_kernel::max_threads / simt::warp_size;
    start<centre_product_kernel>(place_, blocks_for(count_, warps),
                                 {rounded_from_, count_, corpus_.centre(), offsets});
    inner_ = {rounded_from_.scales, offsets, corpus_.centre_norm()};
  }

  void leave_out_of_all() {
    const std::int64_t padded = tiles_of(corpus_.count()) * tile_rows;
    start<admitted_starts_kernel>(place_, blocks_for(padded, admitted_starts_kernel::max_threads),
                                  {corpus_.starts(), corpus_.order(), corpus_.count(), padded,
                                   allowed_, view<float>(memory_.starts)});
    starts_ = view<const float>(memory_.starts);
  }

  filter_args products_of(const batch_memory& batch, const numbering& queries,
                          std::int64_t rows) const {
    filter_args args;
    args.queries = batch.queries();
    args.corpus = corpus_.vectors();
    args.starts = starts_;
    args.thresholds = view<const float>(batch.thresholds);
    args.rows = rows;
    args.slabs = static_cast<int>(slabs());
    args.factors = corpus_.factors();
    args.query_tiles = static_cast<int>(tiles_of(rows));
    if (allowed_.each()) {
      args.allowed = allowed_;
      args.vector_of = corpus_.order();
      args.query_of = queries;
    }
    return args;
  }
  void pass(const batch_memory& batch, const numbering& queries, std::int64_t rows,
            const pass_plan& over, const survivor_lists& lists) {
    filter_args args = products_of(batch, queries, rows);
    args.first_tile = static_cast<int>(over.first);
    args.last_tile = static_cast<int>(over.last);
    args.part = static_cast<int>(over.part);
    args.lists = lists;
    filter(place_, output::scored, args, over.splits, plan_.body);
  }

  // `begins`: nothing is unproven yet.
  void round(const batch_memory& batch, const numbering& queries, std::int64_t rows, bool begins) {
    const auto by = [&]<class Kernel>(Kernel) {
      start<Kernel>(place_, tiles_of(rows) * (tile_rows / Kernel::few_rows),
                    {rounded_from_,
                     queries,
                     rows,
                     corpus_.centre_of_queries(),
                     corpus_.facts_of_queries(),
                     batch.queries(),
                     {},
                     begins ? view<std::uint32_t>(batch.counts) : global<std::uint32_t>{},
                     Kernel::few_rows});
    };
    with_rounding(corpus_.factors(), by);
  }

  // The first thresholds, from scores of a few tiles or maxima of many. `args`: products_of().
  void rank_matrix(filter_args args, const numbering& queries, std::int64_t rows,
                   float* thresholds) {
    args.last_tile = static_cast<int>(plan_.matrix_tiles);
    args.part = static_cast<int>(plan_.matrix.part);
    args.matrix = view<float>(memory_.matrix);
    args.matrix_pitch = plan_.columns();
    if (plan_.group != 0) {
      args.group = static_cast<int>(plan_.group);
      filter(place_, output::maxima, args, plan_.matrix.splits, plan_.body);
    } else {
      filter(place_, output::matrix, args, plan_.matrix.splits, product_body::mma_sync);
    }
    if (allowed_.each()) {
      start<allowed_scores_kernel>(
          place_, blocks_for(rows * args.matrix_pitch, allowed_scores_kernel::max_threads),
          {allowed_, queries, corpus_.order(), rows, args.matrix_pitch, args.matrix});
    }
    memory_.ranking->run(place_, rows, {.input = memory_.matrix.data(), .values = thresholds});
  }

  void raise_to_known(const batch_memory& batch, const numbering& queries, std::int64_t rows) {
    const rounded by_row = batch.queries();
    const auto with = [&]<bool products>(known_kernel_of<products>) {
      using kernel = known_kernel_of<products>;
      start<kernel>(place_, blocks_for(rows, kernel::max_threads),
                    {known_, queries, by_row.squares, by_row.errors, corpus_.facts(),
                     view<float>(batch.thresholds), rows, corpus_.source().unit(), inner_});
    };
    if (of_products()) return with(known_kernel_of<true>{});
    with(known_kernel_of<false>{});
  }

  // What all rows have in common, and their lists.
  finish_args finish_of(const numbering& queries, const rounded& by_row,
                        const survivor_lists& first, const survivor_lists& second,
                        const finish_room& room) const {
    finish_args args;
    args.squares = by_row.squares;
    args.errors = by_row.errors;
    args.queries = queries_;
    args.corpus = corpus_.source();
    args.query_of = queries;
    args.vector_of = corpus_.order();
    args.first = first;
    args.second = second;
    args.facts = corpus_.facts();
    args.to = to_;
    args.room = room;
    args.first_own = first_own_;
    args.inner = inner_;
    args.known = known_;
    return args;
  }
  template <class Kernel>
  void start_finish(finish_args args, std::int64_t rows) {
    if (leaves_uncertain()) find_certain(place_, args, rows, view<double>(memory_.certain));
    start<Kernel>(place_, rows, args, args.room.threads,
                  Kernel::dynamic_bytes(args.room, corpus_.dimension(), args.bytes.slabs));
  }
  void finish(const batch_memory& batch, const numbering& queries, std::int64_t rows,
              const survivor_lists& first, const survivor_lists& second, const finish_room& room) {
    finish_args args = finish_of(queries, batch.queries(), first, second, room);
    args.thresholds = view<const float>(batch.thresholds);
    args.left = batch.left();
    args.bytes = byte_rows::of(corpus_.factors(), batch.queries(), corpus_.vectors(), slabs());
    if (of_products()) return start_finish<finish_kernel_of<true>>(args, rows);
    start_finish<finish_kernel>(args, rows);
  }
  // How many queries finish() left unproven: [0], and their survivors: [1], [2].
  std::array<std::uint32_t, 3> counts_of(const batch_memory& batch) {
    std::array<std::uint32_t, 3> counts{};
    place_.to_host(std::as_writable_bytes(std::span(counts)), batch.counts.data());
    return counts;
  }

  void filtered(const numbering& queries, std::int64_t rows, bool begins) {
    const batch_memory& batch = *memory_.batch;
    const auto first = memory_.first ? memory_.first->lists(plan_.first) : survivor_lists{};
    const pass_plan all = plan_.second_of(rows, memory_.second->sizes, place_.description());
    const survivor_lists second = memory_.second->lists(all);
    // A graph's vectors are rounded already. Marks of an empty stage would take time, too.
    if (!batch.is_lent()) clock_(stage::round, [&] { round(batch, queries, rows, begins); });
    clock_(stage::threshold, [&] {
      filter_args args = products_of(batch, queries, rows);
      if (batch.is_lent()) args.zeroed = view<std::uint32_t>(batch.counts);
      rank_matrix(args, queries, rows, view<float>(batch.thresholds).data);
      if (known_.data != nullptr) raise_to_known(batch, queries, rows);
      if (!memory_.first) return;
      pass(batch, queries, rows, plan_.first, first);
      start<sharpen_kernel>(
          place_, rows,
          {first, static_cast<std::uint32_t>(plan_.first_rank), view<float>(batch.thresholds)});
    });
    clock_(stage::product, [&] { pass(batch, queries, rows, all, second); });
    clock_(stage::finish, [&] { finish(batch, queries, rows, first, second, plan_.room); });
  }

  // The same of a graph by half of the products: its queries are the prepared corpus.
  void filtered_by_pairs() {
    half_memory& half = *memory_.half;
    const std::int64_t n = corpus_.count();
    filter_args args = products_of(*memory_.batch, {}, n);
    args.queries = corpus_.vectors();
    clock_(stage::threshold, [&] {
      half.begin(place_, corpus_, view<std::uint32_t>(memory_.batch->counts));
      float* const thresholds = view<float>(half.given.limits).data;
      for (std::int64_t first = 0; first < n; first += plan_.rows) {
        filter_args some = args;
        some.rows = std::min(plan_.rows, n - first);
        some.query_tiles = static_cast<int>(tiles_of(some.rows));
        some.queries.slabs.data += first / tile_rows * slabs() * slab_vectors;
        rank_matrix(some, {}, some.rows, thresholds + first);
      }
      half.order(place_, corpus_);
    });
    half.give(args);
    args.last_tile = static_cast<int>(tiles_of(n));
    args.part = static_cast<int>(plan_.half.part);
    args.share = options_.share.number;
    args.shares = options_.share.of;
    clock_(stage::product, [&] { filter_pairs(place_, args, plan_.body); });
    clock_(stage::finish, [&] { finish_pairs(half, n); });
  }
  void finish_pairs(const half_memory& half, std::int64_t n) {
    const rounded vectors = half.vectors();
    finish_args args = finish_of(half.vector_of(n), vectors, {}, half.lists(), plan_.room);
    args.vector_of = args.query_of;
    args.thresholds = view<const float>(half.ordered.limits);
    args.facts = view<const corpus_facts>(half.facts);
    args.offsets = view<const double>(half.ordered.offsets);
    args.left = memory_.batch->left();
    args.bytes = byte_rows::of(corpus_.factors(), vectors, vectors, slabs());
    start_finish<finish_kernel>(args, n);
  }

  // Whether the caller searches again what several searches together lack (certain.cuh).
  bool leaves_uncertain() const { return memory_.certain.size() != 0; }
  // Filters with thresholds that are certain to be low enough. What is unproven even then is done
  // in float64.
  void again(std::int64_t first, std::int64_t rows) {
    report_.again += rows;
    const pass_plan over = plan_again(corpus_.count(), rows, place_.description(), plan_.body);
    again_memory& at = memory_.again_for(place_, over, rows, slabs());
    clock_(stage::again, [&] { filter_again(at.batch, at.lists->lists(over), over, first, rows); });
    const std::int64_t left = counts_of(at.batch)[0];
    if (left != 0 || rows > tile_rows) at.lists.reset();
    if (left != 0) by_float64(named(at.batch.ids, 0, left), left);
  }
  void filter_again(const batch_memory& batch, const survivor_lists& lists, const pass_plan& over,
                    std::int64_t first, std::int64_t rows) {
    const numbering queries = named(memory_.batch->ids, first, rows);
    round(batch, queries, rows, true);
    const global<const double> reach{view<const double>(memory_.batch->reach).data + first, rows};
    const global<float> thresholds = view<float>(batch.thresholds);
    const std::int64_t blocks = blocks_for(rows, again_kernel::max_threads);
    if (of_products()) {
      start<inner_again_kernel>(place_, blocks, {reach, thresholds, rows, !allowed_.all()});
    } else {
      start<again_kernel>(place_, blocks,
                          {view<const double>(batch.squares), view<const double>(batch.errors),
                           reach, corpus_.facts(), thresholds, rows, !allowed_.all()});
    }
    pass(batch, queries, rows, over, lists);
    finish(batch, queries, rows, {}, lists, room_again);
    require(place_.synchronise());
  }

  std::int64_t slabs() const { return slabs_of(corpus_.dimension(), corpus_.factors()); }
  bool of_products() const { return corpus_.measure() == metric::inner_product; }

  backend& place_;
  const prepared_corpus& corpus_;
  const search_plan& plan_;
  memory& memory_;
  const search_options options_;
  const std::int64_t count_, first_own_;
  const admitted allowed_;
  const global<const double> known_;
  const answers to_;
  const stage_clock clock_;
  global<const float> starts_;
  image_source queries_, rounded_from_;
  inner_queries inner_;
  search_report report_;
};

fused_search::fused_search(backend& place, const prepared_corpus& corpus, std::int64_t queries,
                           std::int64_t k, bool leaves_self_out, const search_options& options)
    : place_(place),
      corpus_(corpus),
      k_(k),
      leaves_self_out_(leaves_self_out),
      options_(options),
      plan_(plan_within({.n = corpus.count(),
                         .q = queries,
                         .dimension = corpus.dimension(),
                         .k = k + (leaves_self_out ? 1 : 0),
                         .wanted = options.wanted,
                         .body = options.body,
                         .bytes = options.bytes,
                         .wgmma_is_built = wgmma_is_built(),
                         .each = options.leaves_out == filtering::each,
                         .factors = corpus.factors(),
                         .half_product = options.half_product,
                         .shares = options.share.of,
                         .leaves_out = options.leaves_out != filtering::none,
                         .of_inner_products = corpus.measure() == metric::inner_product},
                        place.description())),
      memory_(std::make_unique<memory>(place, corpus, queries, plan_, options)) {}

fused_search::~fused_search() = default;

void fused_search::enqueue(const float* raw, std::int64_t count, std::int64_t first_own,
                           const answers& to, const stage_clock& clock, const admitted& allowed,
                           global<const double> known) {
  work_ = std::make_unique<work>(*this, raw, count, first_own, to, clock, allowed, known);
  work_->enqueue();
}

std::int64_t fused_search::unproven() { return work_->unproven(); }

search_report fused_search::finish() { return work_->finish(); }

search_report fused_search::run(const float* raw, std::int64_t count, std::int64_t first_own,
                                const answers& to, const stage_clock& clock,
                                const admitted& allowed, global<const double> known) {
  if (count == 0) return {};
  enqueue(raw, count, first_own, to, clock, allowed, known);
  return finish();
}

void fused_search::rehearse(const float* raw, std::int64_t count, const answers& to) {
  run(raw, count, -1, to, [](stage, const std::function<void()>& step) { step(); });
  work_->by_float64({.ids = {}, .count = 1, .stride = 1}, 1);
}

}  // namespace kselect::search::fused
