#include "harness/run/turn.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "harness/measure/pinning.hpp"
#include "harness/run/count_work.hpp"
#include "harness/run/disturbance.hpp"
#include "harness/run/group.hpp"
#include "harness/run/turn_steps.hpp"
#include "runtime/backend/ticks.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

constexpr std::int64_t prove_every_sample = std::int64_t{1} << 16;  // elements of the input
constexpr std::int64_t prove_every_round = std::int64_t{1} << 24;
// The driver queues about a thousand launches before a launch blocks the host.
constexpr int most_queued_kernels = 500;
constexpr double batch_ns = 5e6;  // target length of a batch
constexpr int most_batch_calls = 200;
// Later rounds take headline samples alone: a thousand trials need no thousand wall times.
constexpr int most_side_rounds = 64;

bool proven(contender& c, trial& attempt, const std::string& when) {
  if (std::string wrong = attempt.disprove(); !wrong.empty()) {
    end(c, cell_status::wrong, when + wrong);
    return false;
  }
  ++c.outcome.answers_proven;
  if (attempt.proven_in_place()) ++c.outcome.proven_in_place;
  return true;
}

// An entry on the host must have ended its work when it returns.
void look_later(contender& c, trial& attempt, double nanoseconds) {
  constexpr double shortest_s = 1e-3, longest_s = 0.1;
  if (std::string what = attempt.works_later(std::clamp(3e-9 * nanoseconds, shortest_s, longest_s));
      !what.empty()) {
    end(c, cell_status::error, what);
  }
}

// Decides whether the gaps between launches of a proven cell can be hidden, and the calls a batch.
void choose_timing(contender& c, trial& attempt, double nanoseconds, const turn_context& context) {
  const contract& promises = c.what->entry->algorithm->promises;
  attempt.prepare();
  c.outcome.graph = attempt.capture();
  if (!c.outcome.graph && c.what->executor != executor_kind::fiber)
    look_later(c, attempt, nanoseconds);
  if (!c.outcome.graph) return;  // the host has no launches: no gaps to hide, nothing to batch
  if (c.outcome.graph->refused.empty() && !proven(c, attempt, "replayed as a graph: ")) return;
  const int kernels = std::max(1, c.outcome.graph->kernels);
  c.gapless = !promises.synchronises && kernels <= most_queued_kernels;
  if (!promises.modifies_input) {
    const int queued = c.gapless ? most_queued_kernels / kernels : most_batch_calls;
    c.batch_calls = std::clamp(static_cast<int>(batch_ns / std::max(nanoseconds, 1.0)), 1,
                               std::min(queued, most_batch_calls));
  }
  if (!c.gapless) return;
  context.observer.running(*c.what);
  attempt.prepare();
  if (attempt.escapes_queue(std::clamp(3e-9 * nanoseconds, 0.01, 1.0))) {
    end(c, cell_status::error,
        "works outside the stream it was given: its outputs changed while that was held back");
  }
}

// A time and what the processor's own counter says of the same call.
struct witnessed {
  double nanoseconds;
  std::uint64_t ticks;
};

// Whether most times are shorter than the calls that they enclose, by the processor's own counter.
// A processor that is taken away between two readings makes a time longer.
bool clock_was_changed(contender& c, const std::vector<witnessed>& runs, const std::string& when) {
  constexpr double slack = 1.05, slack_ns = 1000;
  const std::optional<double> rate = nanoseconds_per_tick();
  if (!rate || runs.empty()) return false;
  const auto disputed = std::ranges::count_if(runs, [&](const witnessed& run) {
    return static_cast<double>(run.ticks) * *rate > slack * run.nanoseconds + slack_ns;
  });
  if (2 * disputed <= std::ssize(runs)) return false;
  const witnessed& first = runs.front();
  end(c, cell_status::error,
      fmt::format("{}the host's clock was changed: by it a call took {:.3g} us, by the processor's "
                  "own counter {:.3g} us",
                  when, first.nanoseconds / 1e3, static_cast<double>(first.ticks) * *rate / 1e3));
  return true;
}

struct sampling {
  contender& c;
  trial& attempt;
  disturbance& rows;
  const turn_context& context;
  std::string when;  // "in round 3: "

  bool warm_up() {
    if (c.is_long) return true;
    for (int i = 0; i < context.policy.warmup; ++i) {
      context.observer.running(*c.what);
      attempt.prepare();
      if (!went_well(c, attempt.run(), when)) return false;
    }
    return true;
  }

  // One timed call, from flushed caches if `cold`, on rows of which one was just changed. Empty if
  // the cell ended.
  template <class Time>
  std::optional<timed_run> sample(bool cold, bool prove, const Time& time) {
    context.observer.running(*c.what);
    rows.stir();
    attempt.prepare();
    if (cold) attempt.evict();
    timed_run run = time();
    if (!went_well(c, run.outcome, when)) return std::nullopt;
    const bool seen = rows.shown();
    if ((prove || !seen) && !proven(c, attempt, when)) return std::nullopt;
    // An answer that is right, and was not a moment ago, came after the call had returned.
    if (!seen && context.place.shares_host_memory() && rows.shown()) {
      end(c, cell_status::wrong, when + "wrote its answer after it had returned");
      return std::nullopt;
    }
    return run;
  }

  // Calls back to back, each on other rows.
  std::optional<timed_run> batch(row_variants& all) {
    context.observer.running(*c.what);
    attempt.prepare();
    timed_run run = attempt.time_batch(all.all(), c.batch_calls, c.gapless);
    return went_well(c, run.outcome, when) ? std::optional(run) : std::nullopt;
  }
};

bool headline(sampling& s, bool cold, bool prove, round_samples& taken) {
  const auto begin = turn_clock::now();
  const int most = s.c.log.samples_of_turn();
  double mhz = 0;
  int readings = 0, fallen = 0;
  std::vector<witnessed> runs;
  for (int i = 0; i < most; ++i) {
    const auto run = s.sample(cold, prove, [&] { return s.attempt.time(s.c.gapless); });
    if (!run) return false;
    taken.ns.push_back(run->nanoseconds);
    if (s.context.place.shares_host_memory()) runs.push_back({run->nanoseconds, s.attempt.ticks()});
    if (run->sm_mhz) {
      mhz += *run->sm_mhz;
      ++readings;
      fallen += run->throttled ? 1 : 0;
    }
    if (seconds_since(begin) >= s.c.log.seconds_of_turn()) break;
  }
  if (clock_was_changed(s.c, runs, s.when)) return false;
  if (readings > 0) taken.sm_mhz = mhz / readings;
  taken.throttled = 2 * fallen > static_cast<int>(taken.ns.size());
  return true;
}

// On a GPU, takes one wall time and one batch a round beside the headline samples.
bool side_timings(sampling& s, row_variants& rows, int round, round_samples& taken) {
  const bool untimed = s.context.place.shares_host_memory() || s.c.is_long;
  if (untimed || round >= most_side_rounds) return true;
  const auto run = s.sample(true, false, [&] { return s.attempt.wall_time(); });
  if (!run) return false;
  taken.wall_ns.push_back(run->nanoseconds);
  if (s.c.batch_calls == 0) return true;
  const auto batch = s.batch(rows);
  if (batch) taken.batch_ns = batch->nanoseconds;
  return batch.has_value();
}

}  // namespace

void prove_first(contender& c, row_variants& rows, const turn_context& context) {
  c.outcome.started = std::chrono::system_clock::now();
  guarded(c, [&] {
    const input_rows& input = rows.first();
    context.observer.running(*c.what);
    trial attempt(*c.what->entry->algorithm, c.what->problem, input, context.place);
    c.outcome.workspace_bytes = attempt.workspace_bytes();
    attempt.prepare();
    const timed_run first = attempt.time();
    if (!went_well(c, first.outcome, "") || !proven(c, attempt, "")) return;
    c.outcome.proven_before = true;
    const bool once = context.policy.rounds == 0;
    if (once && c.what->executor != executor_kind::fiber) return;
    // The first run may load code and start threads, so the second one gives the time of a call.
    context.observer.running(*c.what);
    attempt.prepare();
    const timed_run second = attempt.time();
    if (!went_well(c, second.outcome, "")) return;
    // Now, so that no other cell of this process is blamed for it.
    if (context.place.shares_host_memory() &&
        clock_was_changed(c, {{second.nanoseconds, attempt.ticks()}}, "")) {
      return;
    }
    c.is_long = is_long_call(second.nanoseconds, context.place);
    choose_timing(c, attempt, second.nanoseconds, context);
    if (c.outcome.status == cell_status::ok && counts_work(*c.what)) {
      context.observer.running(*c.what);
      c.outcome.work = count_work(*c.what, input.host(), context.place.description().threads);
    }
  });
}

void take_turn(contender& c, row_variants& rows, int round, const turn_context& context) {
  guarded(c, [&] {
    const bool on_host = context.place.shares_host_memory();
    const bool cold = !on_host || context.policy.cache == cpu_cache::flushed;
    const std::int64_t elements = c.what->problem.input_elements();
    input_rows& input = rows.of_round(round);
    context.observer.running(*c.what);
    std::optional<pinned_team> pinned;
    if (on_host) pinned.emplace(context.place.description().threads);
    c.outcome.pinned = pinned && pinned->complete();

    trial attempt(*c.what->entry->algorithm, c.what->problem, input, context.place);
    disturbance stirred(c.what->problem, c.what->entry->algorithm->promises, input, attempt,
                        context.place);
    sampling s{c, attempt, stirred, context, "in round " + std::to_string(round + 1) + ": "};
    const auto begin = turn_clock::now();
    round_samples taken;
    if (!s.warm_up() || !headline(s, cold, elements <= prove_every_sample, taken) ||
        !side_timings(s, rows, round, taken)) {
      return;
    }
    if (context.gpu != nullptr) look_at_gpu(c, *context.gpu, taken);
    c.log.add(std::move(taken), seconds_since(begin));
    if (elements <= prove_every_round || c.log.done()) {
      context.observer.running(*c.what);
      c.outcome.proven_after = proven(c, attempt, s.when);
    }
  });
}

}  // namespace kselect::harness
