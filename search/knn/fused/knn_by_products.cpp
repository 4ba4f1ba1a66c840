#include "search/knn/fused/knn_by_products.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/byte_vectors.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/stage_times.hpp"

namespace kselect::search {
namespace {

using fused::make;
using fused::stage;
using fused::view;

constexpr std::int64_t most_vectors = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t delivered_at_once = 1 << 16;  // queries

device_buffer uploaded(backend& place, const vector_set& set) {
  device_buffer memory = make<float>(place, set.count * set.dimension);
  place.to_device(memory.data(), std::as_bytes(std::span(set.data)));
  return memory;
}

fused::search_shape shape_of(const knn_request& r, knn_product product) {
  return {.n = r.base.count,
          .q = r.queries().count,
          .dimension = r.base.dimension,
          .k = r.k + (r.exclude_self ? 1 : 0),
          .wgmma_is_built = fused::wgmma_is_built(),
          .each = r.filter.each(),
          .factors = factors_of(product),
          .leaves_out = r.filter.words != nullptr,
          .of_inner_products = r.metric == metric::inner_product};
}

// What `auto` takes: integers where they are faster and all vectors are bytes. Their answers are
// the same, so only time depends on it.
knn_product chosen_product(const knn_request& r, const device& place) {
  if (r.product != knn_product::automatic) return r.product;
  const bool euclidean = r.metric == metric::sqeuclidean || r.metric == metric::euclidean;
  const bool faster = fused::integers_are_faster(shape_of(r, knn_product::float16), place);
  return euclidean && faster && hold_bytes(r.base, r.queries()) ? knn_product::int8
                                                                : knn_product::float16;
}

// Everything in the executor's memory.
class products_search {
 public:
  // `half`: of the product of a graph, where that can be.
  products_search(const knn_request& r, backend& place, knn_product product, bool half)
      : r_(r),
        place_(place),
        product_(product),
        base_(uploaded(place, r.base)),
        corpus_(place, view<float>(base_).data, r.base.count, r.base.dimension, r.metric,
                factors_of(product_)),
        search_(place, corpus_, r.queries().count, r.k, r.exclude_self,
                {.leaves_out = filtering_of(r.filter), .half_product = half}),
        indices_(make<std::int64_t>(place, r.queries().count * r.k)),
        distances_(make<float>(place, r.queries().count * r.k)) {
    if (r.query != nullptr) query_ = uploaded(place, *r.query);
    upload_filter();
  }

  bool filters() const { return search_.plan().filters(); }
  const char* by_float64_because() const { return search_.plan().by_float64_because; }

  void run(cuda_knn_report& report) {
    fused::stage_times watch(place_, r_.cuda.repeats != 0);
    const fused::stage_clock clock = [&](stage s, const std::function<void()>& work) {
      watch.time(s, work);
    };
    const float* const queries = view<float>(r_.query == nullptr ? base_ : query_).data;
    for (int repeat = 0; repeat < std::max(1, r_.cuda.repeats); ++repeat) {
      corpus_.prepare(clock);
      const fused::search_report found = search_.run(queries, r_.queries().count, 0,
                                                     {.indices = view<std::int64_t>(indices_),
                                                      .distances = view<float>(distances_),
                                                      .exact = {},
                                                      .k = r_.k,
                                                      .root = r_.metric == metric::euclidean},
                                                     clock, allowed_);
      report.unproven = found.again;
      report.survivors = found.survivors;
      report.by_float64 = found.by_float64;
      if (const auto times = watch.take()) report.times.push_back(*times);
    }
    report.product = product_;
    const fused::half_plan& half = search_.plan().half;
    report.half_product = half.taken();
    report.whole_product_because = why_whole();
    report.rows_proven = r_.queries().count;
    report.query_tiles = report.corpus_tiles = 1;
  }

  void deliver(const std::function<void(const knn_block&)>& sink) {
    const std::int64_t all = r_.queries().count;
    std::vector<std::int64_t> indices;
    std::vector<float> distances;
    for (std::int64_t first = 0; first < all; first += delivered_at_once) {
      const std::int64_t count = std::min(delivered_at_once, all - first);
      indices.resize(static_cast<std::size_t>(count * r_.k));
      distances.resize(static_cast<std::size_t>(count * r_.k));
      place_.to_host(
          std::as_writable_bytes(std::span(indices)),
          reinterpret_cast<const std::byte*>(view<std::int64_t>(indices_).data + first * r_.k));
      place_.to_host(
          std::as_writable_bytes(std::span(distances)),
          reinterpret_cast<const std::byte*>(view<float>(distances_).data + first * r_.k));
      sink({.first = first,
            .count = count,
            .indices = indices,
            .distances = distances,
            .ranked = {}});
    }
  }

 private:
  // Empty if half of the product was not asked for, or is what was done.
  std::string why_whole() const {
    if (!r_.cuda.half_product.value_or(false)) return {};
    return filters() ? search_.plan().half.impossible_because : by_float64_because();
  }
  static fused::filtering filtering_of(const knn_filter& filter) {
    if (filter.words == nullptr) return fused::filtering::none;
    return filter.each() ? fused::filtering::each : fused::filtering::one;
  }
  void upload_filter() {
    const knn_filter& filter = r_.filter;
    if (filter.words == nullptr) return;
    const std::int64_t words =
        filter.each() ? r_.queries().count * filter.pitch : knn_filter::words_for(r_.base.count);
    words_ = make<std::uint32_t>(place_, words);
    place_.to_device(words_.data(),
                     std::as_bytes(std::span(filter.words, static_cast<std::size_t>(words))));
    allowed_ = {view<const std::uint32_t>(words_), filter.pitch};
  }

  const knn_request& r_;
  backend& place_;
  knn_product product_;
  device_buffer base_, query_;
  fused::prepared_corpus corpus_;
  fused::fused_search search_;
  device_buffer indices_, distances_, words_;
  fused::admitted allowed_;
};

bool half_pays(const knn_request& r, knn_product product, const device& place) {
  return r.query == nullptr && fused::half_is_faster(shape_of(r, product), place);
}

// Half of the product takes more memory than the whole. If nobody asked for it, its lack is no
// error.
void open(std::optional<products_search>& search, const knn_request& r, backend& place) {
  const knn_product product = chosen_product(r, place.description());
  const bool half = r.cuda.half_product.value_or(half_pays(r, product, place.description()));
  try {
    search.emplace(r, place, product, half);
  } catch (const error& failed) {
    if (!half || r.cuda.half_product || failed.category() != failure::resources) throw;
    search.emplace(r, place, product, false);
  }
}

}  // namespace

bool asks_for_products(const knn_request& r, const device& place) {
  if (is_filtered(r.product)) return true;
  const cuda_knn_options& o = r.cuda;
  return r.product == knn_product::automatic && place.kind == executor_kind::cuda &&
         r.entry.name == "auto" && o.memory_bytes == 0 && !o.tf32 && !o.sum_by_warp;
}

std::string knn_by_products(const knn_request& r, backend& place,
                            const std::function<void(const knn_block&)>& sink) {
  std::optional<products_search> search;
  cuda_knn_report report;
  try {
    if (r.base.count > most_vectors || r.queries().count > most_vectors) {
      throw error(failure::unsupported,
                  fmt::format("filtered products take fewer than 2^31 vectors; {} has {}",
                              r.base.source, std::max(r.base.count, r.queries().count)));
    }
    if (r.product == knn_product::int8) {
      require_bytes(r.base);
      if (r.query != nullptr) require_bytes(*r.query);
    }
    open(search, r, place);
    // Where float64 would do all of the work, the older ways are faster; but they have neither
    // filters nor inner products.
    const bool others_can = r.product == knn_product::automatic && r.filter.words == nullptr &&
                            r.metric != metric::inner_product;
    if (others_can && !search->filters()) return search->by_float64_because();
    search->run(report);
  } catch (const error& failed) {
    const bool elsewhere =
        failed.category() == failure::unsupported || failed.category() == failure::resources;
    if (r.product == knn_product::automatic && elsewhere) return failed.what();
    throw;
  }
  if (r.report != nullptr) *r.report = report;
  search->deliver(sink);
  return {};
}

}  // namespace kselect::search
