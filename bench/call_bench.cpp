// The host's part of a call of select(): from the call to its return, with a kept plan and without.
//
// On a GPU a call returns when its work is enqueued. Calls are timed in batches that the stream's
// queue holds, and the wait for the work is not timed. On the CPU a call returns with its answer,
// so an algorithm that does nothing stands for it; what is left are the checks. The plan that
// `auto` makes for an H200 is timed on any machine.
//
// n = 131072, Q = 1, k = 64: a call so short that the host's part is a share of it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "kselect/registry.hpp"
#include "kselect/select.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect {
namespace {
using namespace runtime;

constexpr std::int64_t n = 131'072, q = 1, k = 64;
constexpr int calls_of_batch = 256;  // fewer than a stream's queue holds

status do_nothing(const problem&, const io&, std::span<std::byte>, const executor&) { return {}; }

const algorithm& idle() {
  static const algorithm entry = [] {
    algorithm a;
    a.name = "bench/idle";
    a.executors = set_of(executor_kind::cpu);
    a.plan = [](const problem& p, const device&) { return call_plan::of<&do_nothing>(p, 4096); };
    return a;
  }();
  return entry;
}

// Buffers of one call in the memory of a backend.
class buffers {
 public:
  explicit buffers(backend& where, const place& on, const select_options& options)
      : input_(where, n * q * sizeof(float)),
        values_(where, q * k * sizeof(float)),
        indices_(where, q * k * sizeof(std::int32_t)),
        workspace_(where, select_workspace<float, std::int32_t>(rows(), k, on, options) + 1) {
    where.to_device(input_.data(), std::vector<std::byte>(input_.size()));
  }
  row_matrix<float> rows() const {
    return {.data = reinterpret_cast<const float*>(input_.data()), .q = q, .n = n};
  }
  std::span<float> values() const { return {reinterpret_cast<float*>(values_.data()), q * k}; }
  std::span<std::int32_t> indices() const {
    return {reinterpret_cast<std::int32_t*>(indices_.data()), q * k};
  }
  std::span<std::byte> workspace() const { return {workspace_.data(), workspace_.size()}; }

 private:
  device_buffer input_, values_, indices_, workspace_;
};

// Where the calls are timed: a GPU, or the CPU with an algorithm that does nothing.
struct scene {
  std::unique_ptr<backend> where;
  select_options options;
  place on = place::cpu(1);

  static scene open() {
    if (why_unavailable(executor_kind::cuda).empty()) {
      scene gpu{open_backend(executor_kind::cuda), {}};
      gpu.on = place::cuda(gpu.where->executor().stream);
      return gpu;
    }
    return {open_backend(executor_kind::cpu, 1), {.algorithm = &idle()}};
  }
};

template <class Call>
void time_calls(benchmark::State& state, scene& at, const Call& call) {
  status done = call();  // the first loads the kernel
  for (auto _ : state) {
    at.where->synchronise();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls_of_batch && done.ok(); ++i) done = call();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(taken.count() / calls_of_batch);
  }
  at.where->synchronise();
  if (!done.ok()) state.SkipWithError(done.message.c_str());
}

void call_with_kept_plan(benchmark::State& state) {
  scene at = scene::open();
  const buffers b(*at.where, at.on, at.options);
  const select_plan plan = plan_select(b.rows(), k, at.on, at.options);
  state.SetLabel(at.on.device().name + ", " + std::string(plan.algorithm()));
  time_calls(state, at,
             [&] { return select(plan, b.rows(), b.values(), b.indices(), b.workspace(), at.on); });
}

void call_without(benchmark::State& state) {
  scene at = scene::open();
  const buffers b(*at.where, at.on, at.options);
  state.SetLabel(at.on.device().name);
  time_calls(state, at, [&] {
    return select(b.rows(), k, b.values(), b.indices(), b.workspace(), at.on, at.options);
  });
}

// The plan alone. `auto` predicts the times of its members on an H200, here or not.
void plan_for_h200(benchmark::State& state) {
  device gpu;
  gpu.kind = executor_kind::cuda;
  gpu.name = "NVIDIA H200";
  gpu.multiprocessors = 132;
  gpu.compute_capability = 90;
  gpu.shared_bytes = 227 << 10;
  problem p;
  p.n = n;
  p.q = q;
  p.k = k;
  const registered* const entry = find_algorithm("auto");
  if (entry == nullptr) {
    state.SkipWithError("this build leaves auto out");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(plan_call(*entry->algorithm, p, gpu));
}

// The CPU's place, which a call by default asks for each time.
void place_of_all_threads(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(place::cpu());
}

BENCHMARK(place_of_all_threads)->Unit(benchmark::kMicrosecond);
BENCHMARK(call_with_kept_plan)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(call_without)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(plan_for_h200)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kselect
