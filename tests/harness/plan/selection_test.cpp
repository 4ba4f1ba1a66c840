// What is known of a selection's cell before it runs.

#include "harness/plan/selection.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kselect/registry.hpp"
#include "runtime/backend/host_backend.hpp"
#include "tests/problems.hpp"

namespace kselect::harness {
namespace {

class no_rows final : public input_source {
 public:
  std::optional<dataset_sizes> sizes() const override { return std::nullopt; }
  nlohmann::ordered_json description() const override { return {}; }
  std::optional<distance_stage> fill(const workload&, std::span<std::byte>, int) const override {
    return std::nullopt;
  }
};

TEST(ForeseeSelection, CountsTheMaskAndItsCopy) {
  const auto place = open_host_backend(executor_kind::cpu, 1);
  const device where = place->description();
  cell c;
  c.entry = find_algorithm("auto");
  c.problem = posed(1 << 20, 8, 4, dtype::int8);  // whose mask has an eighth of the rows' bytes
  for (const mask_bits kind : {mask_bits::columns, mask_bits::elements}) {
    c.problem.give_mask({kind, 0.5});
    const std::size_t bits = kind == mask_bits::columns ? 1 << 17 : 1 << 20;
    const auto plan = plan_call(*c.entry->algorithm, c.problem, where);
    ASSERT_TRUE(plan) << plan.reason();
    const std::size_t least = c.problem.input_bytes() + plan.workspace() + 2 * bits +
                              2 * (c.problem.values_bytes() + c.problem.indices_bytes());
    EXPECT_EQ(foresee_selection(c, no_rows{}, where, least).status, cell_status::ok);
    EXPECT_EQ(foresee_selection(c, no_rows{}, where, least - 1).status, cell_status::out_of_memory);
  }
}

TEST(ForeseeSelection, SaysWhichEntryTakesNoMask) {
  const auto place = open_host_backend(executor_kind::cpu, 1);
  cell c;
  c.problem = posed(1000, 8, 4);
  c.problem.give_mask({mask_bits::columns, 0.5});
  for (const char* name : {"cpu/sort", "cpu/heap"}) {
    c.entry = find_algorithm(name);
    const cell_prospect found = foresee_selection(c, no_rows{}, place->description(), 1 << 30);
    EXPECT_EQ(found.status, cell_status::unsupported);
    EXPECT_EQ(found.reason, "masks are not supported");
  }
}

}  // namespace
}  // namespace kselect::harness
