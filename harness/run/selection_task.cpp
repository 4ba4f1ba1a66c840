// The task `select`: a cell is one selection of an algorithm of the registry.

#include "harness/plan/selection.hpp"
#include "harness/run/group_inputs.hpp"

namespace kselect::harness {
namespace {

// What open() below returned.
const input_source& rows_of(const sweep_input& input) {
  return dynamic_cast<const input_source&>(input);
}

class selection final : public task {
 public:
  std::string_view name() const override { return selection_name; }
  std::string_view about() const override { return "the k smallest or largest of each row"; }
  std::span<const task_axis> axes() const override { return {}; }
  std::span<const registered> entries() const override { return registry(); }
  std::string source_hash(const cell&) const override { return {}; }  // the entry's says all
  std::int64_t passes(const cell&) const override { return 1; }

  std::unique_ptr<sweep_input> open(const input_choice& choice) const override {
    return open_input(choice);
  }
  cell_prospect foresee(const cell& c, const sweep_input& input, const device& where,
                        std::size_t free_bytes) const override {
    return foresee_selection(c, rows_of(input), where, free_bytes);
  }
  std::unique_ptr<group_subjects> subjects(const sweep_input& input,
                                           backend& place) const override {
    return std::make_unique<group_inputs>(rows_of(input), place);
  }
};

}  // namespace

const task& selection_task() {
  static const selection only;
  return only;
}

}  // namespace kselect::harness
