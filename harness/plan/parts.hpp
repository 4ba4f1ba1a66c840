#pragma once
// The plan of one part of a config, and what reads the parts of a sweep's input.

#include <memory>
#include <vector>

#include "harness/plan/input.hpp"
#include "harness/plan/plan.hpp"

namespace kselect::harness {

// The cells of a config without parts, as make_plan() says. They may be none.
std::unique_ptr<cell_source> plan_of_part(const plan_request& request, backends& places);

// The inputs of the parts of a config, in their order.
class parts_input final : public sweep_input {
 public:
  explicit parts_input(const std::vector<input_choice>& choices);
  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override;
  const sweep_input& part(std::int32_t number) const {
    return *inputs_[static_cast<std::size_t>(number)];
  }

 private:
  std::vector<std::unique_ptr<sweep_input>> inputs_;
};

// Of one part of a config with this input; of a config without parts, the whole.
const sweep_input& input_of_part(const sweep_input& whole, std::int32_t number);
const sweep_config& config_of_part(const sweep_config& whole, std::int32_t number);
const input_choice& choice_of_part(const input_choice& whole, std::int32_t number);

}  // namespace kselect::harness
