// The cost of a certificate: bytes of input verified per second, on one thread unless the name says
// otherwise. Answers are right and unsorted. Inputs are larger than the first-level caches and fit
// into the last one, so that the numbers measure the code, not the memory.
//
// The harness verifies before and after timing. At less than 1 GB/s a core that would dominate a
// sweep.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/verify/certificate.hpp"
#include "harness/verify/device/words.hpp"
#include "harness/verify/guard.hpp"

namespace kselect {
namespace {
using namespace runtime;
using namespace harness;

template <class T>
struct answered {
  problem what;
  std::vector<T> input;
  std::vector<T> values;
  std::vector<std::int32_t> indices;

  io buffers() {
    return {input.data(), values.data(), what.has_indices() ? indices.data() : nullptr};
  }
};

template <class T>
answered<T> answer(problem what) {
  what.type = sizeof(T) == 4 ? dtype::float32 : dtype::float64;
  answered<T> made{what, {}, {}, {}};
  std::mt19937 random(7);
  std::uniform_real_distribution<T> uniform(0, 1);
  made.input.resize(static_cast<std::size_t>(what.input_elements()));
  for (T& element : made.input) element = uniform(random);
  std::vector<std::int32_t> order(static_cast<std::size_t>(what.n));
  for (std::int64_t row = 0; row < what.q; ++row) {
    const auto at = [&](std::int32_t c) {
      return made.input[static_cast<std::size_t>(what.offset(row, c))];
    };
    std::iota(order.begin(), order.end(), 0);
    std::nth_element(order.begin(), order.begin() + what.k - 1, order.end(),
                     [&](std::int32_t a, std::int32_t b) { return at(a) < at(b); });
    if (what.payload == payload::kth_value) {
      made.values.push_back(at(order[static_cast<std::size_t>(what.k - 1)]));
      continue;
    }
    std::shuffle(order.begin(), order.begin() + what.k, random);
    for (std::int64_t j = 0; j < what.k; ++j) {
      made.indices.push_back(order[static_cast<std::size_t>(j)]);
      made.values.push_back(at(made.indices.back()));
    }
  }
  return made;
}

template <class T>
void certificate(benchmark::State& state, const problem& what, const contract& promises,
                 int threads) {
  answered<T> made = answer<T>(what);
  for (auto _ : state) {
    const verdict found = verify(made.what, promises, made.buffers(), threads);
    if (!found) state.SkipWithError(found.first->detail.c_str());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(made.what.input_bytes()));
}

void float32(benchmark::State& state, const problem& what, const contract& promises = {},
             int threads = 1) {
  certificate<float>(state, what, promises, threads);
}

void float64(benchmark::State& state, const problem& what) {
  certificate<double>(state, what, {}, 1);
}

void input_hash(benchmark::State& state) {
  const std::vector<std::byte> bytes(std::size_t{1} << 24);
  for (auto _ : state) benchmark::DoNotOptimize(hash_bytes(bytes, 1));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

// The hash that identifies rows on a GPU; the host computes it once for each upload.
void word_hash(benchmark::State& state) {
  const std::vector<std::byte> bytes(std::size_t{1} << 24);
  for (auto _ : state) benchmark::DoNotOptimize(hash_words(bytes, 1));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

constexpr std::int64_t long_row = 1 << 20;
constexpr std::int64_t short_row = 1 << 12;

problem shape(std::int64_t q, std::int64_t n, std::int64_t k,
              payload asked = payload::values_and_indices, layout lies = layout::row_major) {
  problem what;
  what.n = n;
  what.q = q;
  what.k = k;
  what.payload = asked;
  what.layout = lies;
  return what;
}

contract first_ties() {
  contract promises;
  promises.tie_break = tie_break::prefer_smaller_index;
  return promises;
}

BENCHMARK_CAPTURE(float32, long_rows, shape(4, long_row, 32));
BENCHMARK_CAPTURE(float32, short_rows, shape(1024, short_row, 256));
BENCHMARK_CAPTURE(float32, long_rows_tie_break, shape(4, long_row, 32), first_ties());
BENCHMARK_CAPTURE(float32, long_rows_values, shape(4, long_row, 32, payload::values));
BENCHMARK_CAPTURE(float32, short_rows_values, shape(1024, short_row, 256, payload::values));
BENCHMARK_CAPTURE(float32, long_rows_kth, shape(4, long_row, 32, payload::kth_value));
BENCHMARK_CAPTURE(float32, columns_long,
                  shape(64, 1 << 16, 32, payload::values_and_indices, layout::column_major));
BENCHMARK_CAPTURE(float32, columns_short,
                  shape(1024, short_row, 256, payload::values_and_indices, layout::column_major));
BENCHMARK_CAPTURE(float32, columns_short_values,
                  shape(1024, short_row, 256, payload::values, layout::column_major));
BENCHMARK_CAPTURE(float32, tiny_rows, shape(1 << 16, 64, 8));
BENCHMARK_CAPTURE(float32, large_k, shape(4, long_row, 1 << 16));
BENCHMARK_CAPTURE(float64, long_rows, shape(4, long_row, 32));
BENCHMARK_CAPTURE(float64, short_rows, shape(1024, short_row, 256));
BENCHMARK_CAPTURE(float64, columns_short,
                  shape(1024, short_row, 256, payload::values_and_indices, layout::column_major));
BENCHMARK_CAPTURE(float32, one_long_row_two_threads, shape(1, long_row * 4, 32), contract{}, 2);
BENCHMARK(input_hash);
BENCHMARK(word_hash);

}  // namespace
}  // namespace kselect
