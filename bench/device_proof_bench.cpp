// The cost of a proof on a GPU, by the host's clock: the certificate, the hash of the input and the
// poisoning of the outputs, for 2^27 elements in rows of several lengths. All keys are equal, so
// any k columns are a right answer. The answer's columns are evenly spread over the row: the worst
// case for gathering them. Without a GPU it measures nothing.

#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/verify/device/certificate_on_device.hpp"
#include "harness/verify/device/words.hpp"
#include "harness/verify/guard.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect {
namespace {
using namespace runtime;
using namespace harness;

constexpr std::int64_t elements = std::int64_t{1} << 27;

backend* gpu(benchmark::State& state) {
  static const std::string why = why_unavailable(executor_kind::cuda);
  static const auto place = why.empty() ? open_backend(executor_kind::cuda) : nullptr;
  if (place == nullptr) state.SkipWithError(why.c_str());
  return place.get();
}

void certificate(benchmark::State& state, layout lies) {
  backend* const place = gpu(state);
  if (place == nullptr) return;
  problem what;
  what.n = state.range(0);
  what.q = elements / what.n;
  what.k = state.range(1);
  what.layout = lies;
  const device_buffer rows(*place, what.input_bytes());
  const device_buffer values(*place, what.values_bytes());
  const device_buffer indices(*place, what.indices_bytes());
  fill_words(*place, rows.data(), rows.size(), 0);
  fill_words(*place, values.data(), values.size(), 0);
  std::vector<std::int32_t> chosen(static_cast<std::size_t>(what.q * what.k));
  for (std::int64_t j = 0; j < what.q * what.k; ++j) {
    chosen[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(j % what.k * (what.n / what.k));
  }
  place->to_device(indices.data(), std::as_bytes(std::span(chosen)));
  for (auto _ : state) {
    const auto found =
        verify_on_device(what, {}, {rows.data(), values.data(), indices.data()}, *place);
    if (!found || !*found) state.SkipWithError("a right answer was not proven");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(what.input_bytes()));
}

void hash(benchmark::State& state) {
  backend* const place = gpu(state);
  if (place == nullptr) return;
  const device_buffer rows(*place, elements * sizeof(float));
  for (auto _ : state) benchmark::DoNotOptimize(hash_words(*place, rows.data(), rows.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(rows.size()));
}

void poisoning(benchmark::State& state) {
  backend* const place = gpu(state);
  if (place == nullptr) return;
  const device_buffer outputs(*place, elements * sizeof(float));
  for (auto _ : state) {
    fill_words(*place, outputs.data(), outputs.size(), poison_as_word());
    if (!place->synchronise().ok()) state.SkipWithError("the fill failed");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(outputs.size()));
}

void shapes(benchmark::internal::Benchmark* of) {
  of->Unit(benchmark::kMillisecond)->UseRealTime()->ArgNames({"n", "k"});
  for (const std::int64_t n : {std::int64_t{1} << 10, std::int64_t{1} << 20, elements}) {
    for (const std::int64_t k : {std::int64_t{16}, std::int64_t{512}, n}) of->Args({n, k});
  }
}

BENCHMARK_CAPTURE(certificate, rows, layout::row_major)->Apply(shapes);
BENCHMARK_CAPTURE(certificate, columns, layout::column_major)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->ArgNames({"n", "k"})
    ->Args({1 << 10, 512})
    ->Args({1 << 20, 512});
BENCHMARK(hash)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(poisoning)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace kselect
