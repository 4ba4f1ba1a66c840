#include "search/knn/cuda/plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/knn/cuda/best_candidates.hpp"
#include "search/knn/cuda/proven_selection.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t alignment = 64;          // of rows, in elements: 256 bytes
constexpr std::int64_t enough_queries = 1024;   // a tile of these keeps a GPU busy
constexpr std::int64_t most_queries = 1 << 19;  // of a tile: distance_rows.hpp
constexpr std::int64_t even_queries = 128;      // a multiple of the blocks of products, selections
constexpr std::int64_t widest_tile = 1 << 30;
constexpr std::int64_t wide = 4096;  // for shorter tiles launches take longer than the work
constexpr std::int64_t distance_bytes = sizeof(float);

std::int64_t aligned(std::int64_t elements) {
  return (elements + alignment - 1) / alignment * alignment;
}

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

class planner {
 public:
  planner(const knn_request& r, const device& place, const memory_bounds& limit)
      : r_(r), place_(place), limit_(limit), kept_(choose_kept()) {}

  knn_plan by_rows() const;
  // If pairs are impossible: by_rows(), with the reason in whole_product_because.
  knn_plan by_pairs() const;
  knn_plan by_passes() const;
  std::int64_t most_queries_held() const;

 private:
  std::int64_t n() const { return r_.base.count; }
  const limits& most() const { return r_.entry.promises.limits; }
  std::int64_t vector_bytes() const {
    return device_vectors::bytes_per_vector(r_.base.dimension, r_.metric);
  }
  std::int64_t resident_bytes() const { return n() * vector_bytes(); }
  std::int64_t choose_kept() const;
  problem rows(std::int64_t count, std::int64_t length, std::int64_t kept) const;
  std::int64_t workspace_bytes(std::int64_t count, std::int64_t length) const;
  std::int64_t candidate_bytes() const {
    return best_candidates::bytes_per_row(aligned(2 * kept_));
  }
  std::int64_t answer_bytes() const;
  std::int64_t tile_width() const;
  std::int64_t streamed_width(std::int64_t width, std::int64_t bytes) const;
  std::int64_t queries_of_tile(std::int64_t width) const;
  bool square_fits(std::int64_t side) const;
  std::int64_t longest_side() const;
  knn_plan cut(std::int64_t width) const;

  const knn_request& r_;
  const device& place_;
  const memory_bounds limit_;
  const std::int64_t kept_;
};

problem planner::rows(std::int64_t count, std::int64_t length, std::int64_t kept) const {
  problem p;
  p.q = count;
  p.n = length;
  p.k = kept;
  p.pitch = aligned(length);
  p.index = narrow_index(r_.entry);
  return p;
}

// Returns k, plus one if the own vector is left out, plus a margin if the algorithm supports it.
std::int64_t planner::choose_kept() const {
  const std::int64_t least = r_.k + (r_.exclude_self ? 1 : 0);
  // The more terms a product has, the wider its error bound, and the larger the margin.
  const std::int64_t terms = r_.base.dimension;
  const std::int64_t margin = std::max<std::int64_t>(8, r_.k / 8 + r_.k * terms / 2048);
  problem p = rows(1, std::min(n(), most().max_n), std::min(least + margin, n()));
  if (check_support(r_.entry, p, place_)) return p.k;
  p.k = least;
  const support answer = check_support(r_.entry, p, place_);
  if (answer) return p.k;
  throw error(failure::unsupported,
              fmt::format("{} cannot do {}: {}", r_.entry.name, to_string(p), answer.reason));
}

std::int64_t planner::workspace_bytes(std::int64_t count, std::int64_t length) const {
  const call_plan plan = plan_call(r_.entry, rows(count, length, kept_), place_);
  return static_cast<std::int64_t>(plan.workspace());
}

// Bytes a query of all buffers sized by a tile's queries, except distances and candidates.
std::int64_t planner::answer_bytes() const {
  constexpr std::int64_t pair = sizeof(float) + sizeof(std::int64_t);
  return kept_ * pair + r_.k * pair + candidate_order::bytes_per_row(kept_);
}

knn_plan planner::cut(std::int64_t width) const {
  knn_plan plan;
  plan.kept = kept_;
  plan.corpus = {n(), (n() + width - 1) / width};
  plan.pitch = aligned(plan.corpus.widest());
  plan.candidate_pitch = aligned(2 * kept_);
  return plan;
}

// ---- by rows ----

std::int64_t planner::tile_width() const {
  const std::int64_t queries = std::min(r_.queries().count, enough_queries);
  const std::int64_t per_query = answer_bytes() + 2 * candidate_bytes();
  const std::int64_t fits = (limit_.tile / queries - per_query) / distance_bytes;
  const std::int64_t longest = std::min({n(), widest_tile, most().max_n});
  // At least 2 * kept, so that an even cut leaves no tile shorter than kept.
  const std::int64_t least = std::min(2 * kept_, n());
  if (longest < least) {
    throw error(failure::unsupported,
                fmt::format("{} takes rows of {}: too short to select {} of {} tile by tile",
                            r_.entry.name, longest, kept_, n()));
  }
  std::int64_t width =
      std::clamp(fits / alignment * alignment, std::min(longest, std::max(least, wide)), longest);
  while (width > least && workspace_bytes(1, width) > limit_.workspace) {
    width = std::max(least, width / 2);
  }
  return width;
}

// Two tiles of a streamed corpus are on the GPU at a time.
std::int64_t planner::streamed_width(std::int64_t width, std::int64_t bytes) const {
  return std::clamp(bytes / (2 * vector_bytes()), std::min({2 * kept_, n(), width}), width);
}

// The most queries of a tile that the bounds allow.
std::int64_t planner::queries_of_tile(std::int64_t width) const {
  const std::int64_t each =
      aligned(width) * distance_bytes + answer_bytes() + 2 * candidate_bytes();
  std::int64_t count = std::clamp<std::int64_t>(
      limit_.tile / each, 1, std::min({r_.queries().count, most_queries, most().max_q}));
  while (count > 1 && workspace_bytes(count, width) > limit_.workspace) count = (count + 1) / 2;
  const bool several = count < r_.queries().count && count > even_queries;
  return several ? count / even_queries * even_queries : count;
}

knn_plan planner::by_rows() const {
  const std::int64_t width = tile_width();
  const bool streamed = resident_bytes() > limit_.corpus;
  knn_plan plan = cut(streamed ? streamed_width(width, limit_.corpus) : width);
  plan.streamed = streamed;
  plan.slots = streamed ? 2 : 0;
  plan.tile_queries = queries_of_tile(plan.corpus.widest());
  return plan;
}

// ---- by pairs ----

// Whether tiles of this side fit. If the corpus is one tile, the product is its own transpose. For
// two tiles both the product and its transpose need room.
bool planner::square_fits(std::int64_t side) const {
  const std::int64_t squares = side == n() ? 1 : 2;
  const std::int64_t bytes = side * (squares * aligned(side) * distance_bytes + answer_bytes());
  return bytes <= limit_.tile && workspace_bytes(side, side) <= limit_.workspace;
}

std::int64_t planner::longest_side() const {
  const std::int64_t longest = std::min({n(), most_queries, most().max_n, most().max_q});
  if (longest == n() && square_fits(n())) return n();
  const auto root =
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(limit_.tile) / (2 * distance_bytes)));
  std::int64_t side = std::min({root, longest, n() - 1}) / alignment * alignment;
  while (side > 0 && !square_fits(side)) side -= alignment;
  return side;
}

knn_plan planner::by_pairs() const {
  knn_plan plan = by_rows();
  std::string& because = plan.whole_product_because;
  if (r_.query != nullptr) {
    because = "queries and corpus differ";
    return plan;
  }
  const std::int64_t left = limit_.corpus - resident_bytes();
  if (left < 0) {
    because = fmt::format("the corpus takes {:.1f} MiB and is streamed through {:.1f}",
                          mebibytes(resident_bytes()), mebibytes(limit_.corpus));
    return plan;
  }
  const std::int64_t side = longest_side();
  if (side < std::min(2 * kept_, n())) {
    because = fmt::format("tiles of {} x {} are too small to select {} from", side, side, kept_);
    return plan;
  }
  knn_plan pairs = cut(side);
  pairs.by_pairs = true;
  pairs.tile_queries = pairs.corpus.widest();
  const std::int64_t candidates =
      best_candidates::rows_for(pairs.groups(), pairs.tile_queries) * candidate_bytes();
  if (candidates > left) {
    because =
        fmt::format("candidates of all {} vectors take {:.1f} MiB, and the corpus leaves {:.1f}",
                    n(), mebibytes(candidates), mebibytes(left));
    return plan;
  }
  return pairs;
}

// ---- by passes ----

std::int64_t planner::most_queries_held() const {
  return std::max<std::int64_t>(1, limit_.corpus / 4 / (candidate_bytes() + vector_bytes()));
}

// Tiles of queries are cut evenly, so that few rows of candidates stay empty.
knn_plan planner::by_passes() const {
  const std::int64_t queries = r_.queries().count;
  const std::int64_t width =
      std::min(tile_width(), std::max(limit_.widest, std::min(2 * kept_, n())));
  const auto held = [&](std::int64_t each, std::int64_t tiles) {
    return best_candidates::rows_for(tiles, each) * candidate_bytes() +
           each * tiles * vector_bytes();
  };
  const auto queries_at = [&](const knn_plan& plan) {
    const std::int64_t most = queries_of_tile(plan.corpus.widest());
    return even_cut{queries, (queries + most - 1) / most};
  };
  knn_plan plan = cut(width);
  even_cut tiles = queries_at(plan);
  const std::int64_t left = limit_.corpus - held(tiles.widest(), tiles.parts);
  plan.streamed = plan.corpus.parts * plan.corpus.widest() * vector_bytes() > left;
  if (plan.streamed) {
    plan = cut(streamed_width(width, left));
    plan.streamed = true;
    tiles = queries_at(plan);
  }
  plan.slots = plan.streamed ? 2 : plan.corpus.parts;
  plan.tile_queries = tiles.widest();
  plan.query_tiles = tiles.parts;
  return plan;
}

}  // namespace

memory_bounds split_memory(std::int64_t bytes) {
  return {.corpus = bytes / 2, .tile = bytes / 4, .workspace = bytes / 4};
}

memory_bounds split_free_memory(std::int64_t free_bytes) {
  return {.corpus = free_bytes / 2,
          .tile = std::min(free_bytes / 8, std::int64_t{4} << 30),
          .workspace = free_bytes / 4};
}

knn_plan make_plan(const knn_request& r, const device& place, const memory_bounds& limit) {
  const planner numbers(r, place, limit);
  return r.cuda.half_product.value_or(false) ? numbers.by_pairs() : numbers.by_rows();
}

knn_plan plan_passes(const knn_request& r, const device& place, const memory_bounds& limit) {
  return planner(r, place, limit).by_passes();
}

std::int64_t most_queries_of_passes(const knn_request& r, const device& place,
                                    const memory_bounds& limit) {
  return planner(r, place, limit).most_queries_held();
}

}  // namespace kselect::search
