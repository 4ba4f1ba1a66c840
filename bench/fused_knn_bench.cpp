// Times the stages of a fused k-NN search on a GPU, on vectors made here, and checks some queries
// in float64 on the host.
//
//     kselect_fused_bench N Q DIMENSION K [uniform|normal|bytes] [REPEATS] [CHECKED]
//     [BODY[,BODY...]] [separate|graph|half]
//
// BODY: mma_sync, wgmma or wgmma_slabs; before it bfloat16: or int8: for products of
// these. int8 alone is int8:mma_sync. Several are measured one after the other, on the same
// vectors. graph: every vector is a query, so Q is N; half: and each pair is multiplied once.
// Prints one JSON object for each body: medians in milliseconds, without the first repeat. Exits
// with 7 if a checked query has a wrong neighbour.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "search/knn/cuda/stopwatch.hpp"
#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/fused_search.hpp"
#include "search/knn/fused/knn_by_products.hpp"

namespace kselect::search {
namespace {

using fused::make;
using fused::stage;
using fused::view;

struct setting {
  std::int64_t n, q, dimension, k;
  std::string kind;
  int repeats;
  std::int64_t checked;
  std::string body;
  std::string queries;
};

// A component by its number: splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

std::vector<float> made(const setting& s, std::int64_t count, std::uint64_t seed) {
  std::vector<float> data(static_cast<std::size_t>(count * s.dimension));
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::uint64_t bits = mixed(seed << 40 ^ i);
    const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
    if (s.kind == "bytes") {
      data[i] = static_cast<float>(bits % 256);
    } else if (s.kind == "normal") {
      const double other = static_cast<double>(mixed(bits) >> 11) * 0x1p-53;
      data[i] = static_cast<float>(std::sqrt(-2 * std::log1p(-unit)) *
                                   std::cos(6.283185307179586 * other));
    } else {
      data[i] = static_cast<float>(unit);
    }
  }
  return data;
}

std::vector<std::pair<double, std::int64_t>> nearest(const setting& s,
                                                     const std::vector<float>& base,
                                                     const float* query) {
  std::vector<std::pair<double, std::int64_t>> all(static_cast<std::size_t>(s.n));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < s.n; ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < s.dimension; ++c) {
      const double d = double{base[static_cast<std::size_t>(i * s.dimension + c)]} - query[c];
      sum += d * d;
    }
    all[static_cast<std::size_t>(i)] = {sum, i};
  }
  std::ranges::partial_sort(all, all.begin() + s.k);
  all.resize(static_cast<std::size_t>(s.k));
  return all;
}

// Of the checked queries, how many have a wrong neighbour. The two sums of squares are added in
// different orders, so neighbours whose distances agree to 1e-13 may change places.
std::int64_t count_wrong(const setting& s, const std::vector<float>& base,
                         const std::vector<float>& query, const std::vector<std::int64_t>& indices,
                         const std::vector<double>& exact) {
  std::int64_t wrong = 0;
  for (std::int64_t c = 0; c < s.checked; ++c) {
    const std::int64_t q = c * s.q / s.checked;
    const auto right = nearest(s, base, query.data() + q * s.dimension);
    bool same = true;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t at = static_cast<std::size_t>(q * s.k) + j;
      const bool close = std::abs(exact[at] - right[j].first) <= 1e-13 * right[j].first;
      const bool tied = (j > 0 && right[j - 1].first >= right[j].first * (1 - 1e-13)) ||
                        j + 1 == right.size() || right[j + 1].first <= right[j].first * (1 + 1e-13);
      same = same && close && (indices[at] == right[j].second || tied);
    }
    wrong += same ? 0 : 1;
  }
  return wrong;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

template <class T>
std::vector<T> downloaded(backend& place, const device_buffer& from, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  place.to_host(std::as_writable_bytes(std::span(values)), from.data());
  return values;
}

// What multiplies, and what.
struct arm {
  fused::product_body body = fused::product_body::fastest;
  simt::product factors = simt::product::float16;
};

const std::map<std::string, fused::product_body> bodies = {
    {"", fused::product_body::fastest},
    {"mma_sync", fused::product_body::mma_sync},
    {"wgmma", fused::product_body::wgmma},
    {"wgmma_slabs", fused::product_body::wgmma_slabs}};

std::optional<arm> arm_of(const std::string& name) {
  if (name == "int8") return arm{fused::product_body::mma_sync, simt::product::int8};
  const std::size_t colon = name.find(':');
  const std::string factors = colon == std::string::npos ? "" : name.substr(0, colon);
  const auto body = bodies.find(colon == std::string::npos ? name : name.substr(colon + 1));
  if (body == bodies.end()) return {};
  if (factors.empty()) return arm{body->second, simt::product::float16};
  if (factors == "bfloat16") return arm{body->second, simt::product::bfloat16};
  if (factors == "int8") return arm{body->second, simt::product::int8};
  return {};
}

// The names of all arms; empty if one is unknown.
std::vector<std::string> arms_of(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t first = 0; first <= list.size();) {
    const std::size_t last = std::min(list.find(',', first), list.size());
    names.push_back(list.substr(first, last - first));
    if (!arm_of(names.back())) return {};
    first = last + 1;
  }
  return names;
}

std::string name_of(fused::product_body body) {
  for (const auto& [name, b] : bodies) {
    if (b == body) return name;
  }
  return {};
}
bool graph_of(const setting& s) { return s.queries != "separate"; }

// Vectors and answers in the GPU's memory.
struct device_data {
  device_data(backend& place, const setting& s)
      : base(made(s, s.n, 1)),
        query(graph_of(s) ? base : made(s, s.q, 2)),
        of_base(make<float>(place, s.n * s.dimension)),
        of_query(make<float>(place, s.q * s.dimension)),
        indices(make<std::int64_t>(place, s.q * s.k)),
        distances(make<float>(place, s.q * s.k)),
        exact(make<double>(place, s.q * s.k)) {
    place.to_device(of_base.data(), std::as_bytes(std::span(base)));
    place.to_device(of_query.data(), std::as_bytes(std::span(query)));
  }
  fused::answers answers(std::int64_t k) const {
    return {.indices = view<std::int64_t>(indices),
            .distances = view<float>(distances),
            .exact = view<double>(exact),
            .k = k,
            .root = false};
  }
  std::vector<float> base, query;
  device_buffer of_base, of_query, indices, distances, exact;
};

// Milliseconds of each stage, a repeat each but for the first.
using stage_times = std::map<std::string, std::vector<double>>;

void add_times(stage_times& times, double prepare, const cuda_knn_times& t) {
  times["prepare"].push_back(prepare);
  times["round"].push_back(t.norms);
  times["threshold"].push_back(t.threshold);
  times["product"].push_back(t.distance);
  times["finish"].push_back(t.order);
  times["again"].push_back(t.redo);
  times["all"].push_back(t.elapsed);
}

fused::search_report run_and_time(backend& place, const setting& s, const device_data& data,
                                  fused::prepared_corpus& corpus, fused::fused_search& search,
                                  stage_times& times) {
  stopwatch watch(static_cast<cudaStream_t>(place.executor().stream), true);
  const fused::stage_clock clock = [&](stage of, const std::function<void()>& work) {
    watch.time(fused::time_of(of), work);
  };
  fused::search_report found;
  for (int repeat = 0; repeat <= s.repeats; ++repeat) {
    corpus.prepare(clock);
    static_cast<void>(place.synchronise());
    const double prepare = watch.take().prepare;
    found = search.run(view<float>(graph_of(s) ? data.of_base : data.of_query).data, s.q, 0,
                       data.answers(s.k), clock);
    const cuda_knn_times t = watch.take();
    if (repeat != 0) add_times(times, prepare, t);
  }
  return found;
}

// Pairs that the pass over the corpus multiplies.
double pairs_of(const setting& s, const fused::search_plan& plan) {
  constexpr double tile = fused::tile_rows;
  const auto tiles = static_cast<double>(fused::tiles_of(s.n));
  if (plan.half.taken()) return tiles * (tiles + 1) / 2 * tile * tile;
  return static_cast<double>(plan.second.tiles()) * tile * static_cast<double>(s.q);
}

void print(const backend& place, const setting& s, const fused::search_plan& plan,
           const fused::search_report& found, const stage_times& times, std::int64_t wrong) {
  std::string text;
  for (const auto& [name, values] : times) {
    text += fmt::format(", \"{}_ms\": {:.3f}", name, median(values));
  }
  const simt::product factors = arm_of(s.body)->factors;
  const std::string body = (factors == simt::product::int8       ? "int8:"
                            : factors == simt::product::bfloat16 ? "bfloat16:"
                                                                 : "") +
                           name_of(plan.body);
  const double tflops =
      2e-9 * pairs_of(s, plan) * static_cast<double>(s.dimension) / median(times.at("product"));
  const double survivors = static_cast<double>(found.survivors) / static_cast<double>(s.q);
  fmt::print(
      "{{\"device\": \"{}\", \"n\": {}, \"q\": {}, \"d\": {}, \"k\": {}, \"vectors\": \"{}\", "
      "\"queries\": \"{}\", \"half_product\": {}, \"body\": \"{}\"{}, \"tflops\": {:.1f}, "
      "\"survivors\": {:.1f}, \"again\": {}, \"by_float64\": {}, \"checked\": {}, \"wrong\": {}, ",
      place.description().name, s.n, s.q, s.dimension, s.k, s.kind, s.queries, plan.half.taken(),
      body, text, tflops, survivors, found.again, found.by_float64, s.checked, wrong);
  fmt::print(
      "\"splits\": {}, \"room\": {}, \"first_splits\": {}, \"first_tiles\": {}, "
      "\"matrix_tiles\": {}, \"half_part\": {}, \"half_room\": {}}}\n",
      plan.second.splits, plan.second.room, plan.first.splits, plan.first.tiles(),
      plan.matrix_tiles, plan.half.part, plan.half.room);
}

int measure(backend& place, const setting& s, const device_data& data) {
  const arm by = *arm_of(s.body);
  fused::prepared_corpus corpus(place, view<float>(data.of_base).data, s.n, s.dimension,
                                metric::sqeuclidean, by.factors);
  fused::fused_search search(place, corpus, s.q, s.k, false,
                             {.body = by.body, .half_product = s.queries == "half"});
  const fused::half_plan& half = search.plan().half;
  if (s.queries == "half" && !half.taken()) {
    throw error(failure::unsupported, "half of the products: " + half.impossible_because);
  }
  stage_times times;
  const fused::search_report found = run_and_time(place, s, data, corpus, search, times);
  const std::int64_t wrong = count_wrong(s, data.base, data.query,
                                         downloaded<std::int64_t>(place, data.indices, s.q * s.k),
                                         downloaded<double>(place, data.exact, s.q * s.k));
  print(place, s, search.plan(), found, times, wrong);
  return wrong == 0 ? 0 : static_cast<int>(failure::wrong_answer);
}

// An arm that fails does not keep the others from being measured.
int measure_all(setting s) {
  const auto place = open_backend(executor_kind::cuda);
  const device_data data(*place, s);
  int worst = 0;
  for (const std::string& name : arms_of(s.body)) {
    s.body = name;
    try {
      worst = std::max(worst, measure(*place, s, data));
    } catch (const kselect::runtime::error& failed) {
      fmt::print(stderr, "kselect_fused_bench: {}: {}\n", name, failed.what());
      worst = std::max(worst, failed.exit_code());
    }
  }
  return worst;
}

}  // namespace
}  // namespace kselect::search

int main(int count, char** given) {
  const auto number = [&](int i, std::int64_t otherwise) {
    return i < count ? std::strtoll(given[i], nullptr, 10) : otherwise;
  };
  const kselect::search::setting s{.n = number(1, 0),
                                   .q = number(2, 0),
                                   .dimension = number(3, 0),
                                   .k = number(4, 0),
                                   .kind = count > 5 ? given[5] : "uniform",
                                   .repeats = static_cast<int>(number(6, 9)),
                                   .checked = number(7, 32),
                                   .body = count > 8 ? given[8] : "",
                                   .queries = count > 9 ? given[9] : "separate"};
  const bool graph = s.queries == "graph" || s.queries == "half";
  if (s.n < 1 || s.q < 1 || s.dimension < 1 || s.k < 1 || s.k > s.n || s.repeats < 1 ||
      s.checked > s.q || (graph && s.q != s.n) || !(graph || s.queries == "separate") ||
      kselect::search::arms_of(s.body).empty()) {
    fmt::print(stderr,
               "usage: kselect_fused_bench N Q DIMENSION K [uniform|normal|bytes] "
               "[REPEATS] [CHECKED] [BODY[,BODY...]] [separate|graph|half]\n");
    return 2;
  }
  try {
    return kselect::search::measure_all(s);
  } catch (const kselect::runtime::error& failed) {
    fmt::print(stderr, "kselect_fused_bench: {}\n", failed.what());
    return failed.exit_code();
  }
}
