#include "harness/plan/selection.hpp"

#include <fmt/format.h>

namespace kselect::harness {
namespace {

// The most bytes that a cell needs at once: rows, what they are made of, a mask and outputs with
// their host copies, workspace.
std::size_t bytes_needed(const cell& c, const input_source& input, const call_plan& plan) {
  const algorithm& entry = *c.entry->algorithm;
  const workload& p = c.problem;
  const std::size_t copied = 2 * (p.values_bytes() + p.indices_bytes() + p.mask_bytes());
  return p.input_bytes() * (entry.promises.modifies_input ? 2 : 1) + copied + plan.workspace() +
         input.bytes_to_fill(c.problem);
}

// Why a contract excludes these rows; empty if it does not.
std::string excluded(const contract& promises, const row_contents& rows) {
  if (rows.nan && promises.nan == nan_policy::unsupported) {
    return "the rows hold NaN, which the contract excludes";
  }
  if (rows.infinities && !promises.infinities) {
    return "the rows hold infinities, which the contract excludes";
  }
  return {};
}

}  // namespace

cell_prospect foresee_selection(const cell& c, const input_source& input, const device& where,
                                std::size_t free_bytes) {
  const call_plan plan = plan_call(*c.entry->algorithm, c.problem, where);
  std::string reason{plan.reason()};
  if (reason.empty()) reason = check_elements(*c.entry->algorithm, c.problem).reason;
  if (reason.empty()) reason = excluded(c.entry->algorithm->promises, input.contents());
  if (!reason.empty()) return {cell_status::unsupported, std::move(reason)};
  return fits(bytes_needed(c, input, plan), c, where, free_bytes);
}

}  // namespace kselect::harness
