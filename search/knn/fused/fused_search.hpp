#pragma once
// Exact k-NN by products in float16 that are filtered in registers: the Q x n scores never exist.
//
// A corpus is prepared once and then searched by any number of searches. A search
//   1. rounds the queries as the corpus was (prepare.cuh),
//   2. finds a threshold for each from a part of the corpus (plan.hpp),
//   3. multiplies all queries with all vectors and keeps the positions of the scores beyond the
//      thresholds (filter.cuh),
//   4. computes the survivors' distances in float64 from the given vectors, orders them by
//      distance, then index, and proves that no other vector is as near (finish.cuh).
// A query without proof is named. It is filtered again, with a threshold that its k-th survivor
// shows to be sufficient. What is still unproven then, such as queries with very many vectors at
// the distance of the k-th, is done in float64 (exact.cuh). In the end every answer is proven.
//
// Which vectors are neighbours, and their order, is decided by float64 distances and then by
// indices. A vector whose distance is NaN follows all others.
//
// Runs on fibers and on a GPU of compute capability 8.0 or more.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "runtime/backend/backend.hpp"
#include "runtime/distance/distance.hpp"
#include "search/knn/fused/finish.cuh"
#include "search/knn/fused/plan.hpp"
#include "search/search.hpp"

namespace kselect::search::fused {

enum class stage : std::uint8_t {
  prepare,    // centre, scale, rounded vectors and starts of the corpus
  round,      // the same for queries
  threshold,  // scores of a few tiles, the first pass, and the selections from both
  product,    // the second pass
  finish,     // distances in float64, order and proof
  again,      // all stages of queries filtered again
  by_float64  // all stages of queries done in float64
};

// Called around the work that a stage enqueues: the name and the work.
using stage_clock = std::function<void(stage, const std::function<void()>&)>;

// Why a place cannot run it; empty if it can. `compiled_for`: the architecture that the code for
// this GPU was compiled for (filter_compiled_for); 0: unknown.
std::string why_not(const device& place, int compiled_for = 0);

// The relative error A of a sum of so many products, as A / (1 - A): the starts' own size counts,
// too. `starts`: numbers that it begins with, added in float32.
double sum_error(std::int64_t dimension, simt::product factors, int starts = 1);

// Images of at most `most` vectors in a backend's memory.
class vector_images {
 public:
  vector_images(backend& place, std::int64_t most, std::int64_t dimension, metric m);
  // `raw`: [count][dimension] in the backend's memory. Enqueues means and scales where the metric
  // needs them.
  image_source of(backend& place, const float* raw, std::int64_t count) const;
  metric measure() const { return metric_; }
  std::int64_t dimension() const { return dimension_; }

 private:
  metric metric_;
  std::int64_t dimension_;
  device_buffer means_, scales_;
};

class prepared_corpus {
 public:
  // Allocates. `raw`, [count][dimension] floats in the backend's memory, and `place` must outlive
  // this object; count < 2^31. `factors`: float16; bfloat16 for a wide range; or int8 for vectors
  // of bytes, signed or not, and euclidean metrics. Whatever the vectors, answers are right: those
  // that products do not prove are found in float64. Throws error(failure::resources), or
  // error(failure::unsupported) where why_not says so.
  prepared_corpus(backend& place, const float* raw, std::int64_t count, std::int64_t dimension,
                  metric m, simt::product factors = simt::product::float16);
  // Enqueues the preparation on the backend's stream: before the first search, and again if `raw`
  // has other vectors.
  void prepare(const stage_clock& clock);

  std::int64_t count() const { return count_; }
  std::int64_t dimension() const { return images_.dimension(); }
  metric measure() const { return images_.measure(); }
  simt::product factors() const { return factors_; }
  const image_source& source() const { return source_; }
  const numbering& order() const { return order_; }
  global<const float> centre() const;
  global<const corpus_facts> facts() const;
  const rounded& vectors() const { return rounded_; }
  // The same, if these queries are the corpus and fit into one batch; else no data. (Queries of
  // inner products are rounded in another way.)
  rounded lent_as(const float* queries, std::int64_t count, std::int64_t batch) const;
  global<const float> starts() const;
  // The centre and scale with which queries are rounded. They are those of the corpus in every
  // metric but the inner product.
  global<const float> centre_of_queries() const;
  global<const corpus_facts> facts_of_queries() const;
  global<const double> centre_norm() const;  // of the inner product alone

 private:
  void enqueue();

  backend& place_;
  const float* raw_;
  std::int64_t count_;
  simt::product factors_;
  vector_images images_;
  image_source source_;
  numbering order_;
  device_buffer centre_, variance_, totals_, facts_, slabs_, squares_, errors_, starts_;
  device_buffer centre_of_queries_, facts_of_queries_, centre_norm_;
  rounded rounded_;
};

struct search_report {
  std::int64_t queries = 0;
  std::int64_t survivors = 0;   // of the first filtering of all queries
  std::int64_t again = 0;       // queries filtered again
  std::int64_t by_float64 = 0;  // queries done in float64
};

// What the queries of a search leave out.
enum class filtering : std::uint8_t {
  none,
  one,  // the same vectors
  each  // their own
};

// A search's share of a graph's pairs, where several searches of the same corpus divide them.
struct graph_share {
  int number = 0, of = 1;
};

struct search_options {
  // A forced body that the place or this program does not have makes run() throw
  // error(failure::unsupported).
  product_body body = product_body::fastest;
  filtering leaves_out = filtering::none;
  // The queries of every run are the vectors of the corpus, all of them and in order, without
  // `known`. Each pair is then multiplied once, where plan().half is taken.
  bool half_product = false;
  // The most memory that it may take, queries that are done again included; 0: as much as pays.
  // Corpus, queries and answers are not in it.
  std::int64_t bytes = 0;
  // Where plan().half is taken, of pairs. Answers are then of what this search found, with
  // answers::exact, and -1 and infinity where there was less. Nothing is done again: see
  // count_certain().
  graph_share share = {};
  // Not 0: so many of the k neighbours are expected to be wanted, and less time is taken to find
  // these. Answers, with answers::exact, are the nearest as far as they are certain, often all k;
  // then -1 and infinity. Nothing is done again. Without `known`, and not of inner products.
  std::int64_t wanted = 0;
};

class fused_search {
 public:
  // For calls of at most `queries` queries. `leaves_self_out`: see run(). Allocates all that a run
  // needs, unless queries have to be done again. Throws as prepared_corpus does.
  fused_search(backend& place, const prepared_corpus& corpus, std::int64_t queries, std::int64_t k,
               bool leaves_self_out, const search_options& options = {});
  ~fused_search();

  // Finds the k nearest of each query: `raw`, [count][dimension] in the backend's memory; `to` is
  // in the backend's memory, too. If queries leave themselves out, query i is corpus vector
  // first_own + i. `allowed`: in the backend's memory, as the constructor was told. A query that
  // may return fewer than k vectors gets those, then index -1 and infinity. Returns when the
  // answers are complete and proven.
  //
  // `known`: [count] in the backend's memory. For each query the number that ranks a vector of
  // another corpus (answers::exact), or +inf. Vectors that are farther are not wanted, and an
  // answer may lack them: it then has those up to there, perhaps others, -1 and infinity.
  search_report run(const float* raw, std::int64_t count, std::int64_t first_own, const answers& to,
                    const stage_clock& clock, const admitted& allowed = {},
                    global<const double> known = {});

  // The same in two steps. What is enqueued waits for nothing. It allocates nothing if there are as
  // many queries as the constructor was told; the answers of proven queries are complete when it
  // has run. If products do not filter, nothing is enqueued, and no query is proven.
  void enqueue(const float* raw, std::int64_t count, std::int64_t first_own, const answers& to,
               const stage_clock& clock, const admitted& allowed = {},
               global<const double> known = {});
  // Waits. How many queries of the last enqueue() are not proven.
  std::int64_t unproven();
  // Waits, and does the unproven queries of the last enqueue() again until all are proven.
  search_report finish();

  // Searches for a few queries, as run() does, and for one of them in float64, too. What it finds
  // does not matter: a GPU loads a kernel's code when it is first launched, for milliseconds, and
  // these are not a part of later searches then.
  void rehearse(const float* raw, std::int64_t count, const answers& to);

  // Enqueues, after finish() of a share of pairs: how many of a vector's answers are certain, one
  // number for each of [count]. If all shares together have k of them, a merge of their answers has
  // the k nearest. `counts` is in the backend's memory.
  void count_certain(const answers& from, global<std::int32_t> counts);
  // What all searches that share pairs must have in common, after enqueue(): the limits by which
  // they order vectors. So must be plan().half.part and plan().body.
  std::span<const float> limits_of_pairs() const;

  const search_plan& plan() const { return plan_; }

 private:
  class work;
  struct memory;

  backend& place_;
  const prepared_corpus& corpus_;
  std::int64_t k_;
  bool leaves_self_out_;
  search_options options_;
  search_plan plan_;
  std::unique_ptr<memory> memory_;
  std::unique_ptr<work> work_;  // what was enqueued
};

}  // namespace kselect::search::fused
