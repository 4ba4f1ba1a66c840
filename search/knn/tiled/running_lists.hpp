#pragma once
// The nearest neighbours so far of one tile of queries, in the executor's memory, while one tile of
// the corpus after another is searched. The host gets the last lists, and columns of those so far.
// All lists of each tile, 20 bytes a neighbour, would take longer than the tile's products.
//
// The order is that of neighbour_lists, and so are the lists in the end.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/backend/backend.hpp"
#include "search/knn/tiled/answer_memory.hpp"
#include "search/knn/tiled/neighbour_lists.hpp"
#include "search/search.hpp"

namespace kselect::search {

struct tile_lists;

class running_lists {
 public:
  // Most bytes of the executor's memory for a neighbour of a query.
  static constexpr std::int64_t bytes_a_neighbour =
      3 * (sizeof(std::int64_t) + sizeof(float) + sizeof(double));

  // `root`: the distances are euclidean, whose squares rank.
  running_lists(backend& place, bool root) : place_(place), root_(root) {}

  // Begins a tile of queries with empty lists of at most k neighbours.
  void begin(std::int64_t queries, std::int64_t k);
  // Where the search of a tile of the corpus writes `k` answers a query, at most those of begin().
  fused::answers next(std::int64_t k);
  // Enqueues their merge. `first` is added to their indices.
  void merge(std::int64_t first);

  // [queries]: how far the neighbour at `place` of each list is, or the bound if that is nearer;
  // +inf: neither is known. In the executor's memory until the next call. `bounds`: [queries], or
  // empty.
  fused::global<const double> farthest(std::int64_t place, std::span<const double> bounds);
  // The same on the host, without bounds.
  std::vector<double> column(std::int64_t place);

  // Waits for the work and brings the lists to the host. `to` has as many queries, and at most k
  // neighbours each. Query q leaves out index first_own + q, unless that is no_neighbour.
  void bring(std::int64_t first_own, neighbour_lists& to);

 private:
  struct buffer {
    answer_memory memory;
    std::int64_t k = 0, offset = 0;
  };
  static tile_lists lists_in(const buffer& from);
  void download(std::span<std::int64_t> indices, std::span<float> distances,
                std::span<double> exact);
  void bring_some(std::int64_t first_own, neighbour_lists& to);

  backend& place_;
  bool root_;
  std::int64_t queries_ = 0, k_ = 0;
  // The lists so far, those of the tile that is searched, and what both merge into.
  std::array<buffer, 3> buffers_;
  buffer& so_far() { return buffers_[now_]; }
  buffer& found() { return buffers_[(now_ + 1) % 3]; }
  buffer& merged() { return buffers_[(now_ + 2) % 3]; }
  std::size_t now_ = 0;
  device_buffer column_, bounds_;
  std::vector<std::int64_t> indices_;
  std::vector<float> distances_;
  std::vector<double> exact_;
};

}  // namespace kselect::search
