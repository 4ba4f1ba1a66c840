#include "harness/run/group.hpp"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "harness/measure/latin_square.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

bool may_have_damaged(const cell_outcome& outcome) {
  return outcome.status == cell_status::wrong || outcome.status == cell_status::error;
}

// A lost device is blamed on the cell that ran, whichever call reported the loss.
void blame(cell_outcome& outcome, const std::string& fault) {
  outcome.status = cell_status::error;
  if (outcome.reason.find(fault) == std::string::npos) outcome.reason += "; " + fault;
}

class group {
 public:
  group(const group_request& request, group_subjects& subjects, backend& place,
        group_observer& observer)
      : request_(request),
        subjects_(subjects),
        observer_(observer),
        watch_(place.shares_host_memory() ? std::nullopt : std::optional<gpu_watch>(std::in_place)),
        context_{place, request.policy, observer, watch_ ? &*watch_ : nullptr} {}

  bool run() {
    for (const cell* c : request_.cells) {
      if (!admit(*c)) return false;
    }
    const auto count = static_cast<int>(contenders_.size());
    for (int round = 0; open_ > 0; ++round) {
      begin_round(round);
      for (const int i : order_of_round(count, round, request_.policy.rounds)) {
        if (!turn(contenders_[static_cast<std::size_t>(i)], round)) return false;
      }
    }
    return true;
  }

 private:
  struct entrant {
    contender c;
    bool open = true;
  };

  // Proves a cell's first answer. False if the group must stop.
  bool admit(const cell& what) {
    contender c{&what, {}, round_log(request_.policy)};
    // Nothing to select: the cell succeeds without a time.
    if (what.problem.q == 0 || what.problem.n == 0) return finish(c);
    try {
      subjects_.admit(c, context_);
    } catch (const error& problem) {
      const bool full = problem.category() == failure::resources;
      if (!full && context_.place.lost().empty()) throw;
      c.outcome.status = full ? cell_status::out_of_memory : cell_status::error;
      c.outcome.reason = problem.what();
    } catch (const std::bad_alloc&) {
      c.outcome.status = cell_status::out_of_memory;
      c.outcome.reason = "the memory for its rows or its proof is not there";
    }
    observer_.resting();
    // Fibers prove kernels. Their times mean nothing.
    const bool timed = what.executor != executor_kind::fiber && request_.policy.rounds > 0;
    if (c.outcome.status != cell_status::ok || !timed) return finish(c);
    contenders_.push_back({std::move(c)});
    ++open_;
    return true;
  }

  void begin_round(int round) {
    std::vector<const contender*> open;
    for (const entrant& each : contenders_) {
      if (each.open) open.push_back(&each.c);
    }
    subjects_.begin_round(open, round, context_);
  }

  bool turn(entrant& entry, int round) {
    if (!entry.open) return true;
    contender& c = entry.c;
    subjects_.take_turn(c, round, context_);
    observer_.resting();
    if (c.outcome.status == cell_status::ok && !c.log.done()) return true;
    if (c.outcome.status == cell_status::ok) conclude(c);
    entry.open = false;
    --open_;
    return finish(c);
  }

  // Turns the finished rounds into the cell's time, or into the reason why it has none.
  void conclude(contender& c) {
    cell_outcome& outcome = c.outcome;
    if (c.log.throttled_out()) {
      outcome.throttled = true;
      outcome.status = cell_status::throttled;
      outcome.reason = "the SM clock fell below three quarters of its peak in most rounds";
      return;
    }
    timing time = c.log.result();
    const bool on_host = context_.place.shares_host_memory();
    time.clock = context_.place.clock_name();
    time.cache = !on_host || request_.policy.cache == cpu_cache::flushed ? "cold" : "warm";
    time.gap_hidden = c.gapless;
    time.batch_calls = time.batch ? c.batch_calls : 0;
    outcome.throttled = time.throttled;
    subjects_.judge(c, time, request_.ceilings, context_);
    if (outcome.status == cell_status::ok) outcome.time = std::move(time);
  }

  // False if the group must stop.
  bool finish(contender& c) {
    const bool ended_well = c.outcome.status == cell_status::ok;
    const std::string fault = ended_well ? std::string() : context_.place.lost();
    if (!fault.empty()) blame(c.outcome, fault);
    observer_.finished(*c.what, c.outcome);
    if (!may_have_damaged(c.outcome)) return true;
    subjects_.forget();
    // No cell can run on a lost backend.
    return fault.empty() && observer_.go_on_after_damage();
  }

  const group_request& request_;
  group_subjects& subjects_;
  group_observer& observer_;
  std::optional<gpu_watch> watch_;
  turn_context context_;
  std::vector<entrant> contenders_;
  int open_ = 0;
};

}  // namespace

bool run_group(const group_request& request, group_subjects& subjects, backend& place,
               group_observer& observer) {
  // Work that an earlier group left behind may fault after that group has ended.
  if (!place.lost().empty()) return false;
  return group(request, subjects, place, observer).run();
}

}  // namespace kselect::harness
