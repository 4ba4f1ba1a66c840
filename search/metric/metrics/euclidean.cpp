#include "search/metric/metrics/euclidean.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/copy_by_threads.hpp"
#include "runtime/error.hpp"
#include "runtime/io/npy.hpp"
#include "runtime/io/vectors.hpp"
#include "search/metric/section_io.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

euclidean::set::set(std::span<const float> dense, std::int64_t count, std::int64_t dimension)
    : count_(count), dimension_(dimension) {
  // In 128 bits: the numbers may be those of a file.
  const auto components =
      static_cast<unsigned __int128>(count) * static_cast<std::size_t>(dimension);
  if (count < 0 || dimension < 0 || dense.size() != components) {
    throw std::invalid_argument(fmt::format("{} floats are not {} vectors of dimension {}",
                                            dense.size(), count, dimension));
  }
  data_.resize(static_cast<std::size_t>(count * padded()));
  for (std::int64_t i = 0; i < count; ++i) {
    std::copy_n(dense.data() + i * dimension, dimension, data_.data() + i * padded());
  }
}

euclidean::set euclidean::set::gather(std::span<const std::int64_t> numbers) const {
  set taken;
  taken.count_ = static_cast<std::int64_t>(numbers.size());
  taken.dimension_ = dimension_;
  taken.data_.reserve(numbers.size() * static_cast<std::size_t>(padded()));
  for (const std::int64_t i : numbers) {
    taken.data_.insert(taken.data_.end(), row(i), row(i) + padded());
  }
  return taken;
}

std::vector<float> euclidean::set::dense() const {
  std::vector<float> rows;
  rows.reserve(static_cast<std::size_t>(count_ * dimension_));
  for (std::int64_t i = 0; i < count_; ++i) rows.insert(rows.end(), row(i), row(i) + dimension_);
  return rows;
}

euclidean::set euclidean::load(const std::string& file) {
  const vector_set loaded = load_vectors(file, {.streams = true, .one_row = true});
  return {loaded.data, loaded.count, loaded.dimension};
}

void euclidean::save(const set& s, const std::string& file) {
  // load() tells the format by the name.
  if (!file.ends_with(".npy")) {
    throw error(failure::usage, fmt::format("{}: vectors are written as .npy; name it so", file));
  }
  const std::vector<float> rows = s.dense();
  write_npy(file, element_type::float32, std::array{s.count(), s.dimension()},
            std::as_bytes(std::span(rows)));
}

void euclidean::write(const set& s, sections& out) {
  append_section(out, "vectors.shape", std::array{s.count(), s.dimension()});
  append_section(out, "vectors", s.dense());
}

euclidean::set euclidean::read(const sections& from) {
  const auto shape = section_values<std::int64_t>(from, "vectors.shape");
  if (shape.size() != 2) throw std::invalid_argument("section vectors.shape is not two numbers");
  const auto data = section_values<float>(from, "vectors");
  if (!std::ranges::all_of(data, [](float x) { return std::isfinite(x); })) {
    throw std::invalid_argument("section vectors holds a component that is not finite");
  }
  return {data, shape[0], shape[1]};
}

void euclidean::adapt(set& queries, const set& corpus) {
  if (queries.dimension() == corpus.dimension()) return;
  throw error(failure::usage, fmt::format("queries have dimension {}, the indexed vectors {}",
                                          queries.dimension(), corpus.dimension()));
}

tolerance euclidean::tolerance_of(const set& s) {
  // Relative errors, with u = 2^-24: u for a difference, 2u for its square, u for each of the d/8
  // additions of a chain and of the three of the tree. The root halves the sum of these and adds u.
  constexpr double u = 0x1p-24;
  const double chain = static_cast<double>(s.padded()) / partial_sums;
  const double relative = u * (2 + (chain + 3) / 2 + 1) * 1.01;
  // Squares below 2^-126 are subnormal: each loses at most 2^-150.
  const double absolute = 2 * std::sqrt(static_cast<double>(s.padded())) * 0x1p-74;
  return {static_cast<float>(relative * (1 + 0x1p-20)), static_cast<float>(absolute)};
}

void euclidean::write_image(const set& s, std::byte* memory, int threads) {
  // A line of memory holds as many floats of a column: it is written at once.
  constexpr std::int64_t line = 16, worthwhile = 1 << 16;
  // The team of all copies (runtime/copy_by_threads.hpp).
  const int team = s.count() * s.dimension() < worthwhile ? 1 : runtime::moving_threads(threads);
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
  for (std::int64_t first = 0; first < s.count(); first += line) {
    const std::int64_t size = std::min(line, s.count() - first);
    for (std::int64_t c = 0; c < s.dimension(); ++c) {
      float column[line];
      for (std::int64_t i = 0; i < size; ++i) column[i] = s.row(first + i)[c];
      std::memcpy(memory + static_cast<std::size_t>(c * s.count() + first) * sizeof(float), column,
                  static_cast<std::size_t>(size) * sizeof(float));
    }
  }
}

euclidean::view euclidean::attach(const set& s, std::byte* memory) {
  return {{reinterpret_cast<const float*>(memory), s.count() * s.dimension()},
          s.count(),
          static_cast<int>(s.dimension())};
}

}  // namespace kselect::search::metric_space
