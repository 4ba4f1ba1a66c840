#include "search/knn/fused/arrays.hpp"

#include <fmt/format.h>

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
    reasons += fmt::format("; {}: {}", name, plan_.reason());
  }
  if (entry_ == nullptr) {
    throw error(failure::unsupported, fmt::format("no selection for {}{}", to_string(p), reasons));
  }
  reserve(place);
}

// Fewer rows may need more: some entries then divide a row among blocks.
void chosen_selection::reserve(backend& place) {
  const std::size_t bytes = plan_.workspace();
  if (bytes > workspace_.size()) {
    if (workspace_.size() != 0) place.synchronise();  // an earlier run may still use it
    workspace_ = make<std::byte>(place, static_cast<std::int64_t>(bytes));
  }
}

void chosen_selection::run(backend& place, std::int64_t rows, const io& buffers) {
  if (rows != plan_.problem().q) {
    problem p = plan_.problem();
    p.q = rows;
    plan_ = plan_call(*entry_, p, place.description());
    if (!plan_) throw error(failure::unsupported, std::string(plan_.reason()));
    reserve(place);
  }
  require(plan_.enqueue(buffers, {workspace_.data(), workspace_.size()}, place.executor()));
}

}  // namespace kselect::search::fused
