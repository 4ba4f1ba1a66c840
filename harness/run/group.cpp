#include "harness/run/group.hpp"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "harness/measure/latin_square.hpp"
#include "harness/run/reading_rate.hpp"
#include "harness/run/turn.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// A time that moves its bytes faster than this multiple of the measured ceiling is implausible. The
// host's ceiling is less certain: other processes disturb its measurement.
constexpr double implausible_on_gpu = 1.25, implausible_on_host = 2;

floor_share against_floor(const cell& c, const timing& time, const char* ceiling, double rate) {
  const problem& p = c.problem;
  const std::size_t rows = static_cast<std::size_t>(p.n * p.q) * size_of(p.type);
  const std::size_t bytes = rows + p.values_bytes() + p.indices_bytes();
  return {static_cast<std::int64_t>(bytes), ceiling,
          static_cast<double>(bytes) / (time.result.median * 1e-9) / rate};
}

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
  group(const group_request& request, group_inputs& inputs, backend& place,
        group_observer& observer)
      : request_(request),
        inputs_(inputs),
        observer_(observer),
        watch_(place.shares_host_memory() ? std::nullopt : std::optional<gpu_watch>(std::in_place)),
        context_{place, request.policy, observer, watch_ ? &*watch_ : nullptr} {}

  bool run() {
    for (const cell* c : request_.cells) {
      if (!admit(*c)) return false;
    }
    const auto count = static_cast<int>(contenders_.size());
    for (int round = 0; open_ > 0; ++round) {
      read_rows(round);
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
      row_variants& rows = inputs_.of(what.problem);
      c.outcome.input_copies = rows.copies();
      c.outcome.fresh_inputs = rows.fresh();
      c.outcome.distances = rows.distances();
      c.outcome.rows_to_host = rows.to_host();
      prove_first(c, rows, context_);
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

  // Measures how fast the host reads the rows of this round: on one thread and, if an open cell is
  // multithreaded, on all. All layouts have the same size, so one layout's rows serve for all.
  void read_rows(int round) {
    if (!context_.place.shares_host_memory()) return;
    const entrant& open = *std::ranges::find(contenders_, true, &entrant::open);
    const bool by_all = context_.place.description().threads > 1 &&
                        std::ranges::any_of(contenders_, [](const entrant& e) {
                          return e.open && e.c.what->entry->algorithm->threaded;
                        });
    try {
      const input_rows& rows = inputs_.of(open.c.what->problem).of_round(round);
      by_one_.take_turn(rows, request_.policy, context_.place);
      if (by_all) by_all_.take_turn(rows, request_.policy, context_.place);
    } catch (const error&) {
      // If the rows cannot be made, the next turn of a cell reports why.
    }
  }
  // One thread may read few rows faster, from its own cache, and a threaded algorithm may do so.
  double reading_rate_for(const algorithm& of) const {
    const double one = by_one_.bytes_per_second();
    return of.threaded ? std::max(one, by_all_.bytes_per_second()) : one;
  }

  bool turn(entrant& entry, int round) {
    if (!entry.open) return true;
    contender& c = entry.c;
    take_turn(c, inputs_.of(c.what->problem), round, context_);
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
    const double rate =
        on_host ? reading_rate_for(*c.what->entry->algorithm) : request_.ceilings.read;
    if (rate > 0 && time.result.median > 0) {
      outcome.floor = against_floor(*c.what, time, on_host ? "rows_read" : "read", rate);
    }
    if (outcome.floor &&
        outcome.floor->share > (on_host ? implausible_on_host : implausible_on_gpu)) {
      outcome.status = cell_status::implausible;
      outcome.reason = fmt::format(
          "a median of {:.3g} us moves its {} bytes at {:.3g} times the measured ceiling of {} {}",
          time.result.median / 1e3, outcome.floor->bytes, outcome.floor->share,
          context_.place.description().name, outcome.floor->ceiling);
      return;
    }
    outcome.time = std::move(time);
  }

  // False if the group must stop.
  bool finish(contender& c) {
    const bool ended_well = c.outcome.status == cell_status::ok;
    const std::string fault = ended_well ? std::string() : context_.place.lost();
    if (!fault.empty()) blame(c.outcome, fault);
    observer_.finished(*c.what, c.outcome);
    if (!may_have_damaged(c.outcome)) return true;
    inputs_.forget();
    // No cell can run on a lost backend.
    return fault.empty() && observer_.go_on_after_damage();
  }

  const group_request& request_;
  group_inputs& inputs_;
  group_observer& observer_;
  std::optional<gpu_watch> watch_;
  turn_context context_;
  std::vector<entrant> contenders_;
  int open_ = 0;
  reading_rate by_one_{1}, by_all_{context_.place.description().threads};
};

}  // namespace

row_variants& group_inputs::of(const workload& p) {
  row_variants& rows = by_layout_.try_emplace(p.layout, source_, place_).first->second;
  rows.require(p);
  return rows;
}

void group_inputs::forget() { by_layout_.clear(); }

bool run_group(const group_request& request, group_inputs& inputs, backend& place,
               group_observer& observer) {
  // Work that an earlier group left behind may fault after that group has ended.
  if (!place.lost().empty()) return false;
  return group(request, inputs, place, observer).run();
}

}  // namespace kselect::harness
