#include "harness/tune/processor_table.hpp"

#include <algorithm>
#include <array>

#include "kselect/registry.hpp"

namespace kselect::harness::tune {

const cost_table* table_of_processor(const device& where) {
  if (where.kind != executor_kind::cpu) return nullptr;
  const cost_table* const own = find_cost_table(where.name);
  if (own != nullptr && is_of_processor(*own)) return own;
  const auto tables = processor_tables();
  // A ratio of threads is as far as its inverse. A table of the processor's name is nearer than
  // any.
  const auto distance = [&](const cost_table& table) {
    const double ratio = static_cast<double>(table.multiprocessors) / std::max(where.threads, 1);
    return std::pair(table.device != where.name, std::max(ratio, 1 / ratio));
  };
  const auto nearest = std::ranges::min_element(tables, {}, distance);
  return nearest == tables.end() ? nullptr : &*nearest;
}

std::vector<predicted_entry> rank_entries(const cost_table& table, const problem& p,
                                          const device& where) {
  std::array<double, max_table_members> times{};
  predict_times(table, p, std::max(where.threads, 1), times);
  std::vector<predicted_entry> ranked;
  for (std::size_t i = 0; i < table.members.size(); ++i) {
    const registered* const found = find_algorithm(table.members[i]);
    if (found == nullptr || !check_support(*found->algorithm, p, where)) continue;
    ranked.push_back({found->algorithm, times[i]});
  }
  std::ranges::stable_sort(ranked, {}, &predicted_entry::predicted_ns);
  return ranked;
}

}  // namespace kselect::harness::tune
