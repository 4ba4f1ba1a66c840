// Rows are checked in bands of neighbouring rows. If there are enough bands, each thread takes a
// band; otherwise all threads share the columns of one band. Row-major rows are read in place.
// Column-major ones are transposed through a tile that stays in the L1 cache, so that memory is
// read in whole cache lines and one counting loop serves both layouts.

#include "harness/verify/certificate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <omp.h>

#include "harness/harness.hpp"
#include "harness/verify/admitted_row.hpp"
#include "harness/verify/names.hpp"
#include "harness/verify/nan_order.hpp"
#include "harness/verify/row_checker.hpp"
#include "kselect/ragged.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

namespace {

namespace v = verification;

constexpr std::int64_t most_band_rows = 64;
constexpr std::int64_t tile_columns = v::block_elements;
constexpr std::int64_t least_segment = 1 << 14;  // columns worth a thread of their own

// A band has enough elements to be worth scheduling; in a column-major input, whole cache lines.
std::int64_t band_rows(const problem& what) {
  if (what.layout == layout::column_major) return most_band_rows;
  return std::clamp((std::int64_t{1} << 16) / what.n, std::int64_t{1}, most_band_rows);
}

// Checks bands of rows, one after another, in the same storage.
template <class T, class Index>
class band_checker {
 public:
  band_checker(const problem& what, const contract& promises, const io& buffers)
      : problem_(what),
        input_(static_cast<const T*>(buffers.input)),
        rows_(what, promises, buffers) {
    if (what.payload == payload::values) {
      storage_.resize(static_cast<std::size_t>(std::min(band_rows(what), what.q) * what.k));
    }
  }

  void check(std::int64_t first, std::int64_t last, int threads) {
    const auto size = static_cast<std::size_t>(last - first);
    const auto k = static_cast<std::size_t>(problem_.k);
    const std::span<order_key_t<T>> storage = storage_;
    for (std::size_t r = 0; r < size; ++r) {
      states_[r] = rows_.open(first + static_cast<std::int64_t>(r),
                              storage.empty() ? storage : storage.subspan(r * k, k));
    }
    const int segments = static_cast<int>(
        std::clamp(problem_.n / least_segment, std::int64_t{1}, std::int64_t{threads}));
#pragma omp parallel for num_threads(segments) if (segments > 1)
    for (int s = 0; s < segments; ++s) {
      read(first, size, problem_.n * s / segments, problem_.n * (s + 1) / segments);
    }
    for (std::size_t r = 0; r < size; ++r) {
      if (states_[r].open) rows_.close(first + static_cast<std::int64_t>(r), states_[r]);
    }
  }

  const verdict& result() const { return rows_.result(); }

 private:
  using band_counts = std::array<v::counts, most_band_rows>;

  void read(std::int64_t first_row, std::size_t rows, std::int64_t begin, std::int64_t end) {
    band_counts seen{};
    if (problem_.layout == layout::row_major) {
      read_rows(first_row, rows, begin, end, seen);
    } else {
      read_columns(first_row, rows, begin, end, seen);
    }
    for (std::size_t r = 0; r < rows; ++r) add(seen[r], states_[r].seen);
  }

  void read_rows(std::int64_t first_row, std::size_t rows, std::int64_t begin, std::int64_t end,
                 band_counts& seen) {
    const auto size = static_cast<std::size_t>(end - begin);
    for (std::size_t r = 0; r < rows; ++r) {
      if (!states_[r].open) continue;
      const std::int64_t at = problem_.offset(first_row + static_cast<std::int64_t>(r), begin);
      rows_.consume(states_[r], {input_ + at, size}, begin, seen[r]);
    }
  }

  void read_columns(std::int64_t first_row, std::size_t rows, std::int64_t begin, std::int64_t end,
                    band_counts& seen) {
    // The row stride of the tile is a cache line more than its columns. With a power of two, writes
    // down a column would collide in a few sets of the cache.
    constexpr std::size_t stride = tile_columns + 64 / sizeof(T);
    std::array<T, most_band_rows * stride> tile;
    for (std::int64_t c = begin; c < end; c += tile_columns) {
      const auto columns = static_cast<std::size_t>(std::min(tile_columns, end - c));
      for (std::size_t j = 0; j < columns; ++j) {
        const T* const column =
            input_ + problem_.offset(first_row, c + static_cast<std::int64_t>(j));
        for (std::size_t r = 0; r < rows; ++r) tile[r * stride + j] = column[r];
      }
      for (std::size_t r = 0; r < rows; ++r) {
        if (!states_[r].open) continue;
        rows_.consume(states_[r], {tile.data() + r * stride, columns}, c, seen[r]);
      }
    }
  }

  // Atomic: the segments of one row may end at the same time.
  static void add(const v::counts& from, v::counts& to) {
    std::atomic_ref(to.better).fetch_add(from.better, std::memory_order_relaxed);
    std::atomic_ref(to.at_best).fetch_add(from.at_best, std::memory_order_relaxed);
    std::atomic_ref(to.at_worst).fetch_add(from.at_worst, std::memory_order_relaxed);
  }

  const problem& problem_;
  const T* input_;
  v::row_checker<T, Index> rows_;
  std::array<v::row_state<T>, most_band_rows> states_;
  std::vector<order_key_t<T>> storage_;  // payload `values`: k bit patterns a row
};

void merge(const verdict& part, verdict& total) {
  total.rows_wrong += part.rows_wrong;
  if (part.first && (!total.first || part.first->row < total.first->row)) total.first = part.first;
}

template <class T, class Index>
verdict verify_as(const problem& what, const contract& promises, const io& buffers, int threads) {
  const std::int64_t height = band_rows(what);
  const std::int64_t bands = (what.q + height - 1) / height;
  const int side_by_side = bands < threads ? 1 : threads;
  const int within = bands < threads ? threads : 1;

  // Built before the parallel region, which no exception may leave.
  std::vector<band_checker<T, Index>> checkers;
  checkers.reserve(static_cast<std::size_t>(side_by_side));
  for (int t = 0; t < side_by_side; ++t) checkers.emplace_back(what, promises, buffers);

#pragma omp parallel for num_threads(side_by_side) schedule(dynamic)
  for (std::int64_t b = 0; b < bands; ++b) {
    auto& mine = checkers[static_cast<std::size_t>(omp_get_thread_num())];
    mine.check(b * height, std::min(what.q, (b + 1) * height), within);
  }

  verdict total{what.q, 0, std::nullopt};
  for (const auto& part : checkers) merge(part.result(), total);
  return total;
}

void require(bool holds, std::string_view what, const problem& of) {
  if (!holds) throw error(failure::usage, fmt::format("verify {}: {}", to_string(of), what));
}

// The values that the indices of an answer name. An index outside the row, which the certificate
// refuses, has the value zero.
std::vector<std::byte> values_named(const problem& what, const io& buffers) {
  const std::size_t size = size_of(what.type);
  std::vector<std::byte> named(static_cast<std::size_t>(what.q * what.k) * size);
  const auto* const input = static_cast<const std::byte*>(buffers.input);
  visit(what.index, [&]<class Index>(Index) {
    for (std::int64_t at = 0; at < what.q * what.k; ++at) {
      const auto column = static_cast<std::int64_t>(static_cast<const Index*>(buffers.indices)[at]);
      if (column < 0 || column >= what.n) continue;
      const auto from = static_cast<std::size_t>(what.offset(at / what.k, column)) * size;
      std::memcpy(named.data() + static_cast<std::size_t>(at) * size, input + from, size);
    }
  });
  return named;
}

// The first output of a ragged row from `first` on that is not the fill; empty if all are.
std::optional<finding> wrong_fill(const problem& what, const io& buffers, std::int64_t row,
                                  std::int64_t first) {
  const std::size_t size = size_of(what.type);
  const std::uint64_t wanted = fill_bits(what.type, what.direction);
  for (std::int64_t j = first; j < what.k; ++j) {
    const std::int64_t at = row * what.k + j;
    std::uint64_t bits = wanted;
    std::int64_t index = what.fill;
    if (what.has_values()) {
      bits = 0;
      std::memcpy(
          &bits,
          static_cast<const std::byte*>(buffers.values) + static_cast<std::size_t>(at) * size,
          size);
    }
    if (what.has_indices()) {
      index = visit(what.index, [&]<class Index>(Index) {
        return static_cast<std::int64_t>(static_cast<const Index*>(buffers.indices)[at]);
      });
    }
    if (bits == wanted && index == what.fill) continue;
    return finding{check::fill, row, j,
                   fmt::format("fill: row {}, position {}: the row gives {} elements, so index {} "
                               "and bits 0x{:x} should stand here; found are {} and 0x{:x}",
                               row, j, first, what.fill, wanted, index, bits)};
  }
  return std::nullopt;
}

// A finding about the only row of a problem as one about row number `row`.
finding of_row(finding first, std::int64_t row) {
  const std::string zero = ": row 0,";
  if (const auto at = first.detail.find(zero); at != std::string::npos) {
    first.detail.replace(at, zero.size(), fmt::format(": row {},", row));
  }
  first.row = row;
  return first;
}

// A ragged row of `length` elements by itself.
problem row_alone(const problem& what, const io& buffers, std::int64_t row, std::int64_t length) {
  problem alone = what;
  alone.lengths = alone.starts = alone.k_each = row_numbers::none;
  alone.mask = mask_bits::none;
  alone.segments = false;
  alone.pitch = alone.elements = alone.mask_pitch = 0;
  alone.q = 1;
  alone.n = length;
  alone.k = selected_of(what, buffers, row, length);
  return alone;
}

// What is wrong with a row under a mask; empty if nothing is. The elements that the mask admits are
// proven as a row of their own.
std::optional<finding> wrong_admitted(const problem& what, const contract& promises,
                                      const io& buffers, std::int64_t row, int threads) {
  const admitted_row left(what, buffers, row);
  problem alone = row_alone(what, buffers, row, left.size());
  io own{.input = left.elements(),
         .values = array_from(buffers.values, row * what.k, size_of(what.type))};
  std::vector<std::int64_t> positions;
  if (what.has_indices()) {
    if (auto wrong = left.positions_of(alone.k, positions)) return wrong;
    alone.index = index_type::int64;
    own.indices = positions.data();
  }
  const verdict found = verify(alone, promises, own, threads);
  if (found) return wrong_fill(what, buffers, row, alone.k);
  finding first = of_row(*found.first, row);
  first.detail += " (columns are counted among those that the mask admits)";
  return first;
}

// What is wrong with a ragged row; empty if nothing is.
std::optional<finding> wrong_row(const problem& what, const contract& promises, const io& buffers,
                                 std::int64_t row, int threads) {
  if (what.mask != mask_bits::none) return wrong_admitted(what, promises, buffers, row, threads);
  const row_extent e = extent_of(what, buffers, row);
  const problem alone = row_alone(what, buffers, row, e.length);
  const io own{.input = array_from(buffers.input, e.first, size_of(what.type)),
               .values = array_from(buffers.values, row * what.k, size_of(what.type)),
               .indices = array_from(buffers.indices, row * what.k, size_of(what.index))};
  verdict found = verify(alone, promises, own, threads);
  if (found) return wrong_fill(what, buffers, row, alone.k);
  return of_row(*found.first, row);
}

verdict verify_ragged(const problem& what, const contract& promises, const io& buffers,
                      int threads) {
  const auto require_array = [&](const void* array, bool wanted, const char* missing) {
    require(array != nullptr || !wanted, missing, what);
  };
  require_array(buffers.k_each, what.k_each != row_numbers::none, "the k of rows is null");
  require_array(buffers.lengths, what.lengths != row_numbers::none, "the lengths are null");
  require_array(buffers.starts, what.starts != row_numbers::none, "the starts are null");
  require_array(buffers.mask, what.mask != mask_bits::none, "the mask is null");
  require(what.payload != payload::kth_value, "ragged rows have no k-th value", what);
  verdict total{what.q, 0, std::nullopt};
  const int within = what.q < threads ? threads : 1;
  const int side_by_side = what.q < threads ? 1 : threads;
#pragma omp parallel for num_threads(side_by_side) schedule(dynamic)
  for (std::int64_t row = 0; row < what.q; ++row) {
    const auto wrong = wrong_row(what, promises, buffers, row, within);
    if (!wrong) continue;
#pragma omp critical(kselect_ragged_verdict)
    merge({1, 1, wrong}, total);
  }
  return total;
}

void require_arrays(const problem& what, const io& buffers) {
  const auto require_one = [&](bool wanted, const void* array, std::string_view why) {
    require(array != nullptr || !wanted, why, what);
  };
  require_one(true, buffers.input, "the input is null");
  require_one(what.has_values(), buffers.values, "the values are null");
  require_one(what.has_indices(), buffers.indices, "the indices are null");
  require_one(what.map != row_numbers::none, buffers.map, "the map is null");
  require_one(what.mask != mask_bits::none, buffers.mask, "the mask is null");
  require_one(what.k_each != row_numbers::none, buffers.k_each, "the k of rows is null");
  require_one(what.lengths != row_numbers::none, buffers.lengths, "the lengths are null");
  require_one(what.starts != row_numbers::none, buffers.starts, "the starts are null");
}

}  // namespace

verdict verify(const problem& what, const contract& promises, const io& buffers, int threads) {
  require(threads >= 1, "threads must be at least 1", what);
  if (what.n == 0 || what.q == 0 || what.k == 0) return {};
  require_arrays(what, buffers);
  require(!what.ragged() || what.payload != payload::kth_value, "ragged rows have no k-th value",
          what);
  if (what.map != row_numbers::none) {
    std::vector<std::int64_t> positions = positions_named(what, buffers);
    problem plain = without_map(what);
    plain.index = index_type::int64;
    io answer = buffers;
    answer.indices = positions.data();
    return verify(plain, promises, answer, threads);
  }
  // The elements that a mask admits are proven as rows with any place of NaN.
  if (what.mask != mask_bits::none) return verify_ragged(what, promises, buffers, threads);
  if (what.nan != nan_order::total_order) return verify_nan_order(what, promises, buffers, threads);
  if (what.ragged()) return verify_ragged(what, promises, buffers, threads);
  if (!what.has_values()) {
    std::vector<std::byte> named = values_named(what, buffers);
    problem both = what;
    both.payload = payload::values_and_indices;
    io answer = buffers;
    answer.values = named.data();
    return verify(both, promises, answer, threads);
  }
  return visit_words(what.type, [&](auto t) {
    return visit(what.index, [&](auto i) {
      return verify_as<decltype(t), decltype(i)>(what, promises, buffers, threads);
    });
  });
}

}  // namespace kselect::harness
