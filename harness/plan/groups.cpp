#include "harness/plan/groups.hpp"

#include <algorithm>

namespace kselect::harness {
namespace {

// A cell's group is among so many that began last.
constexpr std::size_t open_at_once = names<executor_kind>.size();

}  // namespace

bool same_group(const cell& a, const cell& b) {
  workload other = b.problem;
  other.layout = a.problem.layout;
  return a.executor == b.executor && a.part == b.part && a.task == b.task &&
         a.of_problem == b.of_problem && a.problem == other;
}

std::vector<cell> grouping::next() {
  cell c;
  while (open_.size() <= open_at_once && more_) {
    more_ = read_(c);
    if (!more_) break;
    const auto mine = std::ranges::find_if(
        open_, [&](const std::vector<cell>& group) { return same_group(group.front(), c); });
    if (mine == open_.end()) {
      open_.push_back({std::move(c)});
    } else {
      mine->push_back(std::move(c));
    }
  }
  if (open_.empty()) return {};
  std::vector<cell> first = std::move(open_.front());
  open_.pop_front();
  return first;
}

std::int64_t group_numbers::of(const cell& c) {
  const auto mine =
      std::ranges::find_if(recent_, [&](const auto& group) { return same_group(group.first, c); });
  if (mine != recent_.end()) return mine->second;
  if (recent_.size() == open_at_once) recent_.pop_front();
  recent_.emplace_back(c, count_);
  return count_++;
}

}  // namespace kselect::harness
