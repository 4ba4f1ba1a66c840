#include "harness/run/group_inputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "harness/run/turn.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// A time that moves its bytes faster than this multiple of the measured ceiling is implausible. The
// host's ceiling is less certain: other processes disturb its measurement.
constexpr double implausible_on_gpu = 1.25, implausible_on_host = 2;

floor_share against_floor(const workload& p, const least_input& least, const timing& time,
                          const char* ceiling, double rate) {
  const std::size_t rows = static_cast<std::size_t>(least.elements) * size_of(p.type);
  const std::size_t bytes =
      rows + static_cast<std::size_t>(least.mask_bytes) + p.values_bytes() + p.indices_bytes();
  return {static_cast<std::int64_t>(bytes), ceiling,
          static_cast<double>(bytes) / (time.result.median * 1e-9) / rate};
}

}  // namespace

void group_inputs::admit(contender& c, const turn_context& context) {
  row_variants& rows = of(c.what->problem);
  c.outcome.input_copies = rows.copies();
  c.outcome.fresh_inputs = rows.fresh();
  c.outcome.distances = rows.distances();
  c.outcome.rows_to_host = rows.to_host();
  prove_first(c, rows, context);
}

// Measures how fast the host reads the rows of this round: on one thread and, if an open cell is
// multithreaded, on all. All layouts have the same size, so one layout's rows serve for all.
void group_inputs::begin_round(std::span<const contender* const> open, int round,
                               const turn_context& context) {
  if (round == 0) {
    by_one_.emplace(1);
    by_all_.emplace(context.place.description().threads);
  }
  if (!context.place.shares_host_memory()) return;
  const bool by_all =
      context.place.description().threads > 1 && std::ranges::any_of(open, [](const contender* c) {
        return c->what->entry->algorithm->threaded;
      });
  try {
    const input_rows& rows = of(open.front()->what->problem).of_round(round);
    by_one_->take_turn(rows, context.policy, context.place);
    if (by_all) by_all_->take_turn(rows, context.policy, context.place);
  } catch (const error&) {
    // If the rows cannot be made, the next turn of a cell reports why.
  }
}

void group_inputs::take_turn(contender& c, int round, const turn_context& context) {
  harness::take_turn(c, of(c.what->problem), round, context);
}

// One thread may read few rows faster, from its own cache, and a threaded algorithm may do so.
double group_inputs::reading_rate_for(const algorithm& of) const {
  const double one = by_one_->bytes_per_second();
  return of.threaded ? std::max(one, by_all_->bytes_per_second()) : one;
}

void group_inputs::judge(contender& c, timing& time, const memory_ceilings& ceilings,
                         const turn_context& context) {
  cell_outcome& outcome = c.outcome;
  const bool on_host = context.place.shares_host_memory();
  const double rate = on_host ? reading_rate_for(*c.what->entry->algorithm) : ceilings.read;
  if (rate > 0 && time.result.median > 0) {
    const workload& p = c.what->problem;
    outcome.floor = against_floor(p, least_of(p), time, on_host ? "rows_read" : "read", rate);
  }
  if (!outcome.floor ||
      outcome.floor->share <= (on_host ? implausible_on_host : implausible_on_gpu)) {
    return;
  }
  outcome.status = cell_status::implausible;
  outcome.reason = fmt::format(
      "a median of {:.3g} us moves its {} bytes at {:.3g} times the measured ceiling of {} {}",
      time.result.median / 1e3, outcome.floor->bytes, outcome.floor->share,
      context.place.description().name, outcome.floor->ceiling);
}

const least_input& group_inputs::least_of(const workload& p) {
  if (!least_ || !same_rows(least_->first, p)) least_.emplace(p, least_input_of(p));
  return least_->second;
}

row_variants& group_inputs::of(const workload& p) {
  row_variants& rows = by_layout_.try_emplace(p.layout, source_, place_).first->second;
  rows.require(p);
  return rows;
}

void group_inputs::forget() { by_layout_.clear(); }

}  // namespace kselect::harness
