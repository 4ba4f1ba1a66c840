#include "search/knn/tiled/tile_agreement.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <nlohmann/json.hpp>

#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/plan.hpp"

namespace kselect::search {

using json = nlohmann::ordered_json;

tile_agreement agree_on_tiles(const tiled_request& request, std::int64_t n,
                              const shard_search& shard, bool by_pairs, communicator& ranks) {
  const auto said = agree(ranks, [&]() -> json {
    const bool streams = request.by_products() && !shard.report().resident;
    const bool was_told = request.query_tile != 0, keeps_lists_whole = !shard.shortens_lists();
    return {{"proposal", {streams, was_told, keeps_lists_whole}}};
  });
  const auto any = [&](std::size_t i) {
    return std::ranges::any_of(said, [i](const json& one) { return one[i].get<bool>(); });
  };
  std::array<bool, 3> agreed = {any(0), any(1), any(2)};
  ranks.broadcast(std::as_writable_bytes(std::span(agreed)));
  const auto [streams, was_told, keeps_lists_whole] = agreed;
  const bool whole = keeps_lists_whole || by_pairs || streams;
  return {.streams = streams,
          .short_ends = request.by_products() && !by_pairs && !streams && !was_told,
          .list_length = whole ? request.k : neighbours_of_list(request.k, n, ranks.size())};
}

}  // namespace kselect::search
