#include "harness/knn/tiled/tiled_knn.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <future>
#include <malloc.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/environment/host.hpp"
#include "harness/error.hpp"
#include "harness/io/vector_file.hpp"
#include "harness/knn/tiled/agreement.hpp"
#include "harness/knn/tiled/gpu_exchange.hpp"
#include "harness/knn/tiled/neighbour_lists.hpp"
#include "harness/knn/tiled/result_store.hpp"
#include "harness/knn/tiled/tile_stream.hpp"
#include "harness/select/select_rows.hpp"

namespace kselect {
namespace {

using json = nlohmann::ordered_json;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// The k nearest of one rank's part of the corpus.
class shard_search {
 public:
  shard_search(const tiled_request& request, const vector_files& base, std::int64_t first,
               std::int64_t end, std::int64_t tile, backend& place)
      : request_(request), stream_(base, first, end, tile), place_(place) {}

  std::int64_t tiles() const { return stream_.tiles(); }
  std::int64_t bytes_read() const { return stream_.bytes_read(); }

  // Of the queries from `first` on among all.
  void nearest(const vector_set& queries, std::int64_t first, neighbour_lists& best) {
    for (std::int64_t t = 0; t < stream_.tiles(); ++t) search(stream_.next(), queries, first, best);
  }

 private:
  void search(const tile_stream::tile& tile, const vector_set& queries, std::int64_t first,
              neighbour_lists& best) {
    // Where queries may find themselves, one candidate more is asked for and they are left out.
    const bool own = request_.exclude_self && first < tile.first + tile.vectors.count &&
                     tile.first < first + queries.count;
    cuda_knn_report report;
    const knn_request part{.base = tile.vectors,
                           .query = &queries,
                           .metric = request_.metric,
                           .k = std::min(request_.k + (own ? 1 : 0), tile.vectors.count),
                           .entry = *request_.entry.algorithm,
                           .block_bytes = block_rows(request_.k, tile.vectors.count) *
                                          tile.vectors.count *
                                          static_cast<std::int64_t>(sizeof(float)),
                           .cuda = request_.cuda,
                           .report = &report};
    knn(part, place_, [&](const knn_block& block) {
      const int threads = place_.description().threads;
#pragma omp parallel for num_threads(threads) schedule(static)
      for (std::int64_t q = 0; q < block.count; ++q) {
        const std::size_t at = index(q * part.k), length = index(part.k);
        best.merge(block.first + q, {.distances = block.distances.subspan(at, length),
                                     .indices = block.indices.subspan(at, length),
                                     .offset = tile.first,
                                     .excluded = own ? first + block.first + q : no_neighbour});
      }
    });
  }

  const tiled_request& request_;
  tile_stream stream_;
  backend& place_;
};

// Makes the lists that each rank has of all queries the lists of the whole corpus, on rank 0.
neighbour_lists merged_over_ranks(communicator& ranks, neighbour_lists mine, int threads) {
  if (ranks.size() == 1) return mine;
  const std::int64_t k = mine.k();
  const std::vector<std::int64_t> shares = shares_of(mine.queries(), ranks.size());
  const std::int64_t share = shares[index(ranks.rank())];
  const auto move = [&](auto step, const neighbour_lists& from, std::span<float> distances,
                        std::span<std::int64_t> indices) {
    const std::array<communicator::column, 2> columns = {
        {{index(k) * sizeof(float), std::as_bytes(from.distances()),
          std::as_writable_bytes(distances)},
         {index(k) * sizeof(std::int64_t), std::as_bytes(from.indices()),
          std::as_writable_bytes(indices)}}};
    (ranks.*step)(columns, shares);
  };
  std::vector<float> distances(index(ranks.size() * share * k));
  std::vector<std::int64_t> indices(distances.size());
  move(&communicator::exchange, mine, distances, indices);
  neighbour_lists merged(share, k);
  merge_lists(ranks.size(), distances, indices, threads, merged);
  // `mine` has been sent and has the size of the answer.
  move(&communicator::collect, merged, mine.distances(), mine.indices());
  return mine;
}

class tiled_search {
 public:
  tiled_search(const tiled_request& request, backend& place, communicator& ranks,
               const tiled_observer& observer)
      : request_(request), place_(place), ranks_(ranks), observer_(observer) {}

  tiled_report run() {
    std::int64_t query_tile = 0;
    for (const json& proposal : agree(ranks_, [&] { return prepare(); })) {
      const std::int64_t proposed = proposal;
      query_tile = query_tile == 0 ? proposed : std::min(query_tile, proposed);
    }
    agree(ranks_, [&] { return open_results(); });
    if (uses_nccl()) gpu_ = open_gpu_exchange(ranks_, place_);
    struct {
      std::int64_t query_tile, done;
    } start{query_tile, store_ ? store_->done() : 0};
    ranks_.broadcast(std::as_writable_bytes(std::span(&start, 1)));
    return search(start.query_tile, start.done);
  }

 private:
  const vector_files& queries() const { return query_ ? *query_ : *base_; }

  // Opens the files and plans; what must be equal on all ranks.
  json prepare() {
    // Large buffers go back to the system when they are freed, so that the bound holds.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    base_.emplace(vector_files::open(request_.base, request_.limit));
    if (!request_.query.empty()) query_.emplace(vector_files::open(request_.query));
    require_possible();
    const int rank = ranks_.rank();
    first_ = first_of_rank(base_->count(), rank, ranks_.size());
    end_ = first_of_rank(base_->count(), rank + 1, ranks_.size());
    report_.held_bytes = resident_bytes();
    const tile_plan plan = plan_for(request_.query_tile);
    json facts = job();
    facts["program"] = version_line();
    facts["exchange"] = uses_nccl() ? "nccl" : "mpi";
    facts["proposal"] = plan.query_tile;
    return facts;
  }

  // The same on all ranks, or they do not agree.
  bool uses_nccl() const {
    if (request_.exchange == exchange_kind::mpi || ranks_.size() == 1) return false;
    const std::string why_not = why_no_gpu_exchange(place_);
    if (!why_not.empty() && request_.exchange == exchange_kind::nccl) {
      throw error(failure::unsupported, why_not);
    }
    return why_not.empty();
  }

  // What the answer depends on.
  json job() const {
    return {{"base", base_->fingerprint()},
            {"n", base_->count()},
            {"query", query_ ? json(query_->fingerprint()) : json()},
            {"queries", queries().count()},
            {"exclude_self", request_.exclude_self},
            {"metric", to_string(request_.metric)},
            {"k", request_.k},
            {"algorithm", request_.entry.algorithm->name},
            {"source_hash", request_.entry.source_hash},
            {"executor", to_string(place_.description().kind)}};
  }

  void require_possible() const {
    if (queries().dimension() != base_->dimension() && queries().count() != 0 &&
        base_->count() != 0) {
      throw error(failure::usage,
                  fmt::format("{} has dimension {}, but {} has {}", queries().name(),
                              queries().dimension(), base_->name(), base_->dimension()));
    }
    const std::int64_t candidates = base_->count() - (request_.exclude_self ? 1 : 0);
    if (request_.k < 1 || request_.k > candidates) {
      throw error(failure::usage,
                  fmt::format("k = {} is not in 1 .. {}: {} has {} vectors{}", request_.k,
                              candidates, base_->name(), base_->count(),
                              request_.exclude_self ? ", one of which is the query itself" : ""));
    }
    const std::int64_t parts = (base_->count() + corpus_unit - 1) / corpus_unit;
    if (ranks_.size() > parts) {
      throw error(failure::usage,
                  fmt::format("{} has {} vectors, a part of {} for each of at most {} ranks; start "
                              "no more",
                              base_->name(), base_->count(), corpus_unit, parts));
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
    sizes.ranks = ranks_.size();
    sizes.threads = place_.description().threads;
    sizes.keeps_input = !entry.promises.modifies_input;
    sizes.workspace = [&](std::int64_t rows, std::int64_t n) -> std::int64_t {
      if (entry.workspace == nullptr || !place_.shares_host_memory()) return 0;
      problem p;
      p.n = n;
      p.q = rows;
      p.k = std::min(request_.k + 1, n);
      p.index = preferred_index(entry);
      return static_cast<std::int64_t>(entry.workspace(p, place_.description()));
    };
    return plan_tiles(sizes, request_.memory_bytes - report_.held_bytes, query_tile);
  }

  // On rank 0, which alone writes.
  json open_results() {
    if (ranks_.rank() == 0) {
      store_.emplace(result_request{.indices = request_.indices,
                                    .distances = request_.distances,
                                    .queries = queries().count(),
                                    .k = request_.k,
                                    .job = job().dump(),
                                    .resume = request_.resume});
    }
    return json::object();
  }

  tiled_report search(std::int64_t query_tile, std::int64_t done) {
    // The same length of query tiles everywhere; each rank's own memory for the corpus.
    report_.plan = plan_for(query_tile);
    report_.n = base_->count();
    report_.queries = queries().count();
    report_.dimension = base_->dimension();
    report_.query_tiles = (report_.queries - done + query_tile - 1) / query_tile;
    report_.queries_before = done;
    shard_search shard(request_, *base_, first_, end_, report_.plan.corpus_tile, place_);
    report_.corpus_tiles = shard.tiles();
    if (ranks_.rank() == 0) observer_.planned(report_);
    for (std::int64_t first = done; first < report_.queries; first += query_tile) {
      const vector_set tile = read_queries(first, std::min(query_tile, report_.queries - first));
      neighbour_lists best(tile.count, request_.k);
      shard.nearest(tile, first, best);
      write(gpu_ ? gpu_->merged(std::move(best))
                 : merged_over_ranks(ranks_, std::move(best), place_.description().threads));
    }
    finish();
    report_.bytes_read = shard.bytes_read();
    return report_;
  }

  vector_set read_queries(std::int64_t first, std::int64_t count) {
    vector_set tile;
    tile.count = count;
    tile.dimension = base_->dimension();
    tile.source = queries().name();
    tile.data.resize(index(count * tile.dimension));
    if (ranks_.rank() == 0) queries().read(first, count, tile.data.data());
    ranks_.broadcast(std::as_writable_bytes(std::span(tile.data)));
    return tile;
  }

  // While the next tile is searched.
  void write(neighbour_lists answer) {
    if (ranks_.rank() != 0) return;
    await_written();
    answer_.emplace(std::move(answer));
    writing_ = std::async(std::launch::async, [this] {
      store_->append(answer_->queries(), answer_->distances(), answer_->indices());
    });
  }

  void await_written() {
    if (!writing_.valid()) return;
    writing_.get();
    observer_.finished_tile(store_->done());
  }

  // No rank ends before the results are in their place.
  void finish() {
    agree(ranks_, [&] {
      if (ranks_.rank() == 0) {
        await_written();
        store_->commit();
      }
      return json::object();
    });
  }

  const tiled_request& request_;
  backend& place_;
  communicator& ranks_;
  const tiled_observer& observer_;
  tiled_report report_;
  std::optional<vector_files> base_, query_;
  std::int64_t first_ = 0, end_ = 0;   // of this rank's part of the corpus
  std::unique_ptr<gpu_exchange> gpu_;  // null: through MPI
  std::optional<result_store> store_;
  std::optional<neighbour_lists> answer_;  // being written
  std::future<void> writing_;
};

}  // namespace

tiled_report knn_in_tiles(const tiled_request& request, backend& place, communicator& ranks,
                          const tiled_observer& observer) {
  return tiled_search(request, place, ranks, observer).run();
}

}  // namespace kselect
