#include "search/knn/host/block_search.hpp"

#include <cmath>

#include "search/knn/host/packed.hpp"
#include "search/knn/host/panel_limits.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t fewest_seeds = 2048;
// Packed queries of a tile stay in a cache of a core.
constexpr std::int64_t tile_bytes_in_cache = 1 << 20;
constexpr std::int64_t most_tile_queries = 1020;  // whole groups
// Below so many queries a thread, threads share the corpus too.
constexpr std::int64_t fewest_tile_queries = 96;
// After so many vectors a tile decides whether float32 products still leave out enough.
constexpr std::int64_t judged_vectors = 2048;
// The limits of all queries are set anew after so many: a stale limit only admits more.
constexpr std::int64_t limited_vectors = 128;
// A float64 difference takes some 30 times as long as a float32 product.
constexpr std::int64_t most_compared = 16;

// Values of floats are within this factor of the numbers that they were rounded from.
double above(double value) { return value + std::abs(value) * 0x1p-22; }
double below(double value) { return value - std::abs(value) * 0x1p-22; }
// In a row of the first vectors; no distance has it.
constexpr float left_out = std::numeric_limits<float>::max();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Queries of a tile: as many as the cache holds, and no fewer tiles than threads if these are not
// too small.
std::int64_t tile_length(std::int64_t queries, std::int64_t dimension, int threads) {
  const std::int64_t fit =
      tile_bytes_in_cache / static_cast<std::int64_t>(sizeof(float)) / dimension;
  const std::int64_t most =
      std::clamp(fit / group_rows * group_rows, group_rows, most_tile_queries);
  const std::int64_t fair = std::max(fewest_tile_queries, (queries + threads - 1) / threads);
  const std::int64_t tiles = (queries + std::min(most, fair) - 1) / std::min(most, fair);
  return in_groups((queries + tiles - 1) / tiles);
}

}  // namespace

std::int64_t seed_length(std::int64_t n, std::int64_t k) {
  return std::min(n, std::max(fewest_seeds, 4 * k));
}

std::int64_t block_bytes_per_query(std::int64_t n, std::int64_t k, std::int64_t copies) {
  constexpr std::int64_t of_selection = 48, of_query = 56;  // four copies of a neighbour; numbers
  return seed_length(n, k) * copies * static_cast<std::int64_t>(sizeof(float)) +
         candidate_lists::bytes_per_list(k) + (k + 1) * of_selection + of_query;
}

std::int64_t host_thread_bytes(std::int64_t dimension, std::int64_t k) {
  // Packed queries in float32 and in float64, a panel of each, and lists of parts of the corpus.
  return 3 * std::max(tile_bytes_in_cache, 4 * group_rows * dimension) +
         4 * vector_bytes * dimension + fewest_tile_queries * candidate_lists::bytes_per_list(k);
}

block_search::block_search(const prepared_corpus& corpus, const moved_vectors& queries,
                           std::int64_t k, std::int64_t first_own, const knn_filter& filter,
                           int threads)
    : corpus_(corpus),
      queries_(queries),
      k_(k),
      first_own_(first_own),
      filter_(filter),
      threads_(threads),
      seeds_(seed_length(corpus.count(), k)),
      tile_queries_(tile_length(queries.vectors.count, corpus.dimension(), threads)),
      parts_(0),
      scale_(scale_for(corpus.base(), queries)),
      weight_(corpus.weight_of_squares()),
      single_(corpus, queries, 24, scale_),
      double_(corpus, queries, 53, scale_),
      lists_(0, k) {
  const std::int64_t count = queries.vectors.count;
  const std::int64_t tiles = (count + tile_queries_ - 1) / tile_queries_;
  const std::int64_t rest = (corpus.count() - seeds_ + judged_vectors - 1) / judged_vectors;
  parts_ = std::clamp<std::int64_t>(threads / tiles, 1, std::max<std::int64_t>(1, rest));
  lists_ = candidate_lists(count * parts_, k);
  for (const double square : queries.squares) norms_.push_back(std::sqrt(square));
}

bool block_search::leaves_out(std::int64_t query, std::int64_t neighbour) const {
  if (first_own_ >= 0 && neighbour == first_own_ + query) return true;
  if (filter_.words == nullptr) return false;
  const std::uint32_t word = filter_.words[query * filter_.pitch + neighbour / 32];
  return (word >> neighbour % 32 & 1U) == 0;
}

bool block_search::none_wanted(std::int64_t first, std::int64_t count) const {
  if (filter_.words == nullptr || filter_.each()) return false;
  const std::uint32_t* const words = filter_.words;
  return std::all_of(words + first / 32, words + (first + count - 1) / 32 + 1,
                     [](std::uint32_t word) { return word == 0; });
}

double block_search::exact_differences::operator()(std::int64_t neighbour) const {
  const moved_vectors& base = of.corpus_.base();
  return ranked_distance(of.corpus_.metric(), of.queries_.vector(query),
                         of.queries_.images[at(query)], base.vector(neighbour),
                         base.images[at(neighbour)], of.corpus_.dimension());
}

void block_search::exact_differences::fetch(std::int64_t neighbour) const {
  constexpr std::int64_t line = 64 / sizeof(float), most = 64 * line;
  const moved_vectors& base = of.corpus_.base();
  __builtin_prefetch(&base.images[at(neighbour)]);
  const float* const vector = base.vector(neighbour);
  for (std::int64_t c = 0; c < std::min(of.corpus_.dimension(), most); c += line) {
    __builtin_prefetch(vector + c);
  }
}

void block_search::rows(float* out) const {
  const std::int64_t count = queries_.vectors.count;
  const double unit = scale_ * scale_ * weight_;
  // No difference of Euclidean images is negative.
  const double least = weight_ == 0 ? -std::numeric_limits<double>::infinity() : 0;
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (std::int64_t first = 0; first < count; first += tile_queries_) {
    const std::int64_t width = std::min(tile_queries_, count - first);
    const packed_queries<float> packed(queries_, corpus_.centre(), scale_, first, width);
    std::int64_t panel = 0, columns = 0;
    each_panel(
        corpus_, scale_, packed, 0, seeds_, [](std::int64_t, std::int64_t) { return true; },
        [&](std::int64_t begin, std::int64_t vectors) { panel = begin, columns = vectors; },
        [&](std::int64_t g, const float* products) {
          for (std::int64_t r = 0; r < std::min(group_rows, width - g * group_rows); ++r) {
            const std::int64_t query = first + g * group_rows + r;
            float* const row = out + query * seeds_ + panel;
            const double square = queries_.squares[at(query)];
            const double* const squares = corpus_.base().squares.data() + panel;
            const float* const own = products + r * panel_columns<float>;
#pragma omp simd
            for (std::int64_t j = 0; j < columns; ++j) {
              const double value = (square + squares[j]) * unit - 2 * static_cast<double>(own[j]);
              row[j] = static_cast<float>(value < least ? least : value);
            }
          }
        });
    for (std::int64_t query = first; query < first + width; ++query) {
      mark_left_out(query, out + query * seeds_);
    }
  }
}

void block_search::mark_left_out(std::int64_t query, float* row) const {
  if (filter_.words != nullptr) {
    for (std::int64_t j = 0; j < seeds_; ++j) {
      if (leaves_out(query, j)) row[j] = left_out;
    }
  } else if (first_own_ >= 0 && first_own_ + query < seeds_) {
    row[first_own_ + query] = left_out;
  }
}

void block_search::begin(const float* rows, const float* selected) {
  const std::int64_t count = queries_.vectors.count;
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t query = 0; query < count; ++query) {
    add_seeds(query, rows + query * seeds_, selected + query * k_);
  }
}

void block_search::add_seeds(std::int64_t query, const float* row, const float* selected) {
  const std::vector<double>& squares = corpus_.base().squares;
  const double norm = norms_[at(query)], unit = scale_ * scale_;
  const double largest = std::sqrt(corpus_.base().largest_square);
  if (!single_.known()) return add_all_seeds(query);
  const float last = *std::max_element(selected, selected + k_);
  // With fewer than k vectors that it may return, the row says nothing of the rest.
  const double bound = last == left_out ? std::numeric_limits<double>::infinity()
                                        : above(last) / unit + single_.of(norm, largest);
  for (std::int64_t part = 0; part < parts_; ++part) lists_.lower(list_of(query, part), bound);
  const std::int64_t list = list_of(query, 0);
  const auto limit = static_cast<float>(above(above((bound + single_.of(norm, largest)) * unit)));
  for (std::int64_t j = 0; j < seeds_; ++j) {
    if (row[j] > limit || leaves_out(query, j)) continue;
    const double error = single_.of(norm, std::sqrt(squares[at(j)]));
    const candidate c{below(row[j]) / unit - error, above(row[j]) / unit + error, j};
    if (c.least > lists_.threshold(list)) continue;
    lists_.add(list, c, exact(query));
  }
}

// Where float32 products have no bound.
void block_search::add_all_seeds(std::int64_t query) {
  for (std::int64_t j = 0; j < seeds_; ++j) {
    if (leaves_out(query, j)) continue;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    lists_.add(list_of(query, 0), {-infinity, infinity, j}, exact(query));
  }
}

void block_search::sweep() {
  const std::int64_t count = queries_.vectors.count, rest = corpus_.count() - seeds_;
  if (rest == 0) return;
  std::vector<tile> tiles;
  for (std::int64_t part = 0; part < parts_; ++part) {
    for (std::int64_t first = 0; first < count; first += tile_queries_) {
      tiles.push_back({first, std::min(tile_queries_, count - first), seeds_ + rest * part / parts_,
                       seeds_ + rest * (part + 1) / parts_, part});
    }
  }
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
  for (const tile& t : tiles) search(t);
}

std::int64_t block_search::compared(const tile& t) const {
  std::int64_t sum = 0;
  for (std::int64_t query = t.first; query < t.first + t.count; ++query) {
    sum += lists_.compared(list_of(query, t.part));
  }
  return sum;
}

void block_search::search(const tile& t) {
  std::int64_t from = t.from;
  if (single_.known()) {
    const packed_queries<float> packed(queries_, corpus_.centre(), scale_, t.first, t.count);
    bool enough = true;  // is left out by float32 products
    while (enough && from < t.to) {
      const std::int64_t to = std::min(t.to, from + judged_vectors), before = compared(t);
      meet(t, packed, single_, from, to);
      enough = compared(t) - before <= (to - from) * t.count / most_compared;
      from = to;
    }
  }
  if (from == t.to) return;
  ++doubled_;
  const packed_queries<double> packed(queries_, corpus_.centre(), scale_, t.first, t.count);
  meet(t, packed, double_, from, t.to);
}

void block_search::consider(const pair& p, const product_error& error) {
  if (leaves_out(p.query, p.neighbour)) return;
  const double square = corpus_.base().squares[at(p.neighbour)];
  const double squares = weight_ * (queries_.squares[at(p.query)] + square);
  const double middle = squares - 2 * p.product / (scale_ * scale_);
  const double wrong = error.of(norms_[at(p.query)], std::sqrt(square));
  const std::int64_t list = list_of(p.query, p.part);
  if (middle - wrong > lists_.threshold(list)) return;
  lists_.add(list, {middle - wrong, middle + wrong, p.neighbour}, exact(p.query));
}

template <class T>
void block_search::meet(const tile& t, const packed_queries<T>& packed, const product_error& error,
                        std::int64_t from, std::int64_t to) {
  const double* const squares = corpus_.base().squares.data();
  panel_limits<T> limits(scale_, weight_, t.count);
  std::vector<double> thresholds(at(t.count));
  std::int64_t panel = 0, columns = 0;
  std::int64_t limited = from;  // the limits are of vectors before this one
  each_panel(
      corpus_, scale_, packed, from, to,
      [&](std::int64_t first, std::int64_t count) { return !none_wanted(first, count); },
      [&](std::int64_t first, std::int64_t count) {
        panel = first, columns = count;
        limits.begin_panel(squares + first, count);
        if (first < limited) return;
        limited = first + limited_vectors;
        for (std::int64_t q = 0; q < t.count; ++q) {
          thresholds[at(q)] = lists_.threshold(list_of(t.first + q, t.part));
        }
        const double largest = *std::max_element(squares + first, squares + std::min(to, limited));
        limits.set(largest, error, thresholds, norms_.data() + t.first,
                   queries_.squares.data() + t.first);
      },
      [&](std::int64_t g, const T* products) {
        for (std::int64_t r = 0; r < std::min(group_rows, t.count - g * group_rows); ++r) {
          const T* const own = products + r * panel_columns<T>;
          const std::int64_t query = g * group_rows + r;
          limits.pass(query, own, [&](std::int64_t j) {
            if (j >= columns) return;
            consider({t.first + query, t.part, panel + j, static_cast<double>(own[j])}, error);
          });
        }
      });
}

std::int64_t block_search::compared() const {
  std::int64_t sum = 0;
  for (std::int64_t list = 0; list < queries_.vectors.count * parts_; ++list) {
    sum += lists_.compared(list);
  }
  return sum;
}

void block_search::finish(double* ranked, std::int64_t* indices) {
  const std::int64_t count = queries_.vectors.count;
#pragma omp parallel num_threads(threads_)
  {
    std::vector<ranked_neighbour> best;
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t query = 0; query < count; ++query) {
      best.clear();
      for (std::int64_t part = 0; part < parts_; ++part) {
        const auto of_part = lists_.finish(list_of(query, part), exact(query));
        best.insert(best.end(), of_part.begin(), of_part.end());
      }
      const std::int64_t found = std::min(k_, std::ssize(best));
      if (parts_ > 1) std::partial_sort(best.begin(), best.begin() + found, best.end());
      std::fill_n(ranked + query * k_, k_, std::numeric_limits<double>::infinity());
      std::fill_n(indices + query * k_, k_, -1);
      for (std::int64_t i = 0; i < found; ++i) {
        ranked[query * k_ + i] = best[at(i)].ranked;
        indices[query * k_ + i] = best[at(i)].index;
      }
    }
  }
}

}  // namespace kselect::search
