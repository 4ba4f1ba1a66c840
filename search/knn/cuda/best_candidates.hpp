#pragma once
// The best candidates so far of one or several groups of queries, in the memory of a GPU.
//
// The candidates of a corpus tile are placed beside the best so far, and the same algorithm selects
// from both. So the result is that of one selection from the whole row, except for ties with the
// last candidate. It does not depend on how the corpus is cut or on the order of tiles.

#include <cstdint>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "search/knn/cuda/candidates.hpp"
#include "search/knn/cuda/proven_selection.hpp"
#include "search/search.hpp"

namespace kselect::search {

class stopwatch;

class best_candidates {
 public:
  // For `groups` groups of at most `rows` queries; the candidates of two queries are `pitch` apart.
  best_candidates(backend& place, std::int64_t groups, std::int64_t rows, std::int64_t pitch);

  // Removes all candidates of the group.
  void forget(std::int64_t group) { sets_[static_cast<std::size_t>(group)].empty = true; }
  // Enqueues: merges `found` into the group's candidates. `selection` selected it from the
  // distances of the group's queries to a tile that starts at corpus vector `first`.
  void add(std::int64_t group, const selected& found, const query_rows& queries,
           const vectors_on_device& tile, std::int64_t first, proven_selection& selection,
           stopwatch& watch);
  const candidates& of(std::int64_t group) const {
    return sets_[static_cast<std::size_t>(group)].held;
  }

  // Rows of candidates for so many groups. One set more is a spare: merged candidates go there, and
  // it is then swapped with the set that they came from.
  static constexpr std::int64_t rows_for(std::int64_t groups, std::int64_t rows) {
    return (groups + 1) * rows;
  }
  static constexpr std::int64_t bytes_per_row(std::int64_t pitch) {
    return pitch * static_cast<std::int64_t>(sizeof(float) + sizeof(std::int64_t) + sizeof(double));
  }

 private:
  struct set {
    candidates held;
    bool empty;
  };

  void* stream_;
  device_buffer ranked_, index_, exact_;
  std::vector<set> sets_;
  candidates spare_{};
};

}  // namespace kselect::search
