#include "search/knn/fused/arrays.hpp"

#include <string>

namespace kselect::search::fused {

chosen_plan::chosen_plan(const problem& p, std::span<const std::string_view> names,
                         const device& place) {
  for (const std::string_view name : names) {
    const registered* const found = find_algorithm(name);
    plan = found == nullptr ? call_plan::refused("this build left it out")
                            : plan_call(*found->algorithm, p, place);
    if (plan) {
      entry = found->algorithm;
      return;
    }
    reasons += "; " + std::string(name) + ": " + std::string(plan.reason());
  }
}

chosen_selection::chosen_selection(backend& place, const problem& p,
                                   std::span<const std::string_view> names)
    : chosen_(p, names, place.description()) {
  if (chosen_.entry == nullptr) {
    throw error(failure::unsupported, "no selection for " + to_string(p) + chosen_.reasons);
  }
  reserve(place);
}

void chosen_selection::reserve(backend& place) {
  const std::size_t bytes = chosen_.plan.workspace();
  if (bytes > workspace_.size()) {
    if (workspace_.size() != 0) place.synchronise();  // an earlier run may still use it
    workspace_ = make<std::byte>(place, static_cast<std::int64_t>(bytes));
  }
}

// Fewer rows may need more: some entries then divide a row among blocks.
void chosen_selection::prepare(backend& place, std::int64_t rows) {
  if (rows == chosen_.plan.problem().q) return;
  problem p = chosen_.plan.problem();
  p.q = rows;
  chosen_.plan = plan_call(*chosen_.entry, p, place.description());
  if (!chosen_.plan) throw error(failure::unsupported, std::string(chosen_.plan.reason()));
  reserve(place);
}

void chosen_selection::run(backend& place, std::int64_t rows, const io& buffers) {
  prepare(place, rows);
  require(chosen_.plan.enqueue(buffers, {workspace_.data(), workspace_.size()}, place.executor()));
}

}  // namespace kselect::search::fused
