#include "search/knn/cuda/graph_by_pairs.hpp"

#if KSELECT_HAS_CUDA

#include <algorithm>

#include "search/knn/cuda/stages.hpp"

namespace kselect::search {
namespace {

void rank_by_itself(knn_stages& work, std::int64_t i) {
  const even_cut& tiles = work.plan().corpus;
  const query_rows own = work.queries(tiles.first(i), tiles.width(i));
  work.watch().time(&cuda_knn_times::distance, [&] {
    work.distances().multiply_by_itself(own.vectors, work.rows(), work.plan().pitch);
  });
  work.select(i, work.rows(), own, own.vectors, tiles.first(i));
}

void rank_pair(knn_stages& work, std::int64_t i, std::int64_t j) {
  const even_cut& tiles = work.plan().corpus;
  const query_rows of_i = work.queries(tiles.first(i), tiles.width(i));
  const query_rows of_j = work.queries(tiles.first(j), tiles.width(j));
  work.watch().time(&cuda_knn_times::distance, [&] {
    work.distances().multiply_both_ways(of_i.vectors, of_j.vectors, work.rows(),
                                        work.transposed_rows(), work.plan().pitch);
  });
  work.select(i, work.rows(), of_i, of_j.vectors, tiles.first(j));
  work.select(j, work.transposed_rows(), of_j, of_i.vectors, tiles.first(i));
}

// Times a product alone, to compare the stage `distance` with. It is whole also on the diagonal.
void time_bare_product(knn_stages& work, std::int64_t i, std::int64_t j) {
  if (work.request().cuda.repeats == 0) return;
  const even_cut& tiles = work.plan().corpus;
  work.watch().time(&cuda_knn_times::bare_product, [&] {
    work.distances().product_only(work.queries(tiles.first(i), tiles.width(i)).vectors,
                                  work.queries(tiles.first(j), tiles.width(j)).vectors, work.rows(),
                                  work.plan().pitch);
  });
}

}  // namespace

void graph_by_pairs(knn_stages& work, const std::function<void(const knn_block&)>& sink) {
  const even_cut& tiles = work.plan().corpus;
  const int repeats = std::max(1, work.request().cuda.repeats);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    work.begin(repeat);
    work.summarise_corpus();
    for (std::int64_t i = 0; i < tiles.parts; ++i) work.forget(i);
    for (std::int64_t i = 0; i < tiles.parts; ++i) {
      time_bare_product(work, i, i);
      rank_by_itself(work, i);
      for (std::int64_t j = i + 1; j < tiles.parts; ++j) {
        time_bare_product(work, i, j);
        rank_pair(work, i, j);
      }
      work.add_times(repeat);
    }
    for (std::int64_t i = 0; i < tiles.parts; ++i) {
      const std::int64_t first = tiles.first(i), count = tiles.width(i);
      work.answer(i, work.queries(first, count), repeat);
      work.add_times(repeat);
      if (repeat + 1 == repeats) work.deliver(first, count, sink);
    }
  }
}

}  // namespace kselect::search

#endif
