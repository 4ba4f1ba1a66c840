#include "harness/tune/sweep_time.hpp"

#include <algorithm>

#include "algorithms/auto_select/choose.hpp"
#include "harness/plan/groups.hpp"
#include "harness/plan/shard.hpp"
#include "harness/tune/processor_table.hpp"

namespace kselect::harness::tune {
namespace {

// As harness/run/turn.cpp and harness/measure/round_log.cpp do it.
constexpr std::int64_t proven_every_sample = std::int64_t{1} << 16;
constexpr std::int64_t proven_every_round = std::int64_t{1} << 24;
constexpr int most_samples_of_turn = 10;
constexpr double side_seconds = 0.006;  // of a wall time and a batch, on a GPU
constexpr double start_seconds = 0.5;   // of a worker and its measurement of memory
constexpr double proven_per_second = 1e9, made_per_second = 2e8, made_on_gpu_per_second = 1e11;

// The predicted seconds of one run; empty without a table that knows the algorithm.
std::optional<double> predicted_seconds(const cell& c, const device& where) {
  if (c.task != nullptr) return std::nullopt;  // tables are of selections
  const bool is_auto = c.entry->algorithm->name == "auto";
  const choice chosen = is_auto ? choose_algorithm(c.problem, where) : choice{};
  if (where.kind == executor_kind::cuda) {
    if (is_auto && chosen.table != nullptr) return chosen.predicted_ns * 1e-9;
    for (const ranked_member& each : rank_members(c.problem, where)) {
      if (each.member->name == c.entry->algorithm->name) return each.predicted_ns * 1e-9;
    }
    return std::nullopt;
  }
  const cost_table* const table = table_of_processor(where);
  if (table == nullptr || (is_auto && chosen.member == nullptr)) return std::nullopt;
  const std::string_view name = is_auto ? chosen.member->name : c.entry->algorithm->name;
  for (const predicted_entry& each : rank_entries(*table, c.problem, where)) {
    if (each.entry->name == name) return each.predicted_ns * 1e-9;
  }
  return std::nullopt;
}

struct range {
  double least = 0, most = 0;
};

// The seconds of a cell's proofs and turns, and how many turns there are.
struct cell_time {
  range seconds, turns;
};

cell_time time_of(const cell& c, double run, const measure_policy& policy) {
  const auto elements = static_cast<double>(c.problem.input_elements());
  const double proof = elements / proven_per_second;
  const double first = 2 * run + 2 * proof;
  if (c.executor == executor_kind::fiber || policy.rounds == 0) return {{first, first}, {}};
  const bool on_gpu = c.executor == executor_kind::cuda;
  const double sample = run + (elements <= proven_every_sample ? proof : 0);
  const int share = std::clamp(policy.max_samples / policy.rounds, 1, most_samples_of_turn);
  const double turn_limit = policy.max_seconds / policy.rounds;
  const double samples = std::clamp(turn_limit / sample, 1.0, static_cast<double>(share));
  const double timed = samples * sample + policy.warmup * run + (on_gpu ? side_seconds : 0);
  const double turn = timed + (elements <= proven_every_round ? proof : 0);
  const double by_seconds = std::max(1.0, policy.max_seconds / timed);
  const double least = std::min<double>(policy.rounds, by_seconds);
  const double most = std::max(least, std::min(policy.max_samples / samples, by_seconds));
  return {{first + least * turn, first + most * turn}, {least, most}};
}

void add_group(sweep_time& all, const std::vector<cell>& group, const measure_policy& policy,
               backends& places) {
  const cell& head = group.front();
  const device& where = places.open(head.executor).description();
  range turns;
  for (const cell& c : group) {
    const auto predicted = predicted_seconds(c, where);
    const cell_time one = time_of(c, predicted.value_or(rough_run_seconds(c)), policy);
    all.least_s += one.seconds.least;
    all.most_s += one.seconds.most;
    all.by_table += predicted ? 1 : 0;
    ++all.cells;
    turns = {std::max(turns.least, one.turns.least), std::max(turns.most, one.turns.most)};
  }
  const bool on_gpu = head.executor == executor_kind::cuda;
  const auto elements = static_cast<double>(head.problem.input_elements());
  const double rows = elements / (on_gpu ? made_on_gpu_per_second : made_per_second);
  const bool fresh = on_gpu || elements <= proven_every_round;
  all.least_s += rows * (1 + (fresh ? turns.least : 0));
  all.most_s += rows * (1 + (fresh ? turns.most : 0));
}

}  // namespace

sweep_time estimate_time(const shard_cells& cells, const measure_policy& policy, backends& places) {
  auto at = cells.begin();
  grouping groups([&](cell& c) {
    for (; at != cells.end(); ++at) {
      if (at->foreseen != cell_status::ok) continue;
      c = *at;
      ++at;
      return true;
    }
    return false;
  });
  sweep_time all;
  for (auto group = groups.next(); !group.empty(); group = groups.next()) {
    add_group(all, group, policy, places);
  }
  if (all.cells != 0) {
    all.least_s += start_seconds;
    all.most_s += start_seconds;
  }
  return all;
}

}  // namespace kselect::harness::tune
