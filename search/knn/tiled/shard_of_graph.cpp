#include "search/knn/tiled/shard_of_graph.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "harness/verify/guard.hpp"
#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/byte_vectors.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/stage_times.hpp"
#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/shard_by_products.hpp"
#include "search/knn/tiled/tile_stream.hpp"

namespace kselect::search {
namespace {

using fused::make;
using fused::view;

constexpr std::int64_t again_at_once = 1 << 14;  // vectors

class graph_shard final : public shard_of_graph {
 public:
  graph_shard(const tiled_request& request, const vector_files& base, const rank_of& which,
              std::int64_t tile, backend& place)
      : request_(request),
        count_(base.count()),
        dimension_(base.dimension()),
        which_(which),
        tile_(tile),
        place_(place),
        stream_(base, 0, base.count(), tile, reading_threads(place)),
        watch_(place, request.cuda.time_stages),
        vectors_(make<float>(place, count_ * dimension_)),
        corpus_(place, view<const float>(vectors_).data, count_, dimension_, request.metric,
                factors_of(request.product)),
        indices_(make<std::int64_t>(place, count_ * request.k)),
        distances_(make<float>(place, count_ * request.k)),
        exact_(make<double>(place, count_ * request.k)),
        certain_(make<std::int32_t>(place, count_)) {}

  std::int64_t tiles() const override { return stream_.tiles(); }
  std::int64_t tile() const override { return tile_; }
  shard_report report() const override {
    shard_report all = with_reading(report_, stream_);
    all.resident = true;
    return all;
  }

  void load(std::int64_t /*list_length*/) override {
    place_.get_ready_beside();
    bring_all();
    corpus_.prepare(clock());
    fused::fused_search search(place_, corpus_, count_, request_.k, request_.exclude_self,
                               {.half_product = true, .share = {which_.rank, which_.ranks}});
    if (!search.plan().half.taken()) {
      throw error(failure::unsupported, search.plan().half.impossible_because);
    }
    add(search.run(view<const float>(vectors_).data, count_, 0, answers(), clock()));
    dealing_ = hash_bytes(std::as_bytes(search.limits_of_pairs()), place_.description().threads);
    search.count_certain(answers(), view<std::int32_t>(certain_));
    if (const auto times = watch_.take()) report_.gpu += *times;
  }

  bool quick() const override { return true; }
  bool takes_queries() const override { return false; }
  std::uint64_t dealing() const override { return dealing_; }
  std::vector<std::int32_t> certain() const override {
    std::vector<std::int32_t> counts(index(count_));
    place_.to_host(std::as_writable_bytes(std::span(counts)), certain_.data());
    return counts;
  }

  void search_again(const std::vector<std::int64_t>& vectors) override {
    report_.unproven += std::ssize(vectors);
    for (std::size_t first = 0; first < vectors.size(); first += again_at_once) {
      const std::size_t count = std::min<std::size_t>(again_at_once, vectors.size() - first);
      search_some(std::span(vectors).subspan(first, count));
    }
    if (const auto times = watch_.take()) report_.gpu += *times;
  }

  std::function<void()> nearest(const vector_set& queries, std::int64_t first,
                                neighbour_lists& best, bound_sharing&) override {
    report_.rows_proven += queries.count;
    return [this, first, &best] { bring_lists(place_, answers(), first, 0, best); };
  }

 private:
  void bring_all() {
    for (std::int64_t t = 0; t < stream_.tiles(); ++t) {
      const tile_stream::tile tile = stream_.next();
      if (request_.product == knn_product::int8) require_bytes(tile.vectors, tile.first);
      put(vectors_, tile.first * dimension_, std::span<const float>(tile.vectors.data));
    }
  }

  fused::answers answers() const {
    return {.indices = view<std::int64_t>(indices_),
            .distances = view<float>(distances_),
            .exact = view<double>(exact_),
            .k = request_.k,
            .root = request_.metric == metric::euclidean};
  }
  fused::stage_clock clock() {
    return [this](fused::stage s, const std::function<void()>& work) { watch_.time(s, work); };
  }
  void add(const fused::search_report& done) {
    report_.unproven += done.again;
    report_.survivors += done.survivors;
    report_.by_float64 += done.by_float64;
  }

  // Numbers from and to a place of an array in the executor's memory.
  template <class T>
  void get(std::span<T> to, const device_buffer& from, std::int64_t at) {
    place_.to_host(std::as_writable_bytes(to), bytes_of<T>(from, at));
  }
  template <class T>
  void put(const device_buffer& to, std::int64_t at, std::span<const T> from) {
    place_.to_device(bytes_of<T>(to, at), std::as_bytes(from));
  }
  template <class T>
  static std::byte* bytes_of(const device_buffer& memory, std::int64_t at) {
    return reinterpret_cast<std::byte*>(view<T>(memory).data + at);
  }

  // Asks for one neighbour more if vectors may find themselves, and leaves them out.
  void search_some(std::span<const std::int64_t> vectors) {
    const auto count = std::ssize(vectors);
    const std::int64_t k = std::min(request_.k + (request_.exclude_self ? 1 : 0), count_);
    std::vector<float> raw(index(count * dimension_));
    for (std::int64_t i = 0; i < count; ++i) {
      get(std::span(raw).subspan(index(i * dimension_), index(dimension_)), vectors_,
          vectors[index(i)] * dimension_);
    }
    const device_buffer queries = make<float>(place_, count * dimension_);
    put(queries, 0, std::span<const float>(raw));
    const device_buffer indices = make<std::int64_t>(place_, count * k);
    const device_buffer distances = make<float>(place_, count * k);
    const device_buffer exact = make<double>(place_, count * k);
    fused::fused_search search(place_, corpus_, count, k, false);
    add(search.run(view<const float>(queries).data, count, -1,
                   {.indices = view<std::int64_t>(indices),
                    .distances = view<float>(distances),
                    .exact = view<double>(exact),
                    .k = k,
                    .root = request_.metric == metric::euclidean},
                   clock()));
    std::vector<std::int64_t> of_index(index(count * k));
    std::vector<float> of_distance(index(count * k));
    std::vector<double> of_exact(index(count * k));
    get(std::span(of_index), indices, 0);
    get(std::span(of_distance), distances, 0);
    get(std::span(of_exact), exact, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t at = index(i * k);
      replace(vectors[index(i)], std::span(of_index).subspan(at, index(k)),
              std::span(of_distance).subspan(at, index(k)),
              std::span(of_exact).subspan(at, index(k)));
    }
  }
  // Writes the answer of a vector, which may be among its own neighbours.
  void replace(std::int64_t vector, std::span<std::int64_t> indices, std::span<float> distances,
               std::span<double> exact) {
    const auto k = index(request_.k);
    if (request_.exclude_self) {
      const auto own = std::ranges::find(indices, vector);
      const auto place = static_cast<std::size_t>(own - indices.begin());
      for (std::size_t j = place; j < k; ++j) {
        indices[j] = indices[j + 1];
        distances[j] = distances[j + 1];
        exact[j] = exact[j + 1];
      }
    }
    put(indices_, vector * request_.k, std::span<const std::int64_t>(indices.first(k)));
    put(distances_, vector * request_.k, std::span<const float>(distances.first(k)));
    put(exact_, vector * request_.k, std::span<const double>(exact.first(k)));
  }

  const tiled_request& request_;
  std::int64_t count_, dimension_;
  rank_of which_;
  std::int64_t tile_;
  backend& place_;
  tile_stream stream_;
  fused::stage_times watch_;
  device_buffer vectors_;
  fused::prepared_corpus corpus_;
  device_buffer indices_, distances_, exact_, certain_;
  std::uint64_t dealing_ = 0;
  shard_report report_;
};

}  // namespace

void complete_graph(shard_of_graph& graph, communicator& ranks, std::int64_t vectors,
                    std::int64_t wanted) {
  agree(ranks, [&] {
    return nlohmann::ordered_json{{"thresholds of the graph", graph.dealing()}};
  });
  const auto part_begin = [&](int rank) { return first_of_rank(vectors, rank, ranks.size()); };
  std::vector<std::int64_t> rows;
  for (int r = 0; r < ranks.size(); ++r) rows.push_back(part_begin(r + 1) - part_begin(r));
  const std::int64_t first = part_begin(ranks.rank()), own = rows[index(ranks.rank())];
  const std::vector<std::int32_t> mine = graph.certain();
  std::vector<std::int32_t> of_all(index(own * ranks.size()));
  const std::array<communicator::column, 1> counts = {
      {{sizeof(std::int32_t), std::as_bytes(std::span(mine)),
        std::as_writable_bytes(std::span(of_all))}}};
  ranks.exchange(counts, rows);
  std::vector<std::int64_t> incomplete;
  for (std::int64_t v = 0; v < own; ++v) {
    std::int64_t certain = 0;
    for (int r = 0; r < ranks.size(); ++r) certain += of_all[index(r * own + v)];
    if (certain < wanted) incomplete.push_back(first + v);
  }
  agree(ranks, [&] {
    graph.search_again(incomplete);
    return nlohmann::ordered_json::object();
  });
}

std::unique_ptr<shard_of_graph> open_graph_shard(const tiled_request& request,
                                                 const vector_files& base, const rank_of& which,
                                                 std::int64_t tile, backend& place) {
  return std::make_unique<graph_shard>(request, base, which, tile, place);
}

}  // namespace kselect::search
