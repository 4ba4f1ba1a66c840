// kselect-gbench CONFIG [--benchmark_*]: runs the cells of a config as Google Benchmark benchmarks,
// with that tool's reporters, filters and compare.py. It uses manual times: those of one run in
// `kselect run`, on the GPU by device events, without restoring the inputs.
//
// Names are those of `kselect export --format gbench`, so that both outputs can be compared. Each
// answer is proven before and after; a wrong one is an error without a time. The rounds, cold and
// batch times and records of `kselect run` are missing here.

#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "harness/export/exports.hpp"
#include "harness/plan/plan.hpp"
#include "harness/run/plugins_of_config.hpp"
#include "harness/run/row_variants.hpp"
#include "harness/run/trial.hpp"
#include "runtime/environment/host.hpp"
#include "runtime/error.hpp"

namespace {

using namespace kselect;
using namespace kselect::runtime;
using namespace kselect::harness;

constexpr double seconds_per_ns = 1e-9;

// The state that cells share. The rows and their copy on the device are kept as long as the next
// cell has the same ones.
class bench {
 public:
  bench(const sweep_config& config, const input_source& input, backends& places)
      : warmup_(config.measure.warmup), places_(places), input_(input) {}

  // Google Benchmark calls this several times for one cell, with growing numbers of iterations.
  void run(benchmark::State& state, const cell& c) {
    try {
      backend& place = places_.open(c.executor);
      trial attempt(*c.entry->algorithm, c.problem, rows(c, place), place);
      if (!prove(state, attempt)) return;
      for (auto _ : state) {
        attempt.prepare();
        const timed_run taken = attempt.time();
        if (!taken.outcome.ok()) {
          state.SkipWithError(taken.outcome.message.c_str());
          return;
        }
        state.SetIterationTime(taken.nanoseconds * seconds_per_ns);
      }
      if (const std::string wrong = attempt.disprove(); !wrong.empty()) {
        state.SkipWithError(("after timing: " + wrong).c_str());
        return;
      }
      state.SetItemsProcessed(state.iterations() * c.problem.n * c.problem.q);
      state.SetBytesProcessed(state.iterations() *
                              static_cast<std::int64_t>(c.problem.input_bytes()));
    } catch (const error& failed) {
      state.SkipWithError(failed.what());
    }
  }

 private:
  const input_rows& rows(const cell& c, backend& place) {
    if (!rows_ || executor_ != c.executor) {
      rows_.reset();
      rows_ = std::make_unique<row_variants>(input_, place);
      executor_ = c.executor;
    }
    rows_->require(c.problem);
    return rows_->first();
  }

  // One proven run, then the warm-up.
  bool prove(benchmark::State& state, trial& attempt) const {
    for (int i = 0; i <= warmup_; ++i) {
      attempt.prepare();
      const status result = attempt.run();
      std::string wrong = result.ok() ? "" : result.message;
      if (i == 0 && wrong.empty()) wrong = attempt.disprove();
      if (wrong.empty()) continue;
      state.SkipWithError(wrong.c_str());
      return false;
    }
    return true;
  }

  int warmup_;
  backends& places_;
  const input_source& input_;
  std::unique_ptr<row_variants> rows_;
  executor_kind executor_ = executor_kind::cpu;
};

struct options {
  std::string config, executor, filter, dataset;
};

void register_cells(const std::vector<cell>& cells, bench& shared) {
  for (const cell& c : cells) {
    const std::string name =
        benchmark_name(c.problem, c.entry->algorithm->name, to_string(c.executor));
    // If these were registered as errors, they would spoil the geometric mean of compare.py.
    if (c.foreseen != cell_status::ok || c.problem.n == 0 || c.problem.q == 0) {
      fmt::print(stderr, "kselect-gbench: left out {}: {}\n", name,
                 c.foreseen == cell_status::ok ? "no rows" : c.reason);
      continue;
    }
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&shared, &c](benchmark::State& state) { shared.run(state, c); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // removes its own options from argv
  CLI::App app{"The cells of a config as Google Benchmark benchmarks (--benchmark_* as usual)",
               "kselect-gbench"};
  options o;
  app.add_option("config", o.config, "config file, e.g. configs/smoke.json")->required();
  app.add_option("--filter", o.filter,
                 "only cells whose `ALGORITHM PROBLEM` matches this glob somewhere");
  app.add_option("--executor", o.executor, "run everything on this executor")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--dataset", o.dataset, "base vectors, instead of the config's");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : static_cast<int>(failure::usage);
  }

  const sweep_config config = load_config(o.config);
  load_plugins_of(config);
  require_selection(config, "Google Benchmark");
  const auto given = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  backends places(config.measure);
  const auto executor = o.executor.empty() ? std::nullopt : parse<executor_kind>(o.executor);
  const auto input =
      open_input(choose_input(config, given(o.dataset), config.measure.threads, executor));
  const std::vector<cell> cells = plan_cells({config, *input, executor, given(o.filter)}, places);
  bench shared(config, *input, places);
  register_cells(cells, shared);
  benchmark::AddCustomContext("kselect", version_line());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const kselect::runtime::error& failed) {
    std::fflush(stdout);
    fmt::print(stderr, "kselect-gbench: {}\n", failed.what());
    return failed.exit_code();
  }
}
