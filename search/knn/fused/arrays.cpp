#include "search/knn/fused/arrays.hpp"

#include <string>

namespace kselect::search::fused {

chosen_selection::chosen_selection(backend& place, const problem& p,
                                   std::span<const std::string_view> names) {
  std::string reasons;
  for (const std::string_view name : names) {
    const registered* const found = find_algorithm(name);
    plan_ = found == nullptr ? call_plan::refused("this build left it out")
                             : plan_call(*found->algorithm, p, place.description());
    if (plan_) {
      entry_ = found->algorithm;
      break;
    }
    reasons += "; " + std::string(name) + ": " + std::string(plan_.reason());
  }
  if (entry_ == nullptr) {
    throw error(failure::unsupported, "no selection for " + to_string(p) + reasons);
  }
  reserve(place);
}

void chosen_selection::reserve(backend& place) {
  const std::size_t bytes = plan_.workspace();
  if (bytes > workspace_.size()) {
    if (workspace_.size() != 0) place.synchronise();  // an earlier run may still use it
    workspace_ = make<std::byte>(place, static_cast<std::int64_t>(bytes));
  }
}

// Fewer rows may need more: some entries then divide a row among blocks.
void chosen_selection::prepare(backend& place, std::int64_t rows) {
  if (rows == plan_.problem().q) return;
  problem p = plan_.problem();
  p.q = rows;
  plan_ = plan_call(*entry_, p, place.description());
  if (!plan_) throw error(failure::unsupported, std::string(plan_.reason()));
  reserve(place);
}

void chosen_selection::run(backend& place, std::int64_t rows, const io& buffers) {
  prepare(place, rows);
  require(plan_.enqueue(buffers, {workspace_.data(), workspace_.size()}, place.executor()));
}

}  // namespace kselect::search::fused
