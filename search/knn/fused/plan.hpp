#pragma once
// The numbers of a fused search. They follow from sizes alone.
//
// A few tiles give all their scores, and a selection from these the first threshold. With it a
// sixteenth of the corpus is filtered, and the survivors give a sharper one; with that, the rest.
// A threshold is the score of rank r among m scores of n. So about r n / m scores of a row exceed
// it, give or take sqrt(r) n / m, and at least k do unless chance is against it:
// r = k m / n + 3.2 sqrt(k m / n) + 3.

#include <cstdint>
#include <string>

#include "kselect/algorithm.hpp"

namespace kselect::search::fused {

// What multiplies in the filter. All bodies read the same prepared corpus and write the same lists.
enum class product_body : std::uint8_t {
  fastest,   // wgmma where why_not_wgmma names no reason, else mma_sync
  mma_sync,  // filter.cuh: every GPU from compute capability 8.0 on, fibers, any dimension
  wgmma      // filter_wgmma.cu: compute capability 9.0
};

// A block of the wgmma body multiplies so many tiles of queries with a tile of the corpus.
inline constexpr int query_tiles_of_wgmma = 2;
inline constexpr int most_slabs_of_wgmma = 2;
// Why a pass over vectors of so many slabs cannot be done by wgmma there; empty if it can.
std::string why_not_wgmma(const device& place, std::int64_t slabs);

struct search_shape {
  std::int64_t n = 0, q = 0, dimension = 0;
  std::int64_t k = 0;  // one more if a query leaves itself out
  product_body body = product_body::fastest;
  bool wgmma_is_built = false;  // whether this program has the wgmma body
};

// One pass of the filter over tiles [first, last).
struct pass_plan {
  std::int64_t first = 0, last = 0;
  std::int64_t part = 0;  // tiles of a block
  int splits = 0;         // parts
  int room = 0;           // survivors of a row and part
  std::int64_t tiles() const { return last - first; }
};

struct search_plan {
  // Empty: products filter. Else why all queries are done in float64 at once.
  const char* by_float64_because = "";
  std::int64_t rows = 0;  // queries at a time
  std::int64_t matrix_tiles = 0, matrix_rank = 0;
  pass_plan first;  // no tiles: the matrix gives the only threshold
  std::int64_t first_rank = 0;
  pass_plan second;
  std::uint32_t finish_room = 0;
  product_body body = product_body::mma_sync;  // of both passes; the matrix is by mma_sync

  bool filters() const { return *by_float64_because == '\0'; }
};

// The rank among `part` of n scores that leaves at least k of all n, in all likelihood.
std::int64_t rank_among(std::int64_t k, std::int64_t part, std::int64_t n);
// A pass over the tiles [first, last) for `rows` queries, of which about `expected` survive a row.
pass_plan plan_pass(std::int64_t first, std::int64_t last, std::int64_t rows, double expected,
                    const device& place, product_body body);
search_plan plan_search(const search_shape& shape, const device& place);

}  // namespace kselect::search::fused
