#pragma once
// Passes of the filter on a GPU, over vectors that a test makes: for tests of its bodies.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/knn/fused/arrays.hpp"
#include "search/knn/fused/filter_pass.hpp"

namespace kselect::search::fused {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

// Random bits by their number: splitmix64.
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}
inline float unit(std::uint64_t seed) { return static_cast<float>(mixed(seed) >> 40) * 0x1p-24F; }

// What component c of vector i is made of: its number.
using component = std::function<float(std::uint64_t)>;

// Vectors in tiles (layout.hpp), without a centre or a scale.
struct tiles {
  std::int64_t count, dimension;
  simt::product factors;
  std::vector<std::byte> laid;

  tiles(std::int64_t n, std::int64_t d, std::uint64_t seed, const component& make,
        simt::product of = simt::product::float16)
      : count(n),
        dimension(d),
        factors(of),
        laid(static_cast<std::size_t>(tiles_of(n) * slabs_of(d, of) * slab_bytes)) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < d; ++c) {
        const auto number = static_cast<std::uint64_t>(i * d + c);
        put(place(i, c), make(seed << 40 ^ number));
      }
    }
  }
  // The first byte of a component.
  std::size_t place(std::int64_t i, std::int64_t c) const {
    const int width = width_of_slab(factors), size = 2 * slab_width / width;
    const std::int64_t slab = i / tile_rows * slabs_of(dimension, factors) + c / width;
    const auto byte = static_cast<int>(c % width) * size;
    const int in_slab = place_in_slab(static_cast<int>(i % tile_rows), byte / 16);
    return static_cast<std::size_t>((slab * slab_vectors + in_slab) * 16 + byte % 16);
  }
  std::vector<double> operator[](std::int64_t i) const {
    std::vector<double> vector;
    for (std::int64_t c = 0; c < dimension; ++c) vector.push_back(at(place(i, c)));
    return vector;
  }

 private:
  void put(std::size_t to, float x) {
    if (simt::of_bytes(factors)) {
      laid[to] = static_cast<std::byte>(static_cast<std::int8_t>(x));
      return;
    }
    const std::uint16_t bits = factors == simt::product::bfloat16 ? from_float<bfloat16>(x).bits
                                                                  : from_float<float16>(x).bits;
    std::memcpy(&laid[to], &bits, sizeof bits);
  }
  float at(std::size_t from) const {
    if (simt::of_bytes(factors)) return static_cast<float>(static_cast<std::int8_t>(laid[from]));
    std::uint16_t bits = 0;
    std::memcpy(&bits, &laid[from], sizeof bits);
    return factors == simt::product::bfloat16 ? to_float(bfloat16{bits}) : to_float(float16{bits});
  }
};

inline double product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c) sum += x[c] * y[c];
  return sum;
}

// -|y|^2 / 2, and -inf beyond the count.
inline std::vector<float> starts_of(const tiles& corpus, std::int64_t count) {
  std::vector<float> starts(static_cast<std::size_t>(tiles_of(count) * tile_rows), -infinity);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<double> y = corpus[i];
    starts[static_cast<std::size_t>(i)] = static_cast<float>(-product(y, y) / 2);
  }
  return starts;
}

struct survivors {
  int splits, room;
  std::vector<std::uint32_t> counts, positions;
  std::vector<float> scores;

  struct one {
    std::uint32_t position;
    float score;
    auto operator<=>(const one&) const = default;
  };
  std::uint32_t counted(std::int64_t row) const {
    std::uint32_t sum = 0;
    for (int s = 0; s < splits; ++s) sum += counts[static_cast<std::size_t>(row * splits + s)];
    return sum;
  }
  std::vector<one> of(std::int64_t row) const {
    std::vector<one> all;
    for (int s = 0; s < splits; ++s) {
      const auto segment = static_cast<std::size_t>(row * splits + s);
      const std::size_t first = segment * static_cast<std::size_t>(room);
      const auto listed = std::min(counts[segment], static_cast<std::uint32_t>(room));
      for (std::size_t i = first; i < first + listed; ++i) {
        all.push_back({positions[i], scores[i]});
      }
    }
    std::ranges::sort(all);
    return all;
  }
};

// A corpus and queries on the GPU.
class setting {
 public:
  setting(const tiles& corpus, std::int64_t n, const tiles& queries)
      : n_(n),
        q_(queries.count),
        slabs_(static_cast<int>(slabs_of(corpus.dimension, corpus.factors))),
        factors_(corpus.factors),
        place_(runtime::open_backend(executor_kind::cuda)),
        corpus_(uploaded(corpus.laid)),
        queries_(uploaded(queries.laid)),
        starts_(uploaded(starts_of(corpus, n))),
        thresholds_(make<float>(*place_, tiles_of(q_) * tile_rows)) {}

  backend& place() { return *place_; }
  std::int64_t n() const { return n_; }
  std::int64_t q() const { return q_; }
  void set(const std::vector<float>& thresholds) {
    place_->to_device(thresholds_.data(), std::as_bytes(std::span(thresholds)));
  }

  void set_start(std::int64_t i, float start) {
    place_->to_device(starts_.data() + i * std::int64_t{sizeof start},
                      std::as_bytes(std::span(&start, 1)));
  }

  filter_args args(const pass_plan& pass) const {
    filter_args a;
    a.queries.slabs = view<chunk>(queries_);
    a.corpus.slabs = view<chunk>(corpus_);
    a.starts = view<const float>(starts_);
    a.thresholds = view<const float>(thresholds_);
    a.rows = q_;
    a.slabs = slabs_;
    a.factors = factors_;
    a.query_tiles = static_cast<int>(tiles_of(q_));
    a.first_tile = static_cast<int>(pass.first);
    a.last_tile = static_cast<int>(pass.last);
    a.part = static_cast<int>(pass.part);
    return a;
  }
  // All scores of the first tiles.
  std::vector<float> matrix(std::int64_t last) {
    const std::int64_t columns = last * tile_rows, rows = tiles_of(q_) * tile_rows;
    const device_buffer to = make<float>(*place_, rows * columns);
    filter_args a = args({.first = 0, .last = last, .part = last});
    a.matrix = view<float>(to);
    a.matrix_pitch = columns;
    filter(*place_, output::matrix, a, 1, product_body::mma_sync);
    return downloaded<float>(to, rows * columns);
  }
  // Maxima of groups of tiles, by parts of so many groups.
  std::vector<float> maxima(product_body body, int group, int groups_of_part) {
    const auto tiles = tiles_of(n_);
    const pass_plan over = {
        .first = 0, .last = tiles, .part = std::int64_t{group} * groups_of_part};
    const std::int64_t columns = (tiles + group - 1) / group * maxima_of_tile;
    const device_buffer to = make<float>(*place_, tiles_of(q_) * tile_rows * columns);
    filter_args a = args(over);
    a.matrix = view<float>(to);
    a.matrix_pitch = columns;
    a.group = group;
    filter(*place_, output::maxima, a, static_cast<int>((tiles + over.part - 1) / over.part), body);
    return downloaded<float>(to, q_ * columns);
  }
  // One pass, and the median of `repeats` times in milliseconds if there are any.
  survivors pass(product_body body, const pass_plan& over, int repeats = 0,
                 double* milliseconds = nullptr) {
    const std::int64_t segments = tiles_of(q_) * tile_rows * over.splits;
    const device_buffer counts = make<std::uint32_t>(*place_, segments);
    const device_buffer positions = make<std::uint32_t>(*place_, segments * over.room);
    const device_buffer scores = make<float>(*place_, segments * over.room);
    filter_args a = args(over);
    a.lists = {view<std::uint32_t>(counts), view<std::uint32_t>(positions), view<float>(scores),
               over.splits, over.room};
    const auto enqueue = [&] {
      filter(*place_, output::scored, a, over.splits, body);
      return status{};
    };
    enqueue();
    require(place_->synchronise());
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
      const runtime::timed_run run = place_->time(enqueue);
      require(run.outcome);
      times.push_back(run.nanoseconds * 1e-6);
    }
    std::ranges::sort(times);
    if (milliseconds != nullptr) *milliseconds = times[times.size() / 2];
    return {over.splits, over.room, downloaded<std::uint32_t>(counts, segments),
            downloaded<std::uint32_t>(positions, segments * over.room),
            downloaded<float>(scores, segments * over.room)};
  }

 private:
  template <class T>
  device_buffer uploaded(const std::vector<T>& from) {
    device_buffer to = make<T>(*place_, static_cast<std::int64_t>(from.size()));
    place_->to_device(to.data(), std::as_bytes(std::span(from)));
    return to;
  }
  template <class T>
  std::vector<T> downloaded(const device_buffer& from, std::int64_t count) {
    std::vector<T> to(static_cast<std::size_t>(count));
    place_->to_host(std::as_writable_bytes(std::span(to)), from.data());
    return to;
  }

  std::int64_t n_, q_;
  int slabs_;
  simt::product factors_;
  std::unique_ptr<backend> place_;
  device_buffer corpus_, queries_, starts_, thresholds_;
};

// All tiles, `part` of them for a block, with room for so many survivors.
inline pass_plan whole(std::int64_t n, std::int64_t part, int room) {
  return {.first = 0,
          .last = tiles_of(n),
          .part = part,
          .splits = static_cast<int>((tiles_of(n) + part - 1) / part),
          .room = room};
}

// For tests that need both bodies.
class on_both_bodies : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    if (!wgmma_is_built()) GTEST_SKIP() << "not built for compute capability 9.0";
    const auto place = runtime::open_backend(executor_kind::cuda);
    const std::string why = why_not_wgmma(place->description(), 1);
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

inline constexpr product_body both[] = {product_body::mma_sync, product_body::wgmma};
inline const char* name_of(product_body b) {
  switch (b) {
    case product_body::wgmma:
      return "wgmma";
    case product_body::wgmma_slabs:
      return "wgmma_slabs";
    default:
      return "mma_sync";
  }
}

// All bodies for such vectors.
inline std::vector<product_body> bodies_for(const tiles& of) {
  std::vector<product_body> bodies = {product_body::mma_sync, product_body::wgmma_slabs};
  const std::int64_t slabs = slabs_of(of.dimension, of.factors);
  if (of.factors == simt::product::float16 && slabs <= most_slabs_of_wgmma) {
    bodies.push_back(product_body::wgmma);
  }
  return bodies;
}

}  // namespace kselect::search::fused
