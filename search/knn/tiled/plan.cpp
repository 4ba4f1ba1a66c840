#include "search/knn/tiled/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "search/knn/fused/plan.hpp"
#include "search/knn/host/block_search.hpp"
#include "search/search.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t float_bytes = 4;
constexpr std::int64_t neighbour_bytes = 4 + 8 + 8;  // distance, the number that ranks it, index
constexpr std::int64_t bytes_of_bounds = 64;         // of a query, among ranks (bound_sharing.hpp)
constexpr std::int64_t mebibyte = 1 << 20;
// A block of queries is searched at once: enough that packing the corpus for it costs little.
constexpr std::int64_t block_bytes = 32 * mebibyte;

std::int64_t units(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit; }

// Of a block, with one neighbour more than k, which is asked for where a query may find itself.
std::int64_t bytes_per_query(const tiled_sizes& s, std::int64_t corpus_tile) {
  return block_bytes_per_query(corpus_tile, s.k + 1, s.keeps_input ? 1 : 2);
}

// The largest multiple of `unit` (or `most` itself) for which `fits` holds. It is known to hold for
// `least`, the result if no larger one fits.
std::int64_t largest(std::int64_t least, std::int64_t most, std::int64_t unit,
                     const std::function<bool(std::int64_t)>& fits) {
  std::int64_t low = units(least, unit), high = std::max<std::int64_t>(1, units(most, unit));
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (fits(std::min(middle * unit, most))) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return std::min(low * unit, most);
}

// The least length, in whole units, that cuts the queries into as few tiles as `length` does. It
// makes tiles even: a short last tile would cost as much as a whole pass.
std::int64_t even_length(std::int64_t queries, std::int64_t length) {
  const std::int64_t tiles = units(queries, length);
  return std::min(length, units(units(queries, tiles), query_unit) * query_unit);
}

}  // namespace

std::int64_t host_block_bytes(const tiled_sizes& s, std::int64_t corpus_tile) {
  return std::max(block_bytes, query_unit * bytes_per_query(s, corpus_tile));
}

std::int64_t tile_bytes(const tiled_sizes& s, std::int64_t corpus_tile, std::int64_t query_tile) {
  // At least what a block takes, and growing with the tile, although the number of queries does
  // not.
  const std::int64_t a_query = bytes_per_query(s, corpus_tile);
  const std::int64_t block = std::min(query_tile * a_query, host_block_bytes(s, corpus_tile));
  const std::int64_t seeds = seed_length(corpus_tile, s.k + 1);
  // Two tiles, one of which is being read; images and norms; marks of the certificate.
  const std::int64_t corpus =
      corpus_tile * (2 * s.dimension * float_bytes + 32) + s.threads * seeds;
  // Queries that are searched, and the next. Lists of a tile that is searched, of one that is
  // exchanged and of one that is written; with ranks also those received and merged.
  // What a GPU delivers of queries that may find themselves has a neighbour more.
  const std::int64_t neighbours = s.k * (s.ranks > 1 ? 5 : 3) + (s.delivers ? s.k + 1 : 0);
  const std::int64_t queries =
      query_tile * (2 * s.dimension * float_bytes + neighbours * neighbour_bytes +
                    (s.ranks > 1 ? bytes_of_bounds : 0));
  // Those that are searched again, where a GPU delivers lists shorter than k.
  const std::int64_t again = s.ranks > 1 && s.delivers
                                 ? query_unit * (s.dimension * float_bytes + s.k * neighbour_bytes)
                                 : 0;
  // Products and their factors, stacks, pieces of a file.
  const std::int64_t fixed =
      s.threads * (8 * mebibyte + host_thread_bytes(s.dimension, s.k + 1)) + s.reading_bytes;
  return fixed + corpus + queries + again + block + s.workspace(block / a_query, seeds);
}

tile_plan plan_tiles(const tiled_sizes& s, std::int64_t bytes, std::int64_t query_tile) {
  const std::int64_t least_corpus = std::min(corpus_unit, s.n);
  const std::int64_t asked = std::min(s.queries, units(query_tile, query_unit) * query_unit);
  const std::int64_t least_queries = query_tile > 0 ? asked : std::min(query_unit, s.queries);
  const std::int64_t least = tile_bytes(s, least_corpus, least_queries);
  if (least > bytes) {
    throw error(
        failure::resources,
        fmt::format("the memory limit leaves {} MiB for tiles, but {} x {} vectors of "
                    "dimension {} with k = {} on {} need {} MiB; raise "
                    "--memory-limit by {} MiB or lower --threads",
                    std::max<std::int64_t>(0, bytes / mebibyte), least_corpus, least_queries,
                    s.dimension, s.k, runtime::amount_of(s.threads, "thread"),
                    units(least, mebibyte), units(least - bytes, mebibyte)));
  }
  const std::int64_t rest = bytes - least;
  tile_plan plan;
  const std::int64_t most_corpus = std::min(s.n, s.most_corpus_tile);
  plan.corpus_tile = largest(least_corpus, most_corpus, corpus_unit, [&](std::int64_t tile) {
    return tile_bytes(s, tile, least_queries) <= least + rest / 2;
  });
  plan.query_tile = query_tile > 0
                        ? asked
                        : largest(least_queries, std::min(s.queries, s.most_query_tile), query_unit,
                                  [&](std::int64_t tile) {
                                    return tile_bytes(s, plan.corpus_tile, tile) <= bytes;
                                  });
  if (query_tile == 0) plan.query_tile = even_length(s.queries, plan.query_tile);
  plan.corpus_tile = largest(plan.corpus_tile, most_corpus, corpus_unit, [&](std::int64_t tile) {
    return tile_bytes(s, tile, plan.query_tile) <= bytes;
  });
  plan.bytes = tile_bytes(s, plan.corpus_tile, plan.query_tile);
  return plan;
}

std::vector<std::int64_t> shares_of(std::int64_t queries, int ranks) {
  std::vector<std::int64_t> shares;
  for (int r = 0; r < ranks; ++r) {
    shares.push_back(queries * (r + 1) / ranks - queries * r / ranks);
  }
  return shares;
}

std::int64_t first_of_rank(std::int64_t n, int rank, int ranks) {
  // Quotient and remainder apart: all * rank may not fit 64 bits.
  const std::int64_t all = units(n, corpus_unit);
  const std::int64_t first = all / ranks * rank + all % ranks * rank / ranks;
  return std::min(n, first * corpus_unit);
}

std::int64_t neighbours_of_list(std::int64_t k, std::int64_t n, int ranks) {
  std::int64_t longest = 0, shortest = n;
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t part = first_of_rank(n, r + 1, ranks) - first_of_rank(n, r, ranks);
    longest = std::max(longest, part);
    shortest = std::min(shortest, part);
  }
  const std::int64_t length = fused::rank_among(k, longest, n);
  return length <= k * 9 / 10 && length <= shortest / 4 ? length : k;
}

}  // namespace kselect::search
