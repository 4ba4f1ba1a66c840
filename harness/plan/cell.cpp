#include <algorithm>

#include <fmt/format.h>

#include "harness/plan/plan.hpp"

namespace kselect::harness {

std::string name_of(const cell& c) {
  std::string name{c.entry->algorithm->name};
  for (const setting& s : c.of_entry) {
    const auto axis = std::ranges::find(c.task->axes(), s.axis, &task_axis::name);
    if (s.value != axis->preset) name += '+' + to_string(s);
  }
  return name;
}

std::string problem_of(const cell& c) {
  std::string text = to_string(c.problem);
  for (const setting& s : c.of_problem) text += '/' + to_string(s);
  return text;
}

std::string short_title_of(const cell& c) {
  std::string text = short_title(c.problem);
  for (const setting& s : c.of_problem) text += ' ' + to_string(s);
  return text;
}

cell_prospect fits(std::size_t needed, const cell& c, const device& where, std::size_t free_bytes) {
  const std::size_t there = c.executor == executor_kind::cuda ? where.memory_bytes : free_bytes;
  if (there == 0 || needed <= there) return {};
  return {cell_status::out_of_memory, fmt::format("needs {:.2f} GiB, {:.2f} GiB are there",
                                                  static_cast<double>(needed) / (1 << 30),
                                                  static_cast<double>(there) / (1 << 30))};
}

}  // namespace kselect::harness
