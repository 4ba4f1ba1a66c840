#include "harness/plan/groups.hpp"

#include <algorithm>

namespace kselect::harness {

bool same_group(const cell& a, const cell& b) {
  workload other = b.problem;
  other.layout = a.problem.layout;
  return a.executor == b.executor && a.problem == other;
}

std::vector<std::vector<const cell*>> grouped(const std::vector<const cell*>& cells) {
  std::vector<std::vector<const cell*>> groups;
  for (const cell* c : cells) {
    // A plan keeps the cells of one problem together, so a cell's group is among the last few.
    const auto begin = groups.end() - std::min<std::ptrdiff_t>(std::ssize(groups),
                                                               std::ssize(names<executor_kind>));
    const auto mine = std::find_if(
        begin, groups.end(), [&](const auto& group) { return same_group(*group.front(), *c); });
    if (mine == groups.end()) {
      groups.push_back({c});
    } else {
      mine->push_back(c);
    }
  }
  return groups;
}

}  // namespace kselect::harness
