#include "search/knn/tiled/list_exchange.hpp"

#include <array>
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

  neighbour_lists merged(neighbour_lists mine) override {
    if (ranks_.size() == 1) return mine;
    const std::int64_t k = mine.k();
    const std::vector<std::int64_t> shares = shares_of(mine.queries(), ranks_.size());
    const std::int64_t share = shares[index(ranks_.rank())];
    neighbour_lists& of_all = shaped(of_all_, ranks_.size() * share, k);
    const columns received{of_all.distances(), of_all.indices(), of_all.ranked()};
    move(&communicator::exchange, shares, mine, received, 3);
    neighbour_lists& own = shaped(own_, share, k);
    {
      const lap merging(taken_.merging);
      // As many as copy: the same thread does both in turn.
      merge_lists(ranks_.size(), {received.distances, received.indices, received.ranked},
                  runtime::moving_threads(threads_), own);
    }
    // `mine` has been sent and has the answer's size, so it is reused. What ranked the neighbours
    // is not wanted any more.
    move(&communicator::collect, shares, own, {mine.distances(), mine.indices(), {}}, 2);
    return mine;
  }

 private:
  struct columns {
    std::span<float> distances;
    std::span<std::int64_t> indices;
    std::span<double> ranked;
  };
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
    if (!lists || queries > lists->room()) lists.emplace(queries, k);
    lists->shape(queries);
    return *lists;
  }

  communicator& ranks_;
  int threads_;
  std::optional<neighbour_lists> of_all_, own_;
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
