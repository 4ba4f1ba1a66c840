#pragma once
// The library's call for exact k nearest neighbours of real vectors. Link kselect::knn.
//
//     kselect::vector_rows corpus{.data = vectors.data(), .count = 100'000, .dimension = 128};
//     kselect::vector_rows queries{.data = asked.data(), .count = 1000, .dimension = 128};
//     std::vector<float> distances(1000 * 10);
//     std::vector<std::int64_t> indices(1000 * 10);
//     kselect::status done = kselect::knn(corpus, queries, 10, distances, indices);
//
// A corpus that many searches share is prepared once:
//
//     kselect::knn_corpus prepared;
//     kselect::status done = prepared.prepare(corpus, kselect::metric::cosine);
//     done = prepared.search(queries, 10, distances, indices);
//
// Contract
//  exactness   Float64 distances between the float32 vectors decide who is a neighbour and in which
//              order. Products in float32 only leave out what is provably farther.
//  order       Nearest first; equal float64 distances by ascending index.
//  distances   The float64 distance in the corpus' metric, rounded to float32.
//  filtered    A query that may return fewer than k vectors gets those, then index -1 and infinity.
//  the same    The answer depends on the vectors alone, not on threads or on other queries.
//
// Errors are return values: `invalid` (an argument that the text names, or a component that is not
// finite), `unsupported` (this place, or this build) and `out_of_memory`. What the answer's memory
// then holds is of no use.

#include <cstdint>
#include <memory>
#include <span>

#include "kselect/knn_filter.hpp"
#include "kselect/metric.hpp"
#include "kselect/select.hpp"

namespace kselect {

// Vectors of float32 as dense rows: component c of vector i is data[i * dimension + c]. A view: the
// memory is the caller's.
struct vector_rows {
  const float* data = nullptr;
  std::int64_t count = 0;
  std::int64_t dimension = 0;
};

struct knn_options {
  // Not negative: query i is corpus vector first_own + i and is not its own neighbour. The k-NN
  // graph of a corpus is the search of its own vectors with first_own = 0.
  std::int64_t first_own = -1;
  // Which vectors each query may return. Bits of words_for(count()) words a query, or more, for all
  // queries or, with a pitch, for each.
  knn_filter filter = {};
};

// Prepared vectors, in which any number of threads may search at the same time.
class knn_corpus {
 public:
  knn_corpus();
  ~knn_corpus();
  knn_corpus(knn_corpus&&) noexcept;
  knn_corpus& operator=(knn_corpus&&) noexcept;

  // Reads each vector once. Keeps a view of them, so they must outlive this object unchanged.
  // Allocates 32 bytes a vector and 8 bytes a component. `where` says how many threads:
  // place::cpu(2). Forgets what was prepared before, also if it fails.
  status prepare(const vector_rows& vectors, metric m = metric::sqeuclidean,
                 const place& where = place::cpu());

  // 0 before prepare().
  std::int64_t count() const;
  std::int64_t dimension() const;

  // Finds the k nearest of each query. Row i: indices[i * k ...] and distances[i * k ...].
  //
  // queries: vectors of the corpus' dimension; none are a success. k: 1 to count(), or to count() -
  // 1 if queries leave themselves out. indices: at least Q * k elements. distances: at least Q * k
  // elements, or empty if not wanted. Returns when the answer is complete; takes up to 256 MiB of
  // memory, and of more only what one query needs.
  status search(const vector_rows& queries, std::int64_t k, std::span<float> distances,
                std::span<std::int64_t> indices, const knn_options& options = {}) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// prepare() and search() at once, on the CPU.
status knn(const vector_rows& corpus, const vector_rows& queries, std::int64_t k,
           std::span<float> distances, std::span<std::int64_t> indices,
           metric m = metric::sqeuclidean, const knn_options& options = {},
           const place& where = place::cpu());

}  // namespace kselect
