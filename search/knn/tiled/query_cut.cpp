#include "search/knn/tiled/query_cut.hpp"

#include <algorithm>
#include <array>

#include "search/knn/tiled/plan.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t first_share = 4;  // of a tile: a quarter
constexpr std::array<std::int64_t, 3> last_shares = {2, 4, 8};
// Fewer whole tiles are cut as they are: short ones would be most of the search.
constexpr std::int64_t fewest_tiles = 4;

std::int64_t share_of(std::int64_t tile, std::int64_t share) {
  return tile / share / query_unit * query_unit;
}

}  // namespace

query_cut::query_cut(const query_range& range) : starts_{range.first} {
  const bool is_short = range.short_ends && share_of(range.tile, last_shares.back()) > 0 &&
                        range.end - range.first >= fewest_tiles * range.tile;
  std::int64_t end = range.end;
  if (is_short) {
    append(share_of(range.tile, first_share));
    for (const std::int64_t share : last_shares) end -= share_of(range.tile, share);
  }
  while (starts_.back() < end) append(std::min(range.tile, end - starts_.back()));
  if (!is_short) return;
  for (const std::int64_t share : last_shares) append(share_of(range.tile, share));
}

void query_cut::append(std::int64_t queries) {
  starts_.push_back(starts_.back() + queries);
  longest_ = std::max(longest_, queries);
}

}  // namespace kselect::search
