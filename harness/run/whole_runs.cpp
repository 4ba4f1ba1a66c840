#include "harness/run/whole_runs.hpp"

#include <algorithm>
#include <optional>

#include "harness/measure/pinning.hpp"
#include "harness/plan/groups.hpp"
#include "harness/run/group.hpp"
#include "harness/run/turn_steps.hpp"

namespace kselect::harness {
namespace {

// A round's last answer is proven if the proof takes at most this share of the round.
constexpr double largest_proof_share = 0.5;

}  // namespace

bool whole_runs::proven(contender& c, opened& mine, const std::string& when) {
  const auto begin = turn_clock::now();
  const std::string wrong = mine.what->disprove();
  mine.proof_seconds = seconds_since(begin);
  if (!wrong.empty()) {
    end(c, cell_status::wrong, when + wrong);
    return false;
  }
  ++c.outcome.answers_proven;
  return true;
}

void whole_runs::admit(contender& c, const turn_context& context) {
  if (!group_ || !same_group(*group_, *c.what)) {
    open_.clear();
    group_ = std::make_unique<cell>(*c.what);
  }
  c.outcome.started = std::chrono::system_clock::now();
  c.outcome.input_copies = 1;
  guarded(c, [&] {
    context.observer.running(*c.what);
    opened& mine = open_[c.what->key];
    mine.what = open(*c.what);
    context.observer.running(*c.what);
    const timed_run first = mine.what->run();
    if (!went_well(c, first.outcome, "") || !proven(c, mine, "")) return;
    c.outcome.proven_before = true;
    c.outcome.proof = mine.what->proof();
    c.outcome.counts = mine.what->counts();
    c.is_long = is_long_call(first.nanoseconds, context.place);
  });
}

// A turn's samples, and the medians of their stages.
bool whole_runs::take_samples(contender& c, opened& mine, const turn_context& context,
                              const std::string& when, round_samples& taken) {
  const auto begin = turn_clock::now();
  std::map<std::string, std::vector<double>> stages;
  const int most = c.log.samples_of_turn();
  for (int i = 0; i < most; ++i) {
    context.observer.running(*c.what);
    const timed_run run = mine.what->run();
    if (!went_well(c, run.outcome, when)) return false;
    taken.ns.push_back(run.nanoseconds);
    for (const stage_time& stage : mine.what->stages()) {
      if (std::ranges::find(mine.stages, stage.name, &stage_log::name) == mine.stages.end()) {
        mine.stages.push_back({stage.name, stage.of_time, {}});
      }
      stages[stage.name].push_back(stage.nanoseconds);
    }
    if (seconds_since(begin) >= c.log.seconds_of_turn()) break;
  }
  for (stage_log& stage : mine.stages) {
    stage.rounds_ns.push_back(summarise(stages[stage.name]).median);
  }
  return true;
}

void whole_runs::take_turn(contender& c, int round, const turn_context& context) {
  guarded(c, [&] {
    opened& mine = open_.at(c.what->key);
    if (!mine.what) mine.what = open(*c.what);
    const std::string when = "in round " + std::to_string(round + 1) + ": ";
    context.observer.running(*c.what);
    std::optional<pinned_team> pinned;
    if (context.place.shares_host_memory()) pinned.emplace(context.place.description().threads);
    c.outcome.pinned = pinned && pinned->complete();
    for (int i = 0; !c.is_long && i < context.policy.warmup; ++i) {
      context.observer.running(*c.what);
      if (!went_well(c, mine.what->run().outcome, when)) return;
    }
    const auto begin = turn_clock::now();
    round_samples taken;
    if (!take_samples(c, mine, context, when, taken)) return;
    if (context.gpu != nullptr) look_at_gpu(c, *context.gpu, taken);
    const double seconds = seconds_since(begin);
    c.log.add(std::move(taken), seconds);
    const bool is_last = c.log.done();
    if (!is_last && mine.proof_seconds > largest_proof_share * seconds) return;
    context.observer.running(*c.what);
    pinned.reset();  // a proof may use all threads
    c.outcome.proven_after = proven(c, mine, when);
  });
}

void whole_runs::judge(contender& c, timing& time, const memory_ceilings&, const turn_context&) {
  opened& mine = open_.at(c.what->key);
  c.outcome.stages = mine.stages;
  c.outcome.counts = mine.what->counts();
  time.cache = "warm";  // a search fills the caches itself
  if (const char* const clock = mine.what->clock(); clock != nullptr) time.clock = clock;
}

// The values of rounds that are finished stay. A subject is opened again when its turn comes.
void whole_runs::forget() {
  for (auto& [key, each] : open_) each.what.reset();
  forget_inputs();
}

}  // namespace kselect::harness
