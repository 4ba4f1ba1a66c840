#include "harness/run/cell.hpp"

#include <new>

#include "harness/error.hpp"

namespace kselect {
namespace {

cell_outcome failed(cell_status how, std::string reason) {
  cell_outcome outcome;
  outcome.status = how;
  outcome.reason = std::move(reason);
  return outcome;
}

cell_status status_of(const status& result) {
  switch (result.code) {
    case status_code::unsupported:
      return cell_status::unsupported;
    case status_code::out_of_memory:
      return cell_status::out_of_memory;
    default:
      return cell_status::error;
  }
}

cell_outcome prove_and_measure(trial& attempt, const char* clock, const measure_policy& policy) {
  cell_outcome outcome;
  outcome.workspace_bytes = attempt.workspace_bytes();
  attempt.prepare();
  if (const status result = attempt.run(); !result.ok()) {
    return failed(status_of(result), result.message);
  }
  if (std::string wrong = attempt.disprove(); !wrong.empty()) {
    return failed(cell_status::wrong, std::move(wrong));
  }
  outcome.proven_before = true;

  measurement taken =
      measure({clock, [&] { attempt.prepare(); }, [&] { return attempt.time(); }}, policy);
  if (!taken.failed.ok()) {
    outcome.status = status_of(taken.failed);
    outcome.reason = "while timed: " + taken.failed.message;
    return outcome;
  }
  if (const std::string wrong = attempt.disprove(); !wrong.empty()) {
    outcome.status = cell_status::wrong;
    outcome.reason = "after timing: " + wrong;
    return outcome;
  }
  outcome.proven_after = true;
  outcome.time = std::move(taken.time);
  return outcome;
}

}  // namespace

cell_outcome run_cell(const cell& c, const input_rows& input, backend& place,
                      const measure_policy& policy) {
  try {
    // An empty success: nothing to select, nothing to launch, nothing to time.
    if (c.problem.q == 0 || c.problem.n == 0) return {};
    trial attempt(*c.entry->algorithm, c.problem, input, place);
    return prove_and_measure(attempt, place.clock_name(), policy);
  } catch (const error& problem) {
    return failed(problem.category() == failure::resources ? cell_status::out_of_memory
                                                           : cell_status::error,
                  problem.what());
  } catch (const std::bad_alloc&) {
    return failed(cell_status::out_of_memory, "the host is out of memory");
  }
}

}  // namespace kselect
