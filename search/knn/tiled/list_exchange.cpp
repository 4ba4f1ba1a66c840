#include "search/knn/tiled/list_exchange.hpp"

#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/copy_by_threads.hpp"
#include "runtime/error.hpp"
#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/times.hpp"
#if KSELECT_HAS_CUDA
#include "runtime/backend/cuda_backend.hpp"
#endif
#if KSELECT_HAS_NCCL
#include "search/knn/tiled/cuda/nccl_exchange.hpp"
#endif

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

class host_exchange final : public list_exchange {
 public:
  host_exchange(communicator& ranks, int threads) : ranks_(ranks), threads_(threads) {}

  void reserve(std::int64_t queries, std::int64_t k) override {
    if (ranks_.size() == 1) return;
    const std::int64_t share = (queries + ranks_.size() - 1) / ranks_.size();
    shaped(of_all_, ranks_.size() * share, k);
    shaped(own_, share, k);
  }

  answer merged(neighbour_lists mine, std::int64_t k) override {
    if (ranks_.size() == 1) return {std::move(mine)};
    const std::int64_t queries = mine.queries(), length = mine.k();
    const std::vector<std::int64_t> shares = shares_of(queries, ranks_.size());
    const std::int64_t share = shares[index(ranks_.rank())];
    neighbour_lists& of_all = shaped(of_all_, ranks_.size() * share, length);
    const columns received{of_all.distances(), of_all.indices(), of_all.ranked()};
    move(&communicator::exchange, shares, mine, received, 3);
    neighbour_lists& own = shaped(own_, share, k);
    own_lack_.resize(index(share));
    merge({received.distances, received.indices, received.ranked}, length, own);
    // `mine` has been sent, and its memory has room for the answer. What ranked the neighbours is
    // not wanted any more.
    mine.shape(queries, k);
    move(&communicator::collect, shares, own, {mine.distances(), mine.indices(), {}}, 2);
    if (length == k) return {std::move(mine)};
    return {std::move(mine), all_lacking(shares)};
  }

 private:
  struct columns {
    std::span<float> distances;
    std::span<std::int64_t> indices;
    std::span<double> ranked;
  };
  void merge(const list_columns& received, std::int64_t length, neighbour_lists& own) {
    const lap merging(taken_.merging);
    // As many as copy: the same thread does both in turn.
    const int threads = runtime::moving_threads(threads_);
    if (length == own.k()) return merge_lists(ranks_.size(), received, threads, own);
    merge_beginnings(ranks_.size(), length, received, threads, own, own_lack_);
  }
  // From own_lack_ of each rank.
  std::vector<std::int64_t> all_lacking(const std::vector<std::int64_t>& shares) {
    const lap moving(taken_.moving);
    lack_.resize(std::accumulate(shares.begin(), shares.end(), std::size_t{0}));
    const communicator::column marks{1, std::as_bytes(std::span(own_lack_)),
                                     std::as_writable_bytes(std::span(lack_))};
    ranks_.collect(std::span(&marks, 1), shares);
    ranks_.broadcast(std::as_writable_bytes(std::span(lack_)));
    std::vector<std::int64_t> rows;
    for (std::size_t row = 0; row < lack_.size(); ++row) {
      if (lack_[row] != 0) rows.push_back(static_cast<std::int64_t>(row));
    }
    return rows;
  }
  // The first `count` columns.
  template <class Step>
  void move(Step step, const std::vector<std::int64_t>& shares, const neighbour_lists& from,
            const columns& to, std::size_t count) {
    const lap moving(taken_.moving);
    const std::array<communicator::column, 3> all = {
        {{index(from.k()) * sizeof(float), std::as_bytes(from.distances()),
          std::as_writable_bytes(to.distances)},
         {index(from.k()) * sizeof(std::int64_t), std::as_bytes(from.indices()),
          std::as_writable_bytes(to.indices)},
         {index(from.k()) * sizeof(double), std::as_bytes(from.ranked()),
          std::as_writable_bytes(to.ranked)}}};
    (ranks_.*step)(std::span(all).first(count), shares);
  }

  static neighbour_lists& shaped(std::optional<neighbour_lists>& lists, std::int64_t queries,
                                 std::int64_t k) {
    if (!lists || !lists->holds(queries, k)) lists.emplace(queries, k);
    lists->shape(queries, k);
    return *lists;
  }

  communicator& ranks_;
  int threads_;
  std::optional<neighbour_lists> of_all_, own_;
  std::vector<std::uint8_t> own_lack_, lack_;  // by query: 1 if neighbours are not certain
};

// Why this rank cannot use NCCL; empty if it can.
std::string why_no_nccl_here(const backend& place) {
  if (place.description().kind != executor_kind::cuda) return "NCCL is for executor cuda";
#if KSELECT_HAS_NCCL
  return why_no_nccl();
#else
  return "this build has no NCCL: build with CUDA where nccl.h is found";
#endif
}

std::string gpu_of([[maybe_unused]] const backend& place) {
#if KSELECT_HAS_CUDA
  if (!place.shares_host_memory()) return observe_cuda(place.number()).uuid;
#endif
  return {};
}

// Why the ranks together cannot use NCCL; empty if they can. On rank 0.
std::string why_no_nccl_together(const communicator& ranks, const std::vector<std::string>& said) {
  std::vector<std::string> seen;
  for (const std::string& text : said) {
    const json rank = json::parse(text);
    if (const std::string why = rank.at("why"); !why.empty()) return why;
    const std::string gpu = rank.at("gpu");
    for (std::size_t other = 0; other < seen.size(); ++other) {
      if (seen[other] != gpu) continue;
      return fmt::format("NCCL takes one rank a GPU, but {} and {} both have {}",
                         ranks.name(static_cast<int>(other)),
                         ranks.name(static_cast<int>(seen.size())), gpu);
    }
    seen.push_back(gpu);
  }
  return {};
}

}  // namespace

bool choose_nccl(exchange_kind kind, communicator& ranks, const backend& place) {
  if (kind == exchange_kind::host || ranks.size() == 1) return false;
  const json mine = {{"why", why_no_nccl_here(place)}, {"gpu", gpu_of(place)}};
  const std::vector<std::string> said =
      ranks.gather(mine.dump(-1, ' ', false, json::error_handler_t::replace));
  const std::string why_not =
      broadcast_text(ranks, ranks.rank() == 0 ? why_no_nccl_together(ranks, said) : std::string());
  if (!why_not.empty() && kind == exchange_kind::nccl) {
    throw agreed_error(failure::unsupported, why_not);
  }
  return why_not.empty();
}

std::unique_ptr<list_exchange> open_list_exchange(bool nccl, communicator& ranks, backend& place) {
  if (nccl) {
    if (const std::string why = why_no_nccl_here(place); !why.empty()) {
      throw error(failure::unsupported, why);
    }
  }
#if KSELECT_HAS_NCCL
  if (nccl) return open_nccl_exchange(ranks, place);
#endif
  return std::make_unique<host_exchange>(ranks, place.description().threads);
}

}  // namespace kselect::search
