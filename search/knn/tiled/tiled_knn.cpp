#include "search/knn/tiled/tiled_knn.hpp"

#include <algorithm>
#include <fstream>
#include <malloc.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
#include "runtime/io/content_hashes.hpp"
#include "runtime/io/vector_file.hpp"
#include "search/knn/possible.hpp"
#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/list_exchange.hpp"
#include "search/knn/tiled/query_tiles.hpp"
#include "search/knn/tiled/result_store.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/shard_of_graph.hpp"
#include "search/knn/tiled/shard_search.hpp"
#include "search/knn/tiled/tile_agreement.hpp"
#if KSELECT_HAS_CUDA
#include "search/knn/tiled/cuda/shard_on_gpu.hpp"
#endif
#include "harness/select/select_rows.hpp"
#include "runtime/format.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

std::int64_t resident_bytes() {
  std::int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// NCCL's exchange moves distances of float32, which would not order neighbours of float64.
exchange_kind exchange_for(const tiled_request& r) {
  if (!r.by_products()) return r.exchange;
  if (r.exchange == exchange_kind::nccl) {
    throw agreed_error(
        failure::usage,
        fmt::format("--exchange nccl orders by float32, but --product {} by float64: leave one out",
                    to_string(r.product)));
  }
  return exchange_kind::host;
}

class tiled_search {
 public:
  tiled_search(const tiled_request& request, backend& place, communicator& ranks,
               const tiled_observer& observer)
      : request_(request), place_(place), ranks_(ranks), observer_(observer) {}

  tiled_report run() {
    tiled_times& times = report_.times;
    {
      const lap setup(times.setup);
      prepare_all();
    }
    {
      const lap whole(times.search);
      tiles_->run();
      finish();
    }
    report_.shard = shard_->report();
    times.read = report_.shard.read_s;
    times.read_wait = report_.shard.wait_s - waited_s_;
    times.exchange = exchange_->taken().moving;
    times.merge = exchange_->taken().merging;
    return report_;
  }

 private:
  const vector_files& queries() const { return query_ ? *query_ : *base_; }

  // Returns when all ranks agree and have their memory.
  void prepare_all() {
    agree(ranks_, [&] { return open_files(); });
    choose_product();
    choose_pairs();
    // The memory of a GPU's context and of NCCL is taken before tiles are planned.
    report_.nccl = choose_nccl(exchange_for(request_), ranks_, place_);
    exchange_ = open_list_exchange(report_.nccl, ranks_, place_);
    agree(ranks_, [&] { return open_place(); });
    std::int64_t query_tile = 0;
    for (const json& proposal : agree(ranks_, [&] { return propose_tile(); })) {
      const std::int64_t proposed = proposal;
      query_tile = query_tile == 0 ? proposed : std::min(query_tile, proposed);
    }
    agree(ranks_, [&] { return open_results(); });
    struct {
      std::int64_t query_tile, done;
    } start{query_tile, store_ ? store_->done() : 0};
    ranks_.broadcast(std::as_writable_bytes(std::span(&start, 1)));
    open_part(start.query_tile, start.done);
    if (ranks_.rank() == 0) observer_.planned(report_);
    load_part();
    agree(ranks_, [&] { return open_tiles(); });
  }

  // Query tiles have the same length on all ranks; corpus tiles depend on the rank's memory.
  void open_part(std::int64_t query_tile, std::int64_t done) {
    report_.plan = plan_for(query_tile);
    report_.n = base_->count();
    report_.base_fingerprint = base_->fingerprint();
    report_.query_fingerprint = (query_ ? *query_ : *base_).fingerprint();
    report_.queries = queries().count();
    report_.dimension = base_->dimension();
    report_.k = request_.k;
    report_.queries_before = done;
    if (report_.by_pairs) {
      auto graph = open_graph_shard(request_, *base_, {ranks_.rank(), ranks_.size()},
                                    report_.plan.corpus_tile, place_);
      graph_ = graph.get();
      shard_ = std::move(graph);
    } else {
      shard_ = open_shard(request_, *base_, first_, end_, report_.plan.corpus_tile,
                          report_.plan.query_tile, place_);
    }
    report_.plan.corpus_tile = shard_->tile();
    report_.shard = shard_->report();
    report_.vectors = end_ - first_;
    report_.corpus_tiles = shard_->tiles();
    if (report_.by_pairs) report_.vectors = base_->count();
    tiling_ = agree_on_tiles(request_, base_->count(), *shard_, report_.by_pairs, ranks_);
    report_.list_length = tiling_.list_length;
    report_.query_tiles = query_cut(range()).tiles();
  }

  void load_part() {
    const lap loading(report_.times.load);
    agree(ranks_, [&] {
      shard_->load(tiling_.list_length);
      return json::object();
    });
    if (graph_ != nullptr) {
      const std::int64_t others = base_->count() - (request_.exclude_self ? 1 : 0);
      complete_graph(*graph_, ranks_, base_->count(), std::min(request_.k, others));
    }
    waited_s_ = shard_->report().wait_s;
  }

  // Opens the files. Returns the facts that must be equal on all ranks.
  json open_files() {
    // Freed large buffers go back to the system, so that the memory bound holds.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    if (request_.resume) content_hashes::recall(known_inputs_of(request_.indices));
    base_.emplace(vector_files::open(request_.base, request_.limit));
    if (!request_.query.empty()) query_.emplace(vector_files::open(request_.query));
    require_possible();
    const int rank = ranks_.rank();
    first_ = first_of_rank(base_->count(), rank, ranks_.size());
    end_ = first_of_rank(base_->count(), rank + 1, ranks_.size());
    json facts = job();
    facts["program"] = version_line();
    facts["exchange"] = to_string(request_.exchange);
    facts["half_product"] = request_.cuda.half_product.value_or(false);
    return facts;
  }

  // The ranks take the fused search if it was asked for, or if all of them can.
  void choose_product() {
    if (asks_for_products(request_, place_.description())) {
      const auto reasons = agree(ranks_, [&]() -> json {
        return {{"proposal", why_not_products_here()}};
      });
      const auto first = std::ranges::find_if(reasons, [](const json& why) { return why != ""; });
      report_.other_because =
          broadcast_text(ranks_, first == reasons.end() ? std::string() : std::string(*first));
      if (report_.other_because.empty()) {
        request_.product = product_of_files(request_, *base_, queries(), place_.description());
      }
    }
    report_.product = request_.by_products()        ? request_.product
                      : place_.shares_host_memory() ? knn_product::float64
                      : request_.cuda.tf32          ? knn_product::tf32
                                                    : knn_product::float32;
  }
  // Ranks take a graph's pairs if that was asked for and all of them can.
  void choose_pairs() {
    if (!request_.cuda.half_product.value_or(false) || query_) return;
    const auto said = agree(ranks_, [&]() -> json {
      const pairs_offer offer =
          offer_pairs(request_, base_->count(), base_->dimension(), ranks_.size(), place_);
      return {{"proposal", {offer.why_not, offer.dealing}}};
    });
    std::string why;
    for (const json& one : said) {
      if (why.empty()) why = one[0];
      if (why.empty() && one[1] != said[0][1]) why = "the ranks' GPUs differ";
    }
    report_.whole_because = broadcast_text(ranks_, why);
    report_.by_pairs = report_.whole_because.empty();
  }
  std::string why_not_products_here() const {
    try {
      return why_not_products(request_, std::max<std::int64_t>(1, end_ - first_), queries().count(),
                              base_->dimension(), place_);
    } catch (const error& failed) {
      if (failed.category() != failure::resources) throw;
      return failed.what();
    }
  }

  json open_place() {
    const status there = place_.synchronise();
    if (!there.ok()) throw error(failure::unsupported, there.message);
    return json::object();
  }

  json propose_tile() {
    report_.held_bytes = resident_bytes() / ranks_.process_size();
    return {{"proposal", plan_for(request_.query_tile).query_tile}};
  }

  // All that the answer depends on.
  json job() const {
    json all = {{"base", base_->fingerprint()},
                {"n", base_->count()},
                {"query", query_ ? json(query_->fingerprint()) : json()},
                {"queries", queries().count()},
                {"exclude_self", request_.exclude_self},
                {"metric", to_string(request_.metric)},
                {"k", request_.k},
                {"algorithm", request_.entry.algorithm->name},
                {"source_hash", request_.entry.source_hash},
                {"executor", to_string(place_.description().kind)},
                // By this number equal distances were told apart; earlier versions had float32 on
                // the host, too.
                {"order", place_.shares_host_memory() ? "float64" : "float32"}};
    if (request_.by_products()) {
      all["order"] = "float64";
      all["product"] = to_string(request_.product);
    }
    return all;
  }

  void require_possible() const {
    search::require_possible({base_->name(), base_->count(), base_->dimension()},
                             {queries().name(), queries().count(), queries().dimension()},
                             request_.k, request_.exclude_self);
    const std::int64_t parts = (base_->count() + corpus_unit - 1) / corpus_unit;
    if (ranks_.size() > parts) {
      throw error(failure::usage,
                  fmt::format("{} has {}, a part of {} for each of at most {}; start "
                              "no more",
                              base_->name(), runtime::amount_of(base_->count(), "vector"),
                              corpus_unit, runtime::amount_of(parts, "rank")));
    }
  }

  tile_plan plan_for(std::int64_t query_tile) {
    tiled_sizes sizes;
    sizes.n = end_ - first_;
    sizes.queries = std::max<std::int64_t>(1, queries().count());
    sizes.dimension = base_->dimension();
    sizes.k = request_.k;
    sizes.ranks = ranks_.size();
    sizes.threads = place_.description().threads;
    bound_by_executor(sizes);
    count_buffers(sizes);
    return plan_tiles(sizes, request_.memory_bytes / ranks_.process_size() - report_.held_bytes,
                      query_tile);
  }

  // What the memory of the executor holds.
  void bound_by_executor(tiled_sizes& sizes) {
    const auto bound = [&](std::int64_t most_queries, std::int64_t corpus_tile) {
      sizes.most_query_tile = std::min(sizes.most_query_tile, most_queries);
      sizes.most_corpus_tile = corpus_tile;
      sizes.delivers = true;
    };
    const std::int64_t vectors = std::max<std::int64_t>(1, sizes.n);
    if (place_.shares_host_memory()) sizes.most_query_tile = most_queries_on_cpu;
    if (request_.by_products()) {
      const product_tile_bounds bounds =
          bound_product_tiles(request_, vectors, sizes.queries, sizes.dimension, place_);
      return bound(bounds.queries, bounds.corpus_tile);
    }
#if KSELECT_HAS_CUDA
    if (!place_.shares_host_memory()) {
      const gpu_tile_bounds bounds =
          bound_gpu_tiles(request_, sizes.dimension, sizes.queries, vectors, place_);
      bound(bounds.queries, bounds.corpus_tile);
    }
#endif
  }

  // Host memory beside the tiles: for reading, copies and the algorithm.
  void count_buffers(tiled_sizes& sizes) const {
    const algorithm& entry = *request_.entry.algorithm;
    const std::int64_t readers = place_.shares_host_memory() ? 2 : gpu_readers;
    sizes.reading_bytes += readers * std::max(base_->reading_bytes(), queries().reading_bytes());
    if (!place_.shares_host_memory()) sizes.reading_bytes += pinned_bytes;
    sizes.keeps_input = !entry.promises.modifies_input;
    sizes.workspace = [this, &entry](std::int64_t rows, std::int64_t n) -> std::int64_t {
      if (!place_.shares_host_memory()) return 0;
      problem p;
      p.n = n;
      p.q = rows;
      p.k = std::min(request_.k + 1, n);
      p.index = preferred_index(entry);
      return static_cast<std::int64_t>(plan_call(entry, p, place_.description()).workspace());
    };
  }

  // Only rank 0 writes results.
  json open_results() {
    if (ranks_.rank() == 0) {
      store_.emplace(result_request{.indices = request_.indices,
                                    .distances = request_.distances,
                                    .queries = queries().count(),
                                    .k = request_.k,
                                    .job = job().dump(),
                                    .resume = request_.resume});
      content_hashes::keep(known_inputs_of(request_.indices));
    }
    return json::object();
  }

  json open_tiles() {
    const query_tiles::parts parts{.place = place_,
                                   .ranks = ranks_,
                                   .queries = queries(),
                                   .shard = *shard_,
                                   .exchange = *exchange_,
                                   .store = store_ ? &*store_ : nullptr,
                                   // A resident part is one tile: no bound comes before its end.
                                   .shares = ranks_.size() > 1 && tiling_.streams,
                                   .stopping = observer_.stopping,
                                   .finished = observer_.finished_tile};
    tiles_.emplace(parts, range(), report_.times);
    return json::object();
  }

  query_range range() const {
    return {.first = report_.queries_before,
            .end = report_.queries,
            .tile = report_.plan.query_tile,
            .k = request_.k,
            .list_length = tiling_.list_length,
            .short_ends = tiling_.short_ends};
  }

  // No rank ends before the results are committed.
  void finish() {
    agree(ranks_, [&] {
      base_->require_unchanged();
      if (query_) query_->require_unchanged();
      return json::object();
    });
    agree(ranks_, [&] {
      if (store_) store_->commit();
      return json::object();
    });
  }

  tiled_request request_;  // choose_product() decides its product
  backend& place_;
  communicator& ranks_;
  const tiled_observer& observer_;
  tiled_report report_;
  std::optional<vector_files> base_, query_;
  std::int64_t first_ = 0, end_ = 0;  // of this rank's part of the corpus
  std::unique_ptr<list_exchange> exchange_;
  std::unique_ptr<shard_search> shard_;
  shard_of_graph* graph_ = nullptr;    // the shard, if report_.by_pairs
  std::optional<result_store> store_;  // on rank 0
  std::optional<query_tiles> tiles_;
  tile_agreement tiling_;
  double waited_s_ = 0;  // for a corpus that stays in the executor's memory
};

}  // namespace

tiled_report knn_in_tiles(const tiled_request& request, backend& place, communicator& ranks,
                          const tiled_observer& observer) {
  return tiled_search(request, place, ranks, observer).run();
}

}  // namespace kselect::search
