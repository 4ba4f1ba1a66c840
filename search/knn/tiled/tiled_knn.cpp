#include "search/knn/tiled/tiled_knn.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <future>
#include <malloc.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"
#include "runtime/io/content_hashes.hpp"
#include "runtime/io/vector_file.hpp"
#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/list_exchange.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"
#include "search/knn/tiled/result_store.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/shard_search.hpp"
#include "search/knn/tiled/tile_stream.hpp"
#if KSELECT_HAS_CUDA
#include "search/knn/tiled/cuda/shard_on_gpu.hpp"
#endif
#include "harness/select/select_rows.hpp"
#include "runtime/format.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  statm >> size >> resident;
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
      search();
      finish();
    }
    report_.shard = shard_->report();
    times.read = report_.shard.read_s;
    times.read_wait = report_.shard.wait_s;
    times.exchange = exchange_->taken().moving;
    times.merge = exchange_->taken().merging;
    return report_;
  }

 private:
  const vector_files& queries() const { return query_ ? *query_ : *base_; }

  // Returns when all ranks agree and have their memory.
  void prepare_all() {
    tiled_times& times = report_.times;
    agree(ranks_, [&] { return open_files(); });
    choose_product();
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
    // Query tiles have the same length on all ranks; corpus tiles depend on the rank's memory.
    report_.plan = plan_for(start.query_tile);
    report_.n = base_->count();
    report_.queries = queries().count();
    report_.dimension = base_->dimension();
    report_.query_tiles = (report_.queries - start.done + start.query_tile - 1) / start.query_tile;
    report_.queries_before = start.done;
    shard_ = open_shard(request_, *base_, first_, end_, report_.plan.corpus_tile,
                        report_.plan.query_tile, place_);
    report_.plan.corpus_tile = shard_->tile();
    report_.shard = shard_->report();
    report_.vectors = end_ - first_;
    report_.corpus_tiles = shard_->tiles();
    if (ranks_.rank() == 0) observer_.planned(report_);
    const lap loading(times.load);
    agree(ranks_, [&] {
      shard_->load();
      return json::object();
    });
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
    if (queries().dimension() != base_->dimension() && queries().count() != 0 &&
        base_->count() != 0) {
      throw error(failure::usage,
                  fmt::format("{} has dimension {}, but {} has {}", queries().name(),
                              queries().dimension(), base_->name(), base_->dimension()));
    }
    if (queries().count() == 0 && base_->count() != 0) {
      throw error(failure::usage,
                  fmt::format("{} has no vectors: there is nothing to find", queries().name()));
    }
    const std::int64_t candidates = base_->count() - (request_.exclude_self ? 1 : 0);
    if (request_.k < 1 || request_.k > candidates) {
      throw error(failure::usage,
                  fmt::format("k = {} is not in 1 .. {}: {} has {}{}", request_.k, candidates,
                              base_->name(), runtime::amount_of(base_->count(), "vector"),
                              request_.exclude_self ? ", one of which is the query itself" : ""));
    }
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
    const algorithm& entry = *request_.entry.algorithm;
    tiled_sizes sizes;
    sizes.n = end_ - first_;
    sizes.queries = std::max<std::int64_t>(1, queries().count());
    sizes.dimension = base_->dimension();
    sizes.k = request_.k;
    if (place_.shares_host_memory()) sizes.most_query_tile = most_queries_on_cpu;
    if (request_.by_products()) {
      const product_tile_bounds bounds = bound_product_tiles(
          request_, std::max<std::int64_t>(1, sizes.n), sizes.queries, sizes.dimension, place_);
      sizes.most_query_tile = std::min(sizes.most_query_tile, bounds.queries);
      sizes.most_corpus_tile = bounds.corpus_tile;
      sizes.delivers = true;
    }
#if KSELECT_HAS_CUDA
    if (!place_.shares_host_memory() && !request_.by_products()) {
      const gpu_tile_bounds bounds = bound_gpu_tiles(request_, sizes.dimension, sizes.queries,
                                                     std::max<std::int64_t>(1, sizes.n), place_);
      sizes.most_query_tile = std::min(sizes.most_query_tile, bounds.queries);
      sizes.most_corpus_tile = bounds.corpus_tile;
      sizes.delivers = true;
    }
#endif
    sizes.ranks = ranks_.size();
    sizes.threads = place_.description().threads;
    const std::int64_t readers = place_.shares_host_memory() ? 2 : gpu_readers;
    sizes.reading_bytes += readers * std::max(base_->reading_bytes(), queries().reading_bytes());
    if (!place_.shares_host_memory()) sizes.reading_bytes += pinned_bytes;
    sizes.keeps_input = !entry.promises.modifies_input;
    sizes.workspace = [&](std::int64_t rows, std::int64_t n) -> std::int64_t {
      if (!place_.shares_host_memory()) return 0;
      problem p;
      p.n = n;
      p.q = rows;
      p.k = std::min(request_.k + 1, n);
      p.index = preferred_index(entry);
      return static_cast<std::int64_t>(plan_call(entry, p, place_.description()).workspace());
    };
    return plan_tiles(sizes, request_.memory_bytes / ranks_.process_size() - report_.held_bytes,
                      query_tile);
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

  void search() {
    tiled_times& times = report_.times;
    for (std::int64_t first = report_.queries_before; first < report_.queries;
         first += report_.plan.query_tile) {
      end_if_asked(first);
      const vector_set tile =
          read_queries(first, std::min(report_.plan.query_tile, report_.queries - first));
      neighbour_lists best(tile.count, request_.k);
      {
        const lap searching(times.nearest);
        shard_->nearest(tile, first, best);
      }
      {
        // This names a missing rank; NCCL could not.
        const lap waiting(times.ranks_wait);
        ranks_.meet();
      }
      write(exchange_->merged(std::move(best)));
    }
  }

  // Ranks do not hear a signal at the same time, or not all hear it, and must end together.
  void end_if_asked(std::int64_t done) {
    const lap waiting(report_.times.ranks_wait);
    try {
      agree(ranks_, [&]() -> json {
        if (!observer_.stopping()) return json::object();
        throw error(failure::interrupted,
                    fmt::format("interrupted: {} of {} queries are done; the same command with "
                                "--resume goes on",
                                done, report_.queries));
      });
    } catch (const agreed_error&) {
      await_written();
      throw;
    }
  }

  vector_set read_queries(std::int64_t first, std::int64_t count) {
    const lap reading(report_.times.queries);
    vector_set tile;
    tile.count = count;
    tile.dimension = base_->dimension();
    tile.source = queries().name();
    tile.data.resize(index(count * tile.dimension));
    if (ranks_.rank() == 0) {
      read_by_threads(queries(), first, count, tile.data.data(), reading_threads(place_));
    }
    ranks_.broadcast(std::as_writable_bytes(std::span(tile.data)));
    return tile;
  }

  // Writes in the background, while the next tile is searched.
  void write(neighbour_lists answer) {
    if (ranks_.rank() != 0) return;
    await_written();
    answer_.emplace(std::move(answer));
    writing_ = std::async(std::launch::async, [this] {
      const lap writing(report_.times.write);
      store_->append(answer_->queries(), answer_->distances(), answer_->indices());
    });
  }

  void await_written() {
    if (!writing_.valid()) return;
    {
      const lap waiting(report_.times.write_wait);
      writing_.get();
    }
    observer_.finished_tile(store_->done());
  }

  // No rank ends before the results are committed.
  void finish() {
    agree(ranks_, [&] {
      base_->require_unchanged();
      if (query_) query_->require_unchanged();
      return json::object();
    });
    agree(ranks_, [&] {
      if (ranks_.rank() == 0) {
        await_written();
        store_->commit();
      }
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
  std::optional<result_store> store_;
  std::optional<neighbour_lists> answer_;  // being written
  std::future<void> writing_;
};

}  // namespace

tiled_report knn_in_tiles(const tiled_request& request, backend& place, communicator& ranks,
                          const tiled_observer& observer) {
  return tiled_search(request, place, ranks, observer).run();
}

}  // namespace kselect::search
