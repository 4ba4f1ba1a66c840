#include <algorithm>
#include <cmath>
#include <numeric>

#include "kselect/simt/products.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/filter_pass.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/inner.cuh"
#include "search/knn/fused/prepare.cuh"

namespace kselect::search::fused {
namespace {

constexpr std::int64_t centre_samples = 1024;

// A number near the golden section of `count` without a common divisor with it.
std::int64_t scattering_stride(std::int64_t count) {
  auto stride = static_cast<std::int64_t>(static_cast<double>(count) * 0.6180339887498949);
  stride = std::max<std::int64_t>(stride, 1);
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}

}  // namespace

// Products by simt/products.hpp. Sums of bytes are exact; then they are rounded to float32.
double sum_error(std::int64_t dimension, simt::product factors, int starts) {
  if (simt::of_bytes(factors)) return 0x1p-23 * (1 + 0x1p-20);
  const double steps = static_cast<double>(slabs_of(dimension)) * slab_width /
                       simt::product_depth(simt::product::float16);
  const double all =
      std::expm1(steps * std::log1p(simt::product_error) + (starts - 1) * std::log1p(0x1p-24));
  return all / (1 - all);
}

std::string why_not(const device& place, int compiled_for) {
  if (place.kind == executor_kind::cpu) return "products in float16 need executor cuda or fiber";
  if (place.kind == executor_kind::cuda && place.compute_capability < 80) {
    return "products in float16 need a GPU of compute capability 8.0 or more";
  }
  if (compiled_for != 0 && compiled_for < 80) {
    return "products in float16 need code for compute capability 8.0 or more, but this program has "
           "code of " +
           std::to_string(compiled_for / 10) + "." + std::to_string(compiled_for % 10) +
           " for this GPU; build again with CMAKE_CUDA_ARCHITECTURES naming the GPU's";
  }
  constexpr std::size_t needed = 100 << 10;
  if (place.shared_bytes != 0 && place.shared_bytes < needed - 1024) {
    return "products in float16 need 99 KiB of shared memory a block";
  }
  return {};
}

vector_images::vector_images(backend& place, std::int64_t most, std::int64_t dimension, metric m)
    : metric_(m), dimension_(dimension) {
  if (m != metric::cosine && m != metric::pearson) return;
  means_ = make<double>(place, most);
  scales_ = make<double>(place, most);
}

image_source vector_images::of(backend& place, const float* raw, std::int64_t count) const {
  image_source source;
  source.raw = {raw, count * dimension_};
  source.dimension = dimension_;
  if (means_.data() == nullptr) return source;
  const global<double> means{view<double>(means_).data, count};
  const global<double> scales{view<double>(scales_).data, count};
  constexpr int warps = summary_kernel::max_threads / simt::warp_size;
  start<summary_kernel>(place, blocks_for(count, warps),
                        {source.raw, means, scales, count, dimension_, metric_ == metric::pearson});
  source.means = means;
  source.scales = scales;
  return source;
}

prepared_corpus::prepared_corpus(backend& place, const float* raw, std::int64_t count,
                                 std::int64_t dimension, metric m, simt::product factors)
    : place_(place),
      raw_(raw),
      count_(count),
      factors_(factors),
      images_(place, count, dimension, m),
      order_{.ids = {}, .count = count, .stride = scattering_stride(count)} {
  const device& here = place.description();
  if (const std::string reason = why_not(here, filter_compiled_for(here)); !reason.empty()) {
    throw error(failure::unsupported, reason);
  }
  if (simt::of_bytes(factors) && m != metric::sqeuclidean && m != metric::euclidean) {
    throw error(failure::unsupported, "products of bytes are for sqeuclidean and euclidean alone");
  }
  const std::int64_t tiles = tiles_of(count), rows = tiles * tile_rows;
  centre_ = make<float>(place, dimension);
  variance_ = make<double>(place, dimension);
  totals_ = make<double>(place, 4 * tiles);
  facts_ = make<corpus_facts>(place, 1);
  slabs_ = make<chunk>(place, tiles * slabs_of(dimension, factors) * slab_vectors);
  squares_ = make<double>(place, rows);
  errors_ = make<double>(place, rows);
  starts_ = make<float>(place, rows);
  rounded_ = {view<chunk>(slabs_), view<double>(squares_), view<double>(errors_)};
  if (m != metric::inner_product) return;
  centre_of_queries_ = make<float>(place, dimension);
  facts_of_queries_ = make<corpus_facts>(place, 1);
  centre_norm_ = make<double>(place, 1);
}

void prepared_corpus::prepare(const stage_clock& clock) {
  clock(stage::prepare, [&] {
    source_ = images_.of(place_, raw_, count_);
    enqueue();
  });
}

void prepared_corpus::enqueue() {
  const std::int64_t tiles = tiles_of(count_), rows = tiles * tile_rows;
  const auto facts_here = view<corpus_facts>(facts_);
  start<centre_kernel>(place_, blocks_for(dimension(), simt::warp_size),
                       {source(), order_, std::min(count_, centre_samples), view<float>(centre_),
                        view<double>(variance_), factors_});
  start<scale_kernel>(place_, 1, {view<double>(variance_), dimension(), facts_here, factors_});
  const auto round_by = [&]<class Kernel>(Kernel) {
    start<Kernel>(
        place_, tiles,
        {source(), order_, count_, centre(), facts(), rounded_, view<double>(totals_), {}});
  };
  with_rounding(factors_, round_by);
  start<facts_kernel>(place_, 1,
                      {view<double>(totals_), tiles, count_, sum_error(dimension(), factors_),
                       facts_here, factors_ == simt::product::bfloat16});
  const start_kernel::args starts{rounded_, count_, rows, facts(), view<float>(starts_)};
  if (measure() != metric::inner_product) {
    return start<start_kernel>(place_, blocks_for(rows, start_kernel::max_threads), starts);
  }
  start<inner_start_kernel>(place_, blocks_for(rows, inner_start_kernel::max_threads), starts);
  start<inner_facts_kernel>(place_, 1,
                            {centre(), dimension(), view<float>(centre_of_queries_),
                             view<corpus_facts>(facts_of_queries_), view<double>(centre_norm_)});
}

rounded prepared_corpus::lent_as(const float* queries, std::int64_t count,
                                 std::int64_t batch) const {
  const bool same = queries == raw_ && count == count_;
  return same && count <= batch && measure() != metric::inner_product ? rounded_ : rounded{};
}
global<const float> prepared_corpus::centre() const { return view<const float>(centre_); }
global<const corpus_facts> prepared_corpus::facts() const {
  return view<const corpus_facts>(facts_);
}
global<const float> prepared_corpus::centre_of_queries() const {
  return measure() == metric::inner_product ? view<const float>(centre_of_queries_) : centre();
}
global<const corpus_facts> prepared_corpus::facts_of_queries() const {
  return measure() == metric::inner_product ? view<const corpus_facts>(facts_of_queries_) : facts();
}
global<const double> prepared_corpus::centre_norm() const {
  return view<const double>(centre_norm_);
}
global<const float> prepared_corpus::starts() const { return view<const float>(starts_); }

}  // namespace kselect::search::fused
