#include "search/task/call_task.hpp"

#include <fmt/format.h>

#include "harness/plan/input.hpp"
#include "harness/run/subjects.hpp"
#include "search/task/tasks.hpp"

namespace kselect::search {
namespace {

task_axis text(std::string_view name, std::string_view preset) {
  return {.name = name, .scope = axis_scope::entry, .preset = std::string(preset)};
}

task_axis number(std::string_view name, std::int64_t preset) {
  return {.name = name, .scope = axis_scope::entry, .preset = preset};
}

// No config has this task: a sweep opens no ranks.
class calls_of_knn final : public task {
 public:
  std::string_view name() const override { return knn_task().name(); }
  std::string_view about() const override { return knn_task().about(); }
  std::span<const task_axis> axes() const override {
    static const std::vector<task_axis> all = [] {
      const auto own = knn_task().axes();
      std::vector<task_axis> both(own.begin(), own.end());
      // Presets are what a sweep does.
      for (const task_axis& more :
           {text("sum_by_warp", "yes"), text("prove", to_string(proof_scope::sample)),
            number("ranks", 1), text("exchange", "host"), number("device_memory", 0),
            number("memory_limit", 0)}) {
        both.push_back(more);
      }
      return both;
    }();
    return all;
  }
  std::span<const registered> entries() const override { return knn_task().entries(); }
  std::string source_hash(const cell& c) const override { return knn_task().source_hash(c); }
  std::int64_t passes(const cell& c) const override { return knn_task().passes(c); }
  std::unique_ptr<sweep_input> open(const input_choice& choice) const override {
    return knn_task().open(choice);
  }
  cell_prospect foresee(const cell& c, const sweep_input& input, const device& where,
                        std::size_t free_bytes) const override {
    return knn_task().foresee(c, input, where, free_bytes);
  }
  std::unique_ptr<group_subjects> subjects(const sweep_input& input,
                                           backend& place) const override {
    return knn_task().subjects(input, place);
  }
};

}  // namespace

cell knn_call_cell(const registered& entry, executor_kind executor) {
  static const calls_of_knn only;
  cell c;
  c.entry = &entry;
  c.executor = executor;
  c.task = &only;
  c.problem.distribution = {distribution_kind::external, 0};
  return c;
}

std::string proof_text(knn_product product, proof_scope asked) {
  if (is_filtered(product) || product == knn_product::float64) {
    return "the search's certificate, of every query";
  }
  return fmt::format("certificate of selections: {}", to_string(asked));
}

}  // namespace kselect::search
