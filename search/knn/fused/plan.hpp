#pragma once
// The numbers of a fused search. They follow from sizes alone.
//
// A threshold is the score of rank r among m scores of n. So about r n / m scores of a row exceed
// it, give or take sqrt(r) n / m, and at least k do unless chance is against it:
// r = k m / n + 3.6 sqrt(k m / n) + 4.
//
// The m scores are those of a sixteenth of the corpus, or more of a small one. Of these a row gets
// maxima of groups of columns (filter.cuh), if these are many enough for r. They have rank r where
// the scores have a rank of about -g log(1 - r / g), with g groups: the best scores share some of
// them. Then the whole corpus is filtered.
//
// Otherwise a few tiles give all their scores, and a selection from these the first threshold. If
// the corpus is large enough, a sixteenth of it is filtered with that, and the survivors give a
// sharper one; with that, the rest.

#include <cstdint>
#include <string>

#include "kselect/algorithm.hpp"
#include "kselect/simt/products.hpp"

namespace kselect::search::fused {

// What multiplies in the filter. All bodies read the same prepared corpus and write the same lists.
enum class product_body : std::uint8_t {
  fastest,   // wgmma, or else wgmma_slabs, where no reason is named against it; else mma_sync
  mma_sync,  // filter.cuh: every GPU from compute capability 8.0 on, fibers, any dimension
  wgmma,     // filter_wgmma.cu: compute capability 9.0, float16, up to 128 components
  // filter_slabs_wgmma.cu: compute capability 9.0, any dimension, all factors. Scores of a few
  // tiles, a graph's pairs and filters of each query are by mma_sync then.
  wgmma_slabs
};

// A block of the wgmma body multiplies so many tiles of queries with a tile of the corpus.
inline constexpr int query_tiles_of_wgmma = 2;
inline constexpr int most_slabs_of_wgmma = 2;
// Why a pass over vectors of so many slabs cannot be done by wgmma there; empty if it can.
std::string why_not_wgmma(const device& place, std::int64_t slabs);

// So many tiles of the corpus are multiplied at once: two by wgmma_slabs, one by the other bodies.
constexpr int tiles_together(product_body body) {
  return body == product_body::wgmma_slabs ? 2 : 1;
}
std::string why_not_by_slabs(const device& place);

struct search_shape {
  std::int64_t n = 0, q = 0, dimension = 0;
  std::int64_t k = 0;  // one more if a query leaves itself out
  // So many of the k are what thresholds are for, the others a margin (fused_search.hpp). 0: all.
  std::int64_t wanted = 0;
  product_body body = product_body::fastest;
  std::int64_t most_rows = 0;   // queries at a time; 0: as many as pay
  std::int64_t bytes = 0;       // the most memory of the search (memory_plan.hpp); 0: unbounded
  bool wgmma_is_built = false;  // whether this program has the wgmma body
  bool each = false;            // queries differ in what they leave out
  simt::product factors = simt::product::float16;
  // The queries are all vectors of the corpus, and each pair is to be multiplied once.
  bool half_product = false;
  int shares = 1;           // searches that these pairs are dealt to
  bool leaves_out = false;  // some vectors, of any query
  bool of_inner_products = false;
};

// The pass of a graph that multiplies each pair once (half_pairs.cuh).
struct half_plan {
  // Why it does not; empty if it does, or was not asked for.
  std::string impossible_because;
  std::int64_t part = 0;    // tiles of a block's columns; 0: every query is multiplied with all
  std::int64_t blocks = 0;  // of the pass
  int room = 0;             // of a vector's list
  double hits = 0;          // the share of a row's scores, as expected
  bool taken() const { return part != 0; }
};

// One pass of the filter over tiles [first, last).
struct pass_plan {
  std::int64_t first = 0, last = 0;
  std::int64_t part = 0;  // tiles of a piece of the work (pieces.cuh), or of a block
  int splits = 0;         // parts
  int room = 0;           // survivors of a row and part
  double most = 0;        // survivors of a row
  double steps = 0;       // of a multiprocessor, over all its pieces or blocks
  std::int64_t tiles() const { return last - first; }
};

// What lists take: one for each row, of which a tile has `tile_rows`, and part.
struct list_sizes {
  std::int64_t lists = 0, entries = 0;
  static list_sizes of(const pass_plan& pass, std::int64_t rows);
  bool hold(const list_sizes& less) const { return less.lists <= lists && less.entries <= entries; }
};

// Of a block that finishes a query (finish.cuh): what it has room for, and its threads.
struct finish_room {
  std::uint32_t survivors = 0;
  std::uint32_t measured = 0;  // of them, in float64: a power of two, at least k
  int threads = 128;
};

struct search_plan {
  // Empty: products filter. Else why all queries are done in float64 at once.
  const char* by_float64_because = "";
  std::int64_t rows = 0;                               // queries at a time
  std::int64_t float64_bytes = std::int64_t{1} << 30;  // of distances held at once
  std::int64_t matrix_tiles = 0, matrix_rank = 0;
  std::int64_t group = 0;  // tiles of a group, if the matrix has maxima; 0: it has all scores
  pass_plan matrix;        // over these tiles, without lists
  pass_plan first;         // no tiles: the matrix gives the only threshold
  std::int64_t first_rank = 0;
  pass_plan second;
  half_plan half;  // in place of `second`, if it is taken
  finish_room room;
  product_body body =
      product_body::mma_sync;  // of all passes, but a matrix of scores is by mma_sync

  bool filters() const { return *by_float64_because == '\0'; }
  // Numbers of a row of the matrix.
  std::int64_t columns() const;
  // The second pass for that many queries, at most `rows`, with lists in that memory.
  pass_plan second_of(std::int64_t queries, const list_sizes& memory, const device& place) const;
};

// Whether products of bytes in integers take less time there than products in float16: where they
// have fewer slabs, unless wgmma multiplies float16 alone.
bool integers_are_faster(const search_shape& shape, const device& place);
// Whether a graph of this shape takes less time by half of its products there. Hits of pairs take
// longer than survivors of rows, so they must be rare.
bool half_is_faster(search_shape shape, const device& place);
// The rank among `part` of n scores that leaves at least k of all n, in all likelihood.
std::int64_t rank_among(std::int64_t k, std::int64_t part, std::int64_t n);
// A pass over the tiles [first, last) for `rows` queries. Of a row `most` may survive.
pass_plan plan_pass(std::int64_t first, std::int64_t last, std::int64_t rows, double most,
                    const device& place, product_body body);
// The same pass for fewer rows than it was planned for, with lists in that memory. Their blocks
// would occupy the GPU badly if the parts were those of more rows.
pass_plan plan_pass_of_fewer(const pass_plan& of, std::int64_t rows, const list_sizes& memory,
                             const device& place, product_body body);
search_plan plan_search(const search_shape& shape, const device& place);

}  // namespace kselect::search::fused
