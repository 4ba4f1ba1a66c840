#pragma once
// Exact k nearest neighbours of real vectors: distances, then selection, for one block of queries
// at a time. So the Q x n distance matrix never exists as a whole.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kselect/algorithm.hpp"
#include "kselect/knn_filter.hpp"
#include "kselect/simt/products.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/distance/distance.hpp"
#include "runtime/io/vectors.hpp"
#include "search/knn/host/host_report.hpp"
#include "search/search.hpp"

namespace kselect::search {

// Which selections of the older products of executor cuda are proven. Such a search ranks vectors
// by float32 products, so it selects a few more than k and orders these by their true distance.
// Queries whose answer is then not proven are done again in float64
// (search/knn/cuda/candidates.hpp).
enum class proof_scope : std::uint8_t {
  none,    // no selection is proven: for times alone
  sample,  // up to 16 rows of every selection: the first, the last, some between
  all      // every row; this downloads every distance
};

constexpr auto names_of(proof_scope) {
  return std::to_array<named<proof_scope>>(
      {{proof_scope::none, "none"}, {proof_scope::sample, "sample"}, {proof_scope::all, "all"}});
}

// What distances are ranked by before the exact ones decide (executors cuda and fiber).
enum class knn_product : std::uint8_t {
  automatic,  // on executor cuda, if nothing asks for another way: float16, or int8 of vectors of
              // bytes where that is faster; else as before
  float16,    // filtered products in float16, every answer proven (search/knn/fused)
  bfloat16,   // the same in bfloat16, for vectors whose range float16 does not have
  int8,       // the same of vectors of bytes, in integers
  tf32,       // executor cuda: as cuda_knn_options::tf32
  float32,    // executor cuda
  float64     // executors of the host
};

constexpr auto names_of(knn_product) {
  return std::to_array<named<knn_product>>({{knn_product::automatic, "auto"},
                                            {knn_product::float16, "float16"},
                                            {knn_product::bfloat16, "bfloat16"},
                                            {knn_product::int8, "int8"},
                                            {knn_product::tf32, "tf32"},
                                            {knn_product::float32, "float32"},
                                            {knn_product::float64, "float64"}});
}

// Whether the fused search does it.
constexpr bool is_filtered(knn_product product) {
  return product == knn_product::float16 || product == knn_product::bfloat16 ||
         product == knn_product::int8;
}
// What it rounds vectors to.
constexpr simt::product factors_of(knn_product product) {
  return product == knn_product::int8       ? simt::product::int8
         : product == knn_product::bfloat16 ? simt::product::bfloat16
                                            : simt::product::float16;
}

// What is proven: the fused search proves every query, whatever was asked for.
constexpr proof_scope scope_of(proof_scope asked, knn_product product) {
  return is_filtered(product) ? proof_scope::all : asked;
}

struct cuda_knn_options {
  // Device memory: half for the corpus, which is streamed if it does not fit, a quarter for
  // distances and candidates, a quarter for the algorithm's workspace. (With half_product the
  // candidates of all vectors take memory of the corpus' half.) 0: the same shares of the free
  // memory, but for distances an eighth and at most 4 GiB. The queries of a tile and cuBLAS's own
  // memory come on top. A tile is never smaller than one query against 4096 vectors, or against
  // twice its candidates if these are more.
  std::int64_t memory_bytes = 0;
  // Products by tensor cores with 11 bits of precision. Unproven queries are then not done again:
  // the error bound is so wide that most would be.
  bool tf32 = false;
  // Computes the k-NN graph from half of the product: the product of two corpus tiles serves the
  // queries of both. Needs a resident corpus, and memory for the candidates of all its vectors.
  // Otherwise the whole product is computed, and the report says why if it was asked for. Without a
  // value the fused search takes half where that is faster, the older products the whole.
  std::optional<bool> half_product = {};
  bool sum_by_warp = false;  // norms and means: one warp a vector, not thrust::reduce_by_key
  proof_scope prove = proof_scope::sample;
  // > 0: does everything so many times and times every stage. Only the first repeat proves
  // selections. It also loads kernels and grows workspaces, so if there are several, the medians
  // leave it out.
  int repeats = 0;
  bool time_stages = false;  // times the stages of a single run, without the bare product
};

// Milliseconds on the GPU, summed over tiles. Includes uploads only if the corpus is streamed.
struct cuda_knn_times {
  double prepare = 0;       // float16: centre, rounding and norms of the corpus; not in total
  double norms = 0;         // norms, means and images of queries and corpus
  double threshold = 0;     // float16: from a part of the corpus
  double distance = 0;      // product and the pass over its result
  double selection = 0;     // of candidates, from the distances
  double merge = 0;         // selection from the candidates of several corpus tiles
  double order = 0;         // true distances of the candidates, their order and its proof
  double redo = 0;          // all stages of queries done again
  double elapsed = 0;       // from the first start to the last stop, gaps included
  double bare_product = 0;  // the product alone, to compare `distance` with; not in elapsed
  cuda_knn_times& operator+=(const cuda_knn_times& more);
  double total() const;  // the sum of the stages, without gaps
};

struct cuda_knn_stage {
  std::string_view name;
  double cuda_knn_times::*time;
  bool of_total = true;
};
inline constexpr std::array<cuda_knn_stage, 10> cuda_knn_stages = {
    {{"prepare", &cuda_knn_times::prepare, false},
     {"norms", &cuda_knn_times::norms},
     {"threshold", &cuda_knn_times::threshold},
     {"distance", &cuda_knn_times::distance},
     {"selection", &cuda_knn_times::selection},
     {"merge", &cuda_knn_times::merge},
     {"order", &cuda_knn_times::order},
     {"redo", &cuda_knn_times::redo},
     {"elapsed", &cuda_knn_times::elapsed, false},
     {"bare_product", &cuda_knn_times::bare_product, false}}};

inline cuda_knn_times& cuda_knn_times::operator+=(const cuda_knn_times& more) {
  for (const cuda_knn_stage& stage : cuda_knn_stages) this->*stage.time += more.*stage.time;
  return *this;
}

inline double cuda_knn_times::total() const {
  double sum = 0;
  for (const cuda_knn_stage& stage : cuda_knn_stages) sum += stage.of_total ? this->*stage.time : 0;
  return sum;
}

struct cuda_knn_report {
  std::int64_t unproven = 0;     // queries whose first answer was not provably the nearest
  std::int64_t rows_proven = 0;  // rows of distances whose selection was proven
  std::int64_t query_tiles = 0, corpus_tiles = 0;
  bool streamed = false;
  bool half_product = false;
  knn_product product = knn_product::float32;  // what was used
  std::int64_t survivors = 0;                  // fused search: vectors whose scores passed
  std::int64_t by_float64 = 0;                 // fused search: queries done in float64
  std::string other_because;                   // why product `auto` was not the fused search
  std::string whole_product_because;  // if half of the product was asked for but is impossible
  std::vector<cuda_knn_times> times;  // one a repeat, or that of the single run
};

struct knn_request {
  const vector_set& base;
  const vector_set* query = nullptr;  // null: every base vector is a query (the k-NN graph)
  bool exclude_self = false;          // with null query: a vector is not its own neighbour
  runtime::metric metric = runtime::metric::sqeuclidean;
  std::int64_t k = 0;
  const algorithm& entry;
  std::int64_t block_bytes = std::int64_t{256} << 20;  // distances held at once; not on cuda
  std::int64_t most_block = 0;  // queries of a block of the host's search; 0: as block_bytes says
  knn_product product = knn_product::automatic;
  // In the host's memory. The host's search and the fused one have filters; the older products of
  // executor cuda have not.
  knn_filter filter = {};
  cuda_knn_options cuda = {};
  cuda_knn_report* report = nullptr;   // filled by executor cuda
  host_knn_report* on_host = nullptr;  // filled by a search on the host by float64

  const vector_set& queries() const { return query == nullptr ? base : *query; }
};

// The neighbours of `count` queries from `first` on: indices into base and distances, count x k,
// nearest first, equal distances by ascending index; where a query may return fewer than k vectors,
// the rest has index -1 and infinity. On executors cpu and fiber float64 distances
// decide (runtime/distance/images.hpp: ranked_distance), and `distances` are these, rounded to
// float32.
struct knn_block {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::span<const std::int64_t> indices;
  std::span<const float> distances;
  std::span<const double> ranked = {};  // what ordered them; empty on executor cuda
};

// Calls `sink` for each block in order, after its selection has been proven (on executor cuda, for
// the rows that request.cuda.prove names). Throws error(failure::usage) if k is out of range or the
// dimensions differ, error(failure::unsupported) for a filter or inner products where only the
// older products of executor cuda can do the request, and the exceptions of select_rows.
void knn(const knn_request& request, backend& place,
         const std::function<void(const knn_block&)>& sink);

}  // namespace kselect::search
