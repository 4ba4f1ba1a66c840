#pragma once
// How the queries are cut into tiles that are searched one after the other.
//
// What happens before the first search and after the last is beside no search: the first tile's
// queries come, and the last one's lists go. Where another tile costs no reading, these are short:
// the first tile has a quarter of the longest length, and the last three a half, a quarter and an
// eighth. Each of the last is searched while the lists of the one before it go.

#include <cstdint>
#include <vector>

namespace kselect::search {

// What the ranks have agreed on.
struct query_range {
  std::int64_t first = 0, end = 0;  // of the queries to do
  std::int64_t tile = 0;            // the most of a tile
  std::int64_t k = 0;
  std::int64_t list_length = 0;  // neighbours of a rank's list of a query, at most k; 0: k
  bool short_ends = false;
};

class query_cut {
 public:
  explicit query_cut(const query_range& range);

  std::int64_t tiles() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  // first_of(tiles()) is the end of the range.
  std::int64_t first_of(std::int64_t tile) const { return starts_[static_cast<std::size_t>(tile)]; }
  std::int64_t count_of(std::int64_t tile) const { return first_of(tile + 1) - first_of(tile); }
  std::int64_t longest() const { return longest_; }

 private:
  void append(std::int64_t queries);
  void append_even(std::int64_t end, std::int64_t tile);

  std::vector<std::int64_t> starts_;
  std::int64_t longest_ = 0;
};

}  // namespace kselect::search
