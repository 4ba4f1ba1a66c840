#pragma once
// The search of a block of queries on the host, without a matrix of distances.
//
//     rows()    approximate distances to the first vectors of the corpus, for an algorithm of the
//     registry begin()   what it selected is each query's first threshold; vectors below it become
//     candidates sweep()   the rest of the corpus, panel by panel: products, threshold, candidates
//     finish()  the candidates' float64 differences decide who is among the k nearest, and the
//     order
//
// A vector is left out only if its product, with the error bound of prepared_corpus.hpp, says that
// k others are nearer in float64. So every answer is exact, and no query has to be done again.
// Where float32 products leave out too little (clusters far from each other), a tile of queries
// goes on with float64 products.

#include <atomic>
#include <cstdint>
#include <span>

#include "kselect/knn_filter.hpp"
#include "search/knn/host/candidate_lists.hpp"
#include "search/knn/host/packed.hpp"
#include "search/knn/host/prepared_corpus.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Corpus vectors that the first threshold comes from.
std::int64_t seed_length(std::int64_t n, std::int64_t k);
// Bytes of a block for each of its queries; `copies` of its row of distances to the first vectors.
std::int64_t block_bytes_per_query(std::int64_t n, std::int64_t k, std::int64_t copies);
// Bytes that each thread needs beside the blocks.
std::int64_t host_thread_bytes(std::int64_t dimension, std::int64_t k);

class block_search {
 public:
  // For the k nearest of each of `queries`, of those that `filter` admits. If `first_own` is not
  // negative, query i leaves out corpus vector first_own + i. The arguments must outlive this
  // object.
  block_search(const prepared_corpus& corpus, const moved_vectors& queries, std::int64_t k,
               std::int64_t first_own, const knn_filter& filter, int threads);

  // Writes float32 values [queries][seed_length], that grow with the distances. Infinity and NaN do
  // not occur; a vector that the query leaves out has the largest float.
  void rows(float* out) const;
  // `selected`: the k least values of each row, [queries][k], in any order. `rows` as written by
  // rows().
  void begin(const float* rows, const float* selected);
  void sweep();
  // Writes [queries][k] ranked differences and indices, nearest first, equal ones by index. Where a
  // query may return fewer than k vectors, the rest has infinity and index -1.
  void finish(double* ranked, std::int64_t* indices);

  // Tiles of queries that went on with float64 products.
  std::int64_t doubled() const { return doubled_; }
  // Differences that were computed in float64, of all queries.
  std::int64_t compared() const;

 private:
  struct tile {
    std::int64_t first, count;  // queries
    std::int64_t from, to;      // corpus vectors
    std::int64_t part;          // of the corpus
  };

  std::int64_t list_of(std::int64_t query, std::int64_t part) const {
    return query * parts_ + part;
  }
  // The float64 differences of a query.
  struct exact_differences {
    const block_search& of;
    std::int64_t query;
    double operator()(std::int64_t neighbour) const;
    void fetch(std::int64_t neighbour) const;
  };
  exact_differences exact(std::int64_t query) const { return {*this, query}; }
  bool leaves_out(std::int64_t query, std::int64_t neighbour) const;
  // Whether no query of the block may return any of these vectors. May miss it.
  bool none_wanted(std::int64_t first, std::int64_t count) const;
  void mark_left_out(std::int64_t query, float* row) const;
  void add_seeds(std::int64_t query, const float* row, const float* selected);
  void add_all_seeds(std::int64_t query);
  std::int64_t compared(const tile& t) const;
  void search(const tile& t);
  struct pair {
    std::int64_t query, part, neighbour;
    double product;
  };
  // Adds the neighbour to the candidates if its distance may be below the threshold.
  void consider(const pair& p, const product_error& error);
  // Compares the tile's queries with the corpus vectors [from, to) by products in T.
  template <class T>
  void meet(const tile& t, const packed_queries<T>& packed, const product_error& error,
            std::int64_t from, std::int64_t to);

  const prepared_corpus& corpus_;
  const moved_vectors& queries_;
  std::int64_t k_, first_own_;
  knn_filter filter_;
  int threads_;
  std::int64_t seeds_, tile_queries_, parts_;
  double scale_, weight_;  // the weight is of squared norms
  product_error single_, double_;
  std::vector<double> norms_;  // of the queries
  candidate_lists lists_;
  std::atomic<std::int64_t> doubled_ = 0;
};

}  // namespace kselect::search
