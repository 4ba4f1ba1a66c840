#pragma once
// Passes of the filter on a GPU, over vectors that a test makes: for tests of its two bodies.

#include <algorithm>
#include <cstdint>
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

// Vectors of float16 in tiles (layout.hpp), without a centre or a scale.
struct tiles {
  std::int64_t count, dimension;
  std::vector<float16> laid;

  tiles(std::int64_t n, std::int64_t d, std::uint64_t seed, const component& make)
      : count(n),
        dimension(d),
        laid(static_cast<std::size_t>(tiles_of(n) * slabs_of(d) * slab_vectors * 8)) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < d; ++c) {
        const auto number = static_cast<std::uint64_t>(i * d + c);
        laid[place(i, c)] = from_float<float16>(make(seed << 40 ^ number));
      }
    }
  }
  std::size_t place(std::int64_t i, std::int64_t c) const {
    const std::int64_t slab = i / tile_rows * slabs_of(dimension) + c / slab_width;
    const int in_slab =
        place_in_slab(static_cast<int>(i % tile_rows), static_cast<int>(c % 64 / 8));
    return static_cast<std::size_t>((slab * slab_vectors + in_slab) * 8 + c % 8);
  }
  std::vector<double> operator[](std::int64_t i) const {
    std::vector<double> vector;
    for (std::int64_t c = 0; c < dimension; ++c) vector.push_back(to_float(laid[place(i, c)]));
    return vector;
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
        slabs_(static_cast<int>(slabs_of(corpus.dimension))),
        place_(runtime::open_backend(executor_kind::cuda)),
        corpus_(uploaded<float16>(corpus.laid)),
        queries_(uploaded<float16>(queries.laid)),
        starts_(uploaded<float>(starts_of(corpus, n))),
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
  return b == product_body::wgmma ? "wgmma" : "mma_sync";
}

}  // namespace kselect::search::fused
