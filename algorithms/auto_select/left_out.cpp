// Replaces `auto` in a build that leaves it out (KSELECT_ALGORITHMS): no choice, no entry.

#include "algorithms/auto_select/choose.hpp"

namespace kselect {

choice choose_algorithm(const problem&, const device&) {
  return {.member = nullptr, .reason = "this build leaves auto out"};
}

choice choose_algorithm(const problem& p, const device& where, const requirements&) {
  return choose_algorithm(p, where);
}

std::vector<ranked_member> rank_members(const problem&, const device&) { return {}; }

const cost_table* table_for(const device&) { return nullptr; }

const algorithm* find_member(std::string_view) { return nullptr; }

}  // namespace kselect

namespace kselect::entries {

std::span<const algorithm> auto_select();
std::span<const algorithm> auto_select() { return {}; }

}  // namespace kselect::entries
