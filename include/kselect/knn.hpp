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
// On a GPU all memory is the caller's, and work goes to the place's stream:
//
//     const auto gpu = kselect::place::cuda(stream);
//     // device memory of knn_corpus::memory(corpus, metric, gpu) bytes
//     done = prepared.prepare(corpus, kselect::metric::sqeuclidean, gpu, memory);
//     kselect::knn_search search;
//     // device memory of knn_search::workspace(prepared, 1000, 10, gpu) bytes
//     done = search.plan(prepared, 1000, 10, workspace, gpu);
//     done = search.enqueue(asked, distances, indices);  // returns at once
//     done = search.finish();                            // waits; does what is not proven again
//
// Contract
//  exactness   Float64 distances between the float32 vectors decide who is a neighbour and in which
//              order. Products of rounded vectors only leave out what is provably farther: in
//              float32 on a CPU, in the type of knn_rounding on a GPU.
//  order       Nearest first; equal float64 distances by ascending index.
//  distances   The float64 distance in the corpus' metric, rounded to float32. On a GPU a warp adds
//              its terms in another order than a CPU: the last bit of float64 may differ. Vectors
//              of bytes have the same distances everywhere.
//  filtered    A query that may return fewer than k vectors gets those, then index -1 and infinity.
//  the same    The answer depends on the vectors alone, not on threads or on other queries.
//
// Errors are return values: `invalid` (an argument that the text names, or a component that is not
// finite), `unsupported` (this place, or this build) and `out_of_memory`. What the answer's memory
// then holds is of no use.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

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
  // Which vectors each query may return, at the search's place. Bits of words_for(count()) words a
  // query, or more, for all queries or, with a pitch, for each.
  knn_filter filter = {};
};

// What a corpus on a GPU rounds vectors to, for the products that leave out what is provably
// farther. Answers are the same.
enum class knn_rounding : std::uint8_t {
  float16,   // for most vectors
  bfloat16,  // for vectors of which most are small beside a few
  int8       // for corpora and queries of bytes: integers from 0 to 255, or from -128 to 127; for
             // sqeuclidean and euclidean. All else is found, too, but slowly
};
constexpr auto names_of(knn_rounding) {
  return std::to_array<named<knn_rounding>>({{knn_rounding::float16, "float16"},
                                             {knn_rounding::bfloat16, "bfloat16"},
                                             {knn_rounding::int8, "int8"}});
}

// Prepared vectors, in which any number of threads may search at the same time.
class knn_search;

class knn_corpus {
 public:
  knn_corpus();
  ~knn_corpus();
  knn_corpus(knn_corpus&&) noexcept;
  knn_corpus& operator=(knn_corpus&&) noexcept;

  // On the CPU: reads each vector once and allocates 32 bytes a vector and 8 bytes a component.
  // `where` says how many threads: place::cpu(2); `memory` and `to` are not used.
  // On a GPU: enqueues the preparation and returns. `vectors` and `memory` are device memory, this
  // of memory() bytes. A search on another stream waits for this one by the caller's event.
  // A component that is not finite is no error there: its vector's distances are infinite or NaN
  // and follow all others.
  //
  // Keeps views of vectors and memory, so both must outlive this object, the vectors unchanged.
  // Forgets what was prepared before, also if it fails.
  status prepare(const vector_rows& vectors, metric m = metric::sqeuclidean,
                 const place& where = place::cpu(), std::span<std::byte> memory = {},
                 knn_rounding to = knn_rounding::float16);

  // Bytes that prepare() needs on a GPU for vectors of that count and dimension, whatever their
  // alignment. 0 on the CPU, or if it would refuse the call.
  static std::size_t memory(const vector_rows& vectors, metric m, const place& where,
                            knn_rounding to = knn_rounding::float16);

  // 0 before prepare().
  std::int64_t count() const;
  std::int64_t dimension() const;

  // Finds the k nearest of each query, on the CPU. Row i: indices[i * k ...] and distances[i * k
  // ...].
  //
  // queries: vectors of the corpus' dimension; none are a success. k: 1 to count(), or to count() -
  // 1 if queries leave themselves out. indices: at least Q * k elements. distances: at least Q * k
  // elements, or empty if not wanted. Returns when the answer is complete; takes up to 256 MiB of
  // memory, and of more only what one query needs.
  status search(const vector_rows& queries, std::int64_t k, std::span<float> distances,
                std::span<std::int64_t> indices, const knn_options& options = {}) const;

 private:
  friend class knn_search;
  struct state;
  std::unique_ptr<state> state_;
};

// A search on a GPU: planned once, for a number of queries, and enqueued any number of times, one
// after the other. Several searches may share a corpus, each with its own workspace.
//
// enqueue() finds and proves neighbours by products of rounded vectors. It neither allocates device
// memory nor waits, and CUDA graphs can capture it. A few queries can be left without proof: of
// vectors that rounding does not tell apart, or with very many at the distance of the k-th.
// finish() does those again; until then they have k vectors at their true distances, of which some
// may be too far, or fewer, then index -1 and infinity. Corpora below 4096 vectors, large k (beyond
// about a thousand) and more than 4096 components have no such products: finish() does all queries
// in float64.
class knn_search {
 public:
  knn_search();
  ~knn_search();
  knn_search(knn_search&&) noexcept;
  knn_search& operator=(knn_search&&) noexcept;

  // Bytes of device memory that plan() needs, whatever their alignment. 0 if it would refuse the
  // call.
  static std::size_t workspace(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                               const place& where, const knn_options& options = {});

  // For `queries` queries a call. corpus, workspace and the filter's words, which are device
  // memory, must outlive this object. k: as for knn_corpus::search(). Enqueues nothing.
  status plan(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
              std::span<std::byte> workspace, const place& where, const knn_options& options = {});

  // Enqueues the search. queries: [queries][dimension] of the plan. Row i of the answer:
  // indices[i * k ...] and distances[i * k ...], of at least queries * k elements; empty distances
  // are not wanted. All three are device memory and must stay until the search has ended. Rows that
  // unproven() counts are complete only after finish().
  status enqueue(const float* queries, std::span<float> distances, std::span<std::int64_t> indices);

  // Whether a planned search has such products. Without them enqueue() finds nothing.
  bool by_products() const;
  // Waits for the search and reads how many of its queries are not proven.
  status unproven(std::int64_t& count);

  // Waits for the search and does what is not proven again: by products with a threshold that is
  // certain to be low enough, then in float64. It allocates device memory for that and frees it.
  // Memory for up to 128 queries stays with this object for the next call. Then all rows are
  // complete and proven.
  status finish();

 private:
  static std::string objection(const knn_corpus& corpus, std::int64_t queries, std::int64_t k,
                               const knn_options& options, const place& where);
  struct state;
  std::unique_ptr<state> state_;
};

// prepare() and search() at once, on the CPU.
status knn(const vector_rows& corpus, const vector_rows& queries, std::int64_t k,
           std::span<float> distances, std::span<std::int64_t> indices,
           metric m = metric::sqeuclidean, const knn_options& options = {},
           const place& where = place::cpu());

}  // namespace kselect
