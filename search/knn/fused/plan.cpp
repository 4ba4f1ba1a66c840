#include "search/knn/fused/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "search/knn/fused/half_pairs.cuh"
#include "search/knn/fused/layout.hpp"

namespace kselect::search::fused {
namespace {

constexpr std::int64_t rows_at_once = 16384;  // queries: their lists and first scores stay small
constexpr std::int64_t most_matrix_tiles = 32, least_matrix_tiles = 8;
// The first pass filters 1/16 of the corpus. The matrix has the scores of 1/256 of it.
constexpr std::int64_t sample = 16, matrix_sample = 256;
// Maxima are of a larger part of a small corpus. This takes longer, but gives a sharper threshold.
// Fewer vectors survive it, and a small corpus has many survivors for each tile.
constexpr std::int64_t small_corpus = 1 << 15;
constexpr std::int64_t maxima_sample(std::int64_t n) {
  if (n < small_corpus) return 5;
  return n < 1 << 19 ? 8 : sample;
}
constexpr std::int64_t most_splits = 64;
constexpr std::int64_t least_vectors = 4096;  // below, float64 is as fast
constexpr double most_survivors = 1700;       // of a row, expected
constexpr std::int64_t most_maxima = 2048;    // of a row
constexpr std::int64_t groups_of_rank = 5;    // a threshold of rank r takes 5 r groups or more,
constexpr std::int64_t fewest_of_rank = 4;    // or 4 r if that saves steps
constexpr std::int64_t longest = 4096;        // dimension

// How many times as many survivors as expected a row may have. At most one row in 10^6 has more,
// and is done again. Survivors vary as the sum of r exponential variables does, with r the
// threshold's rank. With m = multiple * r, a row has more than m survivors as rarely as a Poisson
// variable of mean m is below r. We take r = m - 4.2 sqrt(m). The multiple is at least three: the
// rank of maxima is less certain than that of scores.
double most_for_each_expected(std::int64_t rank) {
  const auto r = static_cast<double>(rank);
  const double root = (4.2 + std::sqrt(4.2 * 4.2 + 4 * r)) / 2;
  return std::max(3.0, root * root / r);
}
// The rank among `part` scores that leaves what is wanted.
std::int64_t rank_of(const search_shape& s, std::int64_t part) {
  return rank_among(s.wanted == 0 ? s.k : s.wanted, part, s.n);
}
// Room for one part's share of a row's survivors, in whole lines of memory.
std::int64_t room_of(double most, int parts) {
  const double each = most / static_cast<double>(parts);
  return static_cast<std::int64_t>(std::ceil((each + 4 * std::sqrt(each) + 8) / 16)) * 16;
}

// A multiprocessor holds two blocks of mma_sync with a tile of queries each, or one of wgmma with
// two tiles, or one of wgmma_slabs with one. Those of wgmma go on with the next piece of the work
// (pieces.cuh), one of mma_sync ends and another begins. Both take time, here in steps: of wgmma a
// step is the shortest.
struct block_shape {
  std::int64_t query_tiles, a_multiprocessor;
  double steps_between, steps_beyond;  // from piece to piece; to begin and end
};
constexpr block_shape shape_of(product_body body) {
  if (body == product_body::wgmma) return {query_tiles_of_wgmma, 1, 1, 4};
  if (body == product_body::wgmma_slabs) return {1, 1, 0.25, 2};
  return {1, 2, 2, 0};
}
// What multiplies a graph's pairs.
constexpr product_body body_of_pairs(product_body body) {
  return body == product_body::wgmma_slabs ? product_body::mma_sync : body;
}

product_body chosen_body(const search_shape& s, const device& place) {
  if (s.body != product_body::fastest) return s.body;
  if (!s.wgmma_is_built) return product_body::mma_sync;
  if (s.factors == simt::product::float16 && why_not_wgmma(place, slabs_of(s.dimension)).empty()) {
    return product_body::wgmma;
  }
  return !s.each && why_not_by_slabs(place).empty() ? product_body::wgmma_slabs
                                                    : product_body::mma_sync;
}

}  // namespace

std::string why_not_by_slabs(const device& place) {
  if (place.compute_capability == 90) return {};
  return "wgmma needs a GPU of compute capability 9.0";
}

std::string why_not_wgmma(const device& place, std::int64_t slabs) {
  if (std::string reason = why_not_by_slabs(place); !reason.empty()) return reason;
  if (slabs > most_slabs_of_wgmma) {
    return "wgmma keeps queries in registers, which hold " +
           std::to_string(most_slabs_of_wgmma * slab_width) +
           " components; take wgmma_slabs or mma.sync";
  }
  return {};
}

bool integers_are_faster(const search_shape& s, const device& place) {
  if (s.body == product_body::wgmma) return false;  // it has none
  search_shape integers = s, floats = s;
  integers.factors = simt::product::int8;
  floats.factors = simt::product::float16;
  const bool slower_body = chosen_body(integers, place) == product_body::mma_sync &&
                           chosen_body(floats, place) != product_body::mma_sync;
  return !slower_body && slabs_of(s.dimension, simt::product::int8) < slabs_of(s.dimension);
}

std::int64_t rank_among(std::int64_t k, std::int64_t part, std::int64_t n) {
  const double mean = static_cast<double>(k) * static_cast<double>(part) / static_cast<double>(n);
  return static_cast<std::int64_t>(std::ceil(mean + 3.6 * std::sqrt(mean) + 4));
}

list_sizes list_sizes::of(const pass_plan& pass, std::int64_t rows) {
  const std::int64_t lists = tiles_of(rows) * tile_rows * pass.splits;
  return {lists, lists * pass.room};
}

namespace {

// A wave of pieces takes as long as its longest part, and some steps beyond. A step has one tile of
// the corpus, or as many as the body multiplies at once. `fits(pass)`: whether a pass may be taken;
// one may.
template <class Fits>
pass_plan plan_pass_that(const Fits& fits, std::int64_t first, std::int64_t last, std::int64_t rows,
                         double most, const device& place, product_body body) {
  pass_plan best{.first = first, .last = last};
  const std::int64_t tiles = last - first;
  const auto [query_tiles, a_multiprocessor, between, beyond] = shape_of(body);
  const std::int64_t blocks_of_part = (tiles_of(rows) + query_tiles - 1) / query_tiles;
  const std::int64_t together = tiles_together(body);
  const std::int64_t blocks_at_once =
      std::max<std::int64_t>(a_multiprocessor * place.multiprocessors, 1);
  best.steps = std::numeric_limits<double>::max();
  // Few queries need more parts than many to occupy the GPU.
  const std::int64_t most_parts = std::max(most_splits, 2 * blocks_at_once / blocks_of_part);
  for (std::int64_t wanted = 1; wanted <= std::min(most_parts, tiles); ++wanted) {
    const std::int64_t steps = (tiles + wanted * together - 1) / (wanted * together);
    const std::int64_t part = steps * together;
    const std::int64_t splits = (tiles + part - 1) / part;
    const std::int64_t blocks = splits * blocks_of_part;
    const std::int64_t waves = (blocks + blocks_at_once - 1) / blocks_at_once;
    const double cost =
        static_cast<double>(waves) * (static_cast<double>(steps) + between) + beyond;
    if (cost >= best.steps) continue;
    const pass_plan pass{.first = first,
                         .last = last,
                         .part = part,
                         .splits = static_cast<int>(splits),
                         .room = static_cast<int>(
                             std::min(room_of(most, static_cast<int>(splits)), part * tile_rows)),
                         .most = most,
                         .steps = cost};
    if (fits(pass)) best = pass;
  }
  if (tiles == 0) best.steps = 0;
  return best;
}

}  // namespace

pass_plan plan_pass(std::int64_t first, std::int64_t last, std::int64_t rows, double most,
                    const device& place, product_body body) {
  return plan_pass_that([](const pass_plan&) { return true; }, first, last, rows, most, place,
                        body);
}

pass_plan search_plan::second_of(std::int64_t queries, const list_sizes& memory,
                                 const device& place) const {
  return queries == rows ? second : plan_pass_of_fewer(second, queries, memory, place, body);
}

pass_plan plan_pass_of_fewer(const pass_plan& of, std::int64_t rows, const list_sizes& memory,
                             const device& place, product_body body) {
  return plan_pass_that(
      [&](const pass_plan& pass) { return memory.hold(list_sizes::of(pass, rows)); }, of.first,
      of.last, rows, of.most, place, body);
}

namespace {

// So many tiles have a maximum in common, where maxima are of this many.
std::int64_t group_of_maxima(std::int64_t tiles) {
  return (tiles * maxima_of_tile + most_maxima - 1) / most_maxima;
}

// Whether the corpus' part for maxima has enough of them for a threshold.
bool enough_maxima(const search_shape& s) {
  const std::int64_t part = tiles_of(s.n) / maxima_sample(s.n), group = group_of_maxima(part);
  if (group == 0) return false;
  const std::int64_t groups = (part + group - 1) / group;
  return groups * maxima_of_tile >= groups_of_rank * rank_of(s, part * tile_rows);
}

// The tiles of a small corpus that its maxima are of: a few less than its part, if their blocks
// then take fewer steps. On MNIST as a graph 12 tiles take two steps less than 15.
std::int64_t tiles_of_maxima(const search_plan& plan, const search_shape& s, const device& place) {
  const std::int64_t part = tiles_of(s.n) / maxima_sample(s.n);
  if (s.n >= small_corpus) return part;
  std::int64_t best = part;
  double least = std::numeric_limits<double>::max();
  for (std::int64_t tiles = part; 5 * tiles >= 4 * part; --tiles) {
    const std::int64_t rank = rank_of(s, tiles * tile_rows);
    if (tiles != part && tiles * maxima_of_tile < fewest_of_rank * rank) break;
    const double steps = plan_pass(0, tiles, plan.rows, 0, place, plan.body).steps;
    if (steps >= least) continue;
    least = steps;
    best = tiles;
  }
  return best;
}

// Plans a threshold from maxima, if there are enough. Returns the share of all scores that exceed
// it, as expected; 0: too few.
double take_maxima(search_plan& plan, const search_shape& s, const device& place) {
  if (s.each || !enough_maxima(s)) return 0;
  const std::int64_t sampled = tiles_of_maxima(plan, s, place), scores = sampled * tile_rows;
  const std::int64_t group = group_of_maxima(sampled), groups = (sampled + group - 1) / group;
  const std::int64_t rank = rank_of(s, scores);
  plan.matrix_tiles = sampled;
  plan.matrix_rank = rank;
  plan.group = group;
  // In units of groups, since a part has whole ones.
  plan.matrix = plan_pass(0, groups, plan.rows, 0, place, plan.body);
  plan.matrix.part *= group;
  plan.matrix.last = sampled;
  const auto maxima = static_cast<double>(groups * maxima_of_tile);
  const double of_scores = -maxima * std::log1p(-static_cast<double>(rank) / maxima);
  return of_scores / static_cast<double>(scores);
}

// The same from scores of a few tiles and, in a large corpus, from survivors of a sixteenth.
double take_scores(search_plan& plan, const search_shape& s, const device& place) {
  const std::int64_t tiles = tiles_of(s.n), sampled = tiles / sample;
  // Whole tiles only: padding must not take part in a rank.
  plan.matrix_tiles = std::clamp(tiles / matrix_sample, least_matrix_tiles, most_matrix_tiles);
  plan.matrix = plan_pass(0, plan.matrix_tiles, plan.rows, 0, place, product_body::mma_sync);
  const std::int64_t matrix = plan.matrix_tiles * tile_rows;
  plan.matrix_rank = rank_of(s, matrix);
  const auto of_matrix = static_cast<double>(plan.matrix_rank) / static_cast<double>(matrix);
  if (sampled < 2 * plan.matrix_tiles) return of_matrix;
  const std::int64_t vectors = sampled * tile_rows;
  plan.first_rank = rank_of(s, vectors);
  plan.first =
      plan_pass(0, sampled, plan.rows,
                of_matrix * static_cast<double>(vectors) * most_for_each_expected(plan.matrix_rank),
                place, plan.body);
  return static_cast<double>(plan.first_rank) / static_cast<double>(vectors);
}

constexpr std::int64_t longest_part_of_pairs = 128;  // tiles: in L2, beside the rows
// Half of the products takes less time if a slab has so many scores for each hit. On an H200
// (results/nvidia-h200-x4/graph_by_half) both take the same at 1,460 with two slabs by wgmma; half
// takes less at 1,550 with 13 slabs by mma.sync, and with seven slabs of bytes less at 3,100 and
// more at 770.
constexpr double scores_of_a_hit = 2000;

// Empty if each pair can be multiplied once; `survivors`: of a vector, expected.
std::string why_not_half(const search_plan& plan, const search_shape& s, const device& place,
                         std::int64_t room) {
  if (s.q != s.n) return "not every vector is a query";
  if (s.of_inner_products) return "scores of inner products are not symmetric";
  if (s.leaves_out) return "a filter leaves vectors out";
  if (plan.first.tiles() != 0) return "k is large for a threshold from maxima";
  const auto bytes = static_cast<std::size_t>(tiles_of(s.n) * tile_rows * room * 8);
  if (place.memory_bytes != 0 && bytes > place.memory_bytes / 4) {
    return "the lists of all vectors take " + std::to_string(bytes >> 20) +
           " MiB, more than a quarter of the memory";
  }
  return {};
}

// A block counts as its part, and as two tiles more to begin and to end. It has one part: blocks
// that append hits of pairs take no turns.
half_plan plan_half(const search_plan& plan, const search_shape& s, const device& place,
                    double survivors) {
  half_plan half;
  const std::int64_t room = room_of(survivors * most_for_each_expected(plan.matrix_rank), 1);
  half.impossible_because = why_not_half(plan, s, place, room);
  if (!half.impossible_because.empty()) return half;
  half.room = static_cast<int>(room);
  half.hits = survivors / static_cast<double>(s.n);
  const std::int64_t tiles = tiles_of(s.n);
  const block_shape shape = shape_of(body_of_pairs(plan.body));
  const std::int64_t together = shape.query_tiles;
  const std::int64_t at_once =
      place.multiprocessors > 0 ? shape.a_multiprocessor * place.multiprocessors : 4;
  double least = std::numeric_limits<double>::max();
  for (std::int64_t part = together; part <= longest_part_of_pairs; part += together) {
    const pair_blocks blocks{tiles, part, together};
    const std::int64_t own = blocks.count_of(0, s.shares);
    const auto cost = static_cast<double>((own + at_once - 1) / at_once * (part + 2));
    if (cost >= least) continue;
    least = cost;
    half.part = part;
    half.blocks = blocks.count();
  }
  return half;
}

}  // namespace

bool half_is_faster(search_shape shape, const device& place) {
  // mma.sync multiplies pairs then. It takes twice as long for each, so half of them saves nothing.
  if (chosen_body(shape, place) == product_body::wgmma_slabs) return false;
  shape.half_product = true;
  const half_plan half = plan_search(shape, place).half;
  const auto slabs = static_cast<double>(slabs_of(shape.dimension, shape.factors));
  return half.taken() && half.hits * scores_of_a_hit < slabs;
}

std::int64_t search_plan::columns() const {
  return group == 0 ? matrix_tiles * tile_rows
                    : (matrix_tiles + group - 1) / group * maxima_of_tile;
}

namespace {

// Of most queries only a few more than k survivors are measured. All are where scores do not tell
// them apart. The less room a block takes, the more of them a multiprocessor holds.
void plan_finish(search_plan& plan, std::int64_t k, const device& place, double survivors,
                 double multiple) {
  const auto most = static_cast<std::uint32_t>(std::max(256.0, multiple * survivors));
  plan.room.survivors = std::min(4096U, (most + 31) / 32 * 32);
  plan.room.measured = std::min(2048U, std::bit_ceil(most));
  // A block waits most of its time. If queries are too few to fill the GPU, a block has many
  // threads. Else, for few neighbours, more blocks of fewer threads hide the waits.
  constexpr std::int64_t few_neighbours = 12, blocks_to_fill = 2;
  if (plan.rows <= blocks_to_fill * place.multiprocessors) {
    plan.room.threads = 256;
  } else if (k <= few_neighbours) {
    plan.room.threads = 64;
  }
}

}  // namespace

search_plan plan_search(const search_shape& s, const device& place) {
  search_plan plan;
  plan.body = chosen_body(s, place);
  plan.rows = std::min(s.q, s.most_rows == 0 ? rows_at_once : s.most_rows);
  const std::int64_t tiles = tiles_of(s.n);
  static_assert(least_vectors == 4096 && longest == 4096, "the reasons below say so");
  if (s.n < least_vectors) {
    plan.by_float64_because = "the corpus has fewer than 4096 vectors";
  } else if (s.dimension > longest) {
    plan.by_float64_because = "vectors have more than 4096 components";
  }
  if (!plan.filters()) return plan;
  double passing = take_maxima(plan, s, place);
  if (passing == 0) passing = take_scores(plan, s, place);
  const double survivors = passing * static_cast<double>(s.n);
  const double multiple =
      most_for_each_expected(plan.first_rank != 0 ? plan.first_rank : plan.matrix_rank);
  if (survivors > most_survivors || plan.matrix_rank > plan.columns() / 2) {
    plan.by_float64_because = "k is large for the products' filter";
    return plan;
  }
  const std::int64_t begin = plan.first.last;
  plan.second = plan_pass(begin, tiles, plan.rows,
                          passing * static_cast<double>((tiles - begin) * tile_rows) * multiple,
                          place, plan.body);
  if (s.half_product) plan.half = plan_half(plan, s, place, survivors);
  plan_finish(plan, s.k, place, survivors, multiple);
  return plan;
}

}  // namespace kselect::search::fused
