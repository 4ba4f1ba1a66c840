#include "search/knn/tiled/shard_by_products.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runtime/copy_by_threads.hpp"
#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/byte_vectors.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/stage_times.hpp"
#include "search/knn/tiled/answer_memory.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/running_lists.hpp"
#include "search/knn/tiled/tile_stream.hpp"

namespace kselect::search {
namespace {

using fused::make;
using fused::view;

constexpr std::int64_t component_bytes = 4;
constexpr std::int64_t rehearsed = 128;  // queries, before those that are asked

class shard_by_products final : public shard_search {
 public:
  shard_by_products(const tiled_request& request, const vector_files& base, std::int64_t first,
                    std::int64_t end, std::int64_t tile, std::int64_t queries,
                    const product_tile_bounds& bounds, backend& place)
      : request_(request),
        first_(first),
        end_(end),
        of_all_ranks_(base.count()),
        dimension_(base.dimension()),
        tile_(std::min(tile, end - first)),
        resident_(bounds.resident || tile >= end - first),
        search_bytes_(bounds.search_bytes),
        place_(place),
        stream_(base, first, end, tile_, reading_threads(place)),
        watch_(place, request.cuda.time_stages),
        queries_most_(queries),
        nearest_(place, request.metric == metric::euclidean) {
    const std::string why =
        fused::why_not(place.description(), fused::filter_compiled_for(place.description()));
    if (!why.empty()) throw error(failure::unsupported, why);
    for (device_buffer& memory : queries_) memory = make<float>(place, queries * dimension_);
  }

  std::int64_t tiles() const override { return stream_.tiles(); }
  std::int64_t tile() const override { return tile_; }
  shard_report report() const override {
    shard_report all = with_reading(report_, stream_);
    all.resident = resident_;
    return all;
  }

  bool quick() const override { return resident_; }

  // What the first search would allocate is allocated here, unless a search that is resumed begins
  // with queries of another part.
  void load(std::int64_t list_length) override {
    place_.get_ready_beside();
    if (!resident_) return stream_.pin(place_);
    bring_whole();
    if (list_length < request_.k) {
      few_queries_ = make<float>(place_, few_queries() * dimension_);
      search_bytes_ -= few_queries_bytes();
    }
    const std::int64_t vectors = end_ - first_;
    const bool own = request_.exclude_self && first_ == 0;  // of the first tile of queries
    const search_size size = size_of(queries_most_, list_length, own);
    search_of(size);
    nearest_.begin(queries_most_, size.k);
    const fused::answers to = own ? nearest_.next(size.k) : answers_of(0, queries_most_, size.k);
    if (!own) answers_of(1, queries_most_, size.k);
    if (place_.shares_host_memory()) return;  // fibers have no code to load
    const std::int64_t few = std::min({vectors, queries_most_, rehearsed});
    search_of(size).rehearse(view<const float>(held_.vectors).data, few, to);
  }

  // The few queries that are searched again have memory of their own, which is a small part of
  // that of the search.
  bool shortens_lists() const override {
    return resident_ && request_.metric != metric::inner_product &&
           few_queries_bytes() <= search_bytes_ / 16 &&
           filters_with_room(request_, end_ - first_, few_queries(), dimension_,
                             search_bytes_ - few_queries_bytes(), place_.description());
  }

  void bring(const vector_set& queries) override {
    const device_buffer& memory = queries_[brought_++ % 2];
    place_.to_device_beside(memory.data(), std::as_bytes(std::span(queries.data)));
  }

  std::function<void()> nearest(const vector_set& queries, std::int64_t first,
                                neighbour_lists& best, bound_sharing& shared) override {
    if (request_.product == knn_product::int8) require_bytes(queries, first);
    std::function<void()> rest;
    if (resident_) {
      rest = search_resident(queries.count, first, best);
    } else {
      search_tiles(queries.count, first, best, shared);
    }
    ++searched_;
    report_.rows_proven += queries.count;
    if (const auto times = watch_.take()) report_.gpu += *times;
    return rest;
  }

  void nearest_again(const vector_set& queries, std::int64_t first,
                     neighbour_lists& best) override {
    place_.to_device(few_queries_.data(), std::as_bytes(std::span(queries.data)));
    const bool own = finds_itself(queries.count, first);
    const std::int64_t unproven = report_.unproven + queries.count;
    search_here(view<const float>(few_queries_).data, queries.count,
                size_of(few_queries(), best.k(), own), own ? first : no_neighbour, best);
    report_.unproven = unproven;  // each once, also those that the search does again
    if (const auto times = watch_.take()) report_.gpu += *times;
  }

 private:
  // A part of the corpus in the executor's memory.
  struct part {
    std::int64_t first = 0;
    device_buffer vectors;
    std::unique_ptr<fused::prepared_corpus> corpus;
  };

  // Lists stay in the executor's memory from tile to tile. Where queries may find themselves, they
  // have a neighbour more, and the host leaves the queries out in the end.
  void search_tiles(std::int64_t count, std::int64_t first, neighbour_lists& best,
                    bound_sharing& shared) {
    const std::int64_t own = request_.exclude_self ? 1 : 0, most = request_.k + own;
    nearest_.begin(count, most);
    for (std::int64_t t = 0; t < stream_.tiles(); ++t) {
      bring(next());
      // No vector of a later tile is wanted that is farther than a query's last neighbour so far,
      // or than a bound of all ranks.
      fused::global<const double> known = {};
      if (t > 0) known = nearest_.farthest(most - 1, shared.known());
      const std::int64_t k = std::min(most, held_.corpus->count());
      find(queries_now(), count, {queries_most_, k, 0}, nearest_.next(k), known);
      nearest_.merge(held_.first);
      if (t > 0) continue;
      // A query that is among its neighbours makes all behind it one place farther.
      shared.offer(request_.k, [&](std::int64_t place) { return nearest_.column(place + own); });
    }
    nearest_.bring(own != 0 ? first : no_neighbour, best);
  }

  fused::stage_clock clock() {
    return [this](fused::stage s, const std::function<void()>& work) { watch_.time(s, work); };
  }

  // The next tile, whose vectors the product takes.
  tile_stream::tile next() {
    const tile_stream::tile tile = stream_.next();
    if (request_.product == knn_product::int8) require_bytes(tile.vectors, tile.first);
    return tile;
  }
  // A tile alone. Those of one length take the same memory in turn, and so do their searches.
  void bring(const tile_stream::tile& tile) {
    const vector_set& set = tile.vectors;
    if (held_.corpus == nullptr || held_.corpus->count() != set.count) {
      search_.reset();
      held_ = {};
      held_ = {tile.first, make<float>(place_, set.count * dimension_), nullptr};
      open_corpus(held_, set.count);
    }
    held_.first = tile.first;
    place_.to_device(held_.vectors.data(), std::as_bytes(std::span(set.data)));
    held_.corpus->prepare(clock());
  }
  // All tiles as one corpus: one search needs no merging, and its thresholds are sharper.
  void bring_whole() {
    const std::int64_t vectors = end_ - first_, dimension = dimension_;
    held_ = {first_, make<float>(place_, vectors * dimension), nullptr};
    for (std::int64_t t = 0; t < stream_.tiles(); ++t) {
      const tile_stream::tile tile = next();
      place_.to_device(held_.vectors.data() + (tile.first - first_) * dimension * component_bytes,
                       std::as_bytes(std::span(tile.vectors.data)));
    }
    open_corpus(held_, vectors);
    held_.corpus->prepare(clock());
  }
  void open_corpus(part& p, std::int64_t vectors) {
    p.corpus = std::make_unique<fused::prepared_corpus>(place_, view<const float>(p.vectors).data,
                                                        vectors, dimension_, request_.metric,
                                                        factors_of(request_.product));
  }

  // Of every other tile of queries.
  fused::answers answers_of(std::size_t tile, std::int64_t queries, std::int64_t k) {
    answer_memory& memory = found_[tile % 2];
    memory.reserve(place_, queries * k);
    return memory.answers(k, request_.metric == metric::euclidean);
  }
  // What a search is made for.
  struct search_size {
    std::int64_t queries, k;
    std::int64_t wanted;  // fused::search_options
    bool operator==(const search_size&) const = default;
  };
  // Of lists of that length. If queries may find themselves, they have one neighbour more. Of short
  // ones the rank's share of the request's k is wanted.
  search_size size_of(std::int64_t queries, std::int64_t list_length, bool own) const {
    const std::int64_t vectors = end_ - first_, more = own ? 1 : 0;
    const std::int64_t share = (request_.k * vectors + of_all_ranks_ - 1) / of_all_ranks_;
    return {queries, std::min(list_length + more, vectors),
            list_length < request_.k ? share + more : 0};
  }
  bool finds_itself(std::int64_t count, std::int64_t first) const {
    return request_.exclude_self && first < end_ && first_ < first + count;
  }
  std::int64_t few_queries() const { return std::min(query_unit, queries_most_); }
  std::int64_t few_queries_bytes() const { return few_queries() * dimension_ * component_bytes; }
  // A search serves all tiles of queries, and all of the corpus that have one length.
  fused::fused_search& search_of(const search_size& size) {
    if (!search_ || size != searched_size_) {
      search_.reset();
      search_.emplace(place_, *held_.corpus, size.queries, size.k, false,
                      fused::search_options{.bytes = search_bytes_, .wanted = size.wanted});
      searched_size_ = size;
    }
    return *search_;
  }

  // Of the whole part. What it returns downloads the answers, if that is not done.
  std::function<void()> search_resident(std::int64_t count, std::int64_t first,
                                        neighbour_lists& best) {
    const bool own = finds_itself(count, first);
    const search_size size = size_of(queries_most_, best.k(), own);
    if (own || size.k < best.k()) {
      search_here(queries_now(), count, size, own ? first : no_neighbour, best);
      return {};
    }
    const fused::answers answers = answers_of(searched_, count, size.k);
    find(queries_now(), count, size, answers, {});
    // One thread alone copies beside the search, and may do so now.
    return [this, answers, offset = held_.first, &best] {
      bring_lists(place_, answers, 0, offset, best);
    };
  }
  // The same, complete on return. Queries from number `first_own` on leave themselves out.
  void search_here(const float* queries, std::int64_t count, const search_size& size,
                   std::int64_t first_own, neighbour_lists& best) {
    nearest_.begin(count, size.k);
    find(queries, count, size, nearest_.next(size.k), {});
    nearest_.merge(held_.first);
    nearest_.bring(first_own, best);
  }
  const float* queries_now() const { return view<const float>(queries_[searched_ % 2]).data; }
  // `known`: for each query the distance beyond which no vector is wanted; no data: any is.
  void find(const float* queries, std::int64_t count, const search_size& size,
            const fused::answers& to, fused::global<const double> known) {
    const fused::search_report done =
        search_of(size).run(queries, count, -1, to, clock(), {}, known);
    report_.unproven += done.again;
    report_.survivors += done.survivors;
    report_.by_float64 += done.by_float64;
  }

  const tiled_request& request_;
  std::int64_t first_, end_, of_all_ranks_, dimension_;
  std::int64_t tile_;
  bool resident_;
  std::int64_t search_bytes_;
  backend& place_;
  tile_stream stream_;
  fused::stage_times watch_;
  shard_report report_;
  std::int64_t queries_most_;  // of a tile
  // Of a tile of queries that is searched, and of the one beside it.
  std::array<device_buffer, 2> queries_;
  std::array<answer_memory, 2> found_;
  std::size_t brought_ = 0, searched_ = 0;  // tiles of queries
  part held_;                               // in the executor's memory now
  std::optional<fused::fused_search> search_;
  search_size searched_size_{};
  device_buffer few_queries_;  // that are searched again
  running_lists nearest_;      // of one tile of queries
};

}  // namespace

void bring_lists(backend& place, const fused::answers& from, std::int64_t first,
                 std::int64_t offset, neighbour_lists& to) {
  const auto bring = [&](auto into, const auto& all) {
    place.to_host_beside(std::as_writable_bytes(into),
                         reinterpret_cast<const std::byte*>(all.data + first * from.k));
  };
  bring(to.indices(), from.indices);
  bring(to.distances(), from.distances);
  bring(to.ranked(), from.exact);
  to.number_from(offset, runtime::moving_threads(place.description().threads));
}

std::unique_ptr<shard_search> open_product_shard(const tiled_request& request,
                                                 const vector_files& base, std::int64_t first,
                                                 std::int64_t end, std::int64_t tile,
                                                 std::int64_t queries, backend& place) {
  const product_tile_bounds bounds =
      bound_product_tiles(request, end - first, queries, base.dimension(), place);
  return std::make_unique<shard_by_products>(request, base, first, end, tile, queries, bounds,
                                             place);
}

}  // namespace kselect::search
