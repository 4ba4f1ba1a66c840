#include "search/knn/fused/arrays.hpp"

#include <fmt/format.h>

namespace kselect::search::fused {

chosen_selection::chosen_selection(backend& place, const problem& p,
                                   std::span<const std::string_view> names)
    : problem_(p) {
  std::string reasons;
  for (const std::string_view name : names) {
    const registered* const found = find_algorithm(name);
    const support can = found == nullptr ? unsupported("this build left it out")
                                         : check_support(*found->algorithm, p, place.description());
    if (!can) {
      reasons += fmt::format("; {}: {}", name, can.reason);
      continue;
    }
    entry_ = found->algorithm;
    break;
  }
  if (entry_ == nullptr) {
    throw error(failure::unsupported, fmt::format("no selection for {}{}", to_string(p), reasons));
  }
  if (entry_->workspace == nullptr) return;
  workspace_ =
      make<std::byte>(place, static_cast<std::int64_t>(entry_->workspace(p, place.description())));
}

void chosen_selection::run(backend& place, const io& buffers) const {
  require(
      entry_->enqueue(problem_, buffers, {workspace_.data(), workspace_.size()}, place.executor()));
}

}  // namespace kselect::search::fused
