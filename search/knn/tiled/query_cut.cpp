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
  if (!is_short) {
    while (starts_.back() < range.end) append(std::min(range.tile, range.end - starts_.back()));
    return;
  }
  std::int64_t end = range.end;
  for (const std::int64_t share : last_shares) end -= share_of(range.tile, share);
  append(share_of(range.tile, first_share));
  append_even(end, range.tile);
  for (const std::int64_t share : last_shares) append(share_of(range.tile, share));
}

// Tiles of whole units, as equal as these allow: a short one would not hide the lists of the tile
// before it.
void query_cut::append_even(std::int64_t end, std::int64_t tile) {
  const std::int64_t begin = starts_.back(), units = (end - begin + query_unit - 1) / query_unit;
  const std::int64_t a_tile = tile / query_unit, parts = (units + a_tile - 1) / a_tile;
  for (std::int64_t part = 1; part <= parts; ++part) {
    append(std::min(end, begin + units * part / parts * query_unit) - starts_.back());
  }
}

void query_cut::append(std::int64_t queries) {
  starts_.push_back(starts_.back() + queries);
  longest_ = std::max(longest_, queries);
}

}  // namespace kselect::search
