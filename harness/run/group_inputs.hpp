#pragma once
// The subjects of the task `select`: rows of the current problem on one executor, for each layout
// that algorithms read.

#include <map>
#include <optional>
#include <utility>

#include "harness/run/reading_rate.hpp"
#include "harness/run/row_variants.hpp"
#include "harness/run/subjects.hpp"

namespace kselect::harness {

class group_inputs final : public group_subjects {
 public:
  group_inputs(const input_source& source, backend& place) : source_(source), place_(place) {}

  void admit(contender& c, const turn_context& context) override;
  void begin_round(std::span<const contender* const> open, int round,
                   const turn_context& context) override;
  void take_turn(contender& c, int round, const turn_context& context) override;
  void judge(contender& c, timing& time, const memory_ceilings& ceilings,
             const turn_context& context) override;
  void forget() override;

 private:
  row_variants& of(const workload& p);
  double reading_rate_for(const algorithm& of) const;
  // Drawing lengths and masks again takes long, so cells of the same rows share it.
  const least_input& least_of(const workload& p);

  const input_source& source_;
  backend& place_;
  std::map<layout, row_variants> by_layout_;
  std::optional<std::pair<workload, least_input>> least_;
  // Of the present group: how fast the host reads its rows.
  std::optional<reading_rate> by_one_, by_all_;
};

}  // namespace kselect::harness
