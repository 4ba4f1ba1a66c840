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
  reserve(place, problem_);
}

// Fewer rows may need more: some entries then divide a row among blocks.
void chosen_selection::reserve(backend& place, const problem& p) {
  if (entry_->workspace == nullptr) return;
  const std::size_t bytes = entry_->workspace(p, place.description());
  if (bytes > workspace_.size()) {
    if (workspace_.size() != 0) place.synchronise();  // an earlier run may still use it
    workspace_ = make<std::byte>(place, static_cast<std::int64_t>(bytes));
  }
}

void chosen_selection::run(backend& place, std::int64_t rows, const io& buffers) {
  problem p = problem_;
  p.q = rows;
  reserve(place, p);
  require(entry_->enqueue(p, buffers, {workspace_.data(), workspace_.size()}, place.executor()));
}

}  // namespace kselect::search::fused
