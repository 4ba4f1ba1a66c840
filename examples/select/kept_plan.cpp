// One plan for many calls: the two nearest of each of two batches of distances, best first.

#include <array>
#include <cstdio>
#include <kselect/select.hpp>
#include <vector>

int main() {
  constexpr std::int64_t q = 1, n = 4, k = 2;
  const std::array<std::array<float, q * n>, 2> batches{
      {{0.7F, 0.1F, 0.9F, 0.4F}, {0.5F, 0.8F, 0.2F, 0.6F}}};

  // What is decided once: the algorithm, its workspace, its launches. Only the shape is needed.
  const kselect::select_plan plan =
      kselect::plan_select(kselect::row_matrix<float>{.q = q, .n = n}, k, kselect::place::cpu(),
                           {.require = {.ordering = kselect::output_ordering::sorted}});
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.outcome().message.c_str());
    return 1;
  }
  std::vector<std::byte> workspace(plan.workspace());
  std::printf("%.*s, %zu bytes\n", static_cast<int>(plan.algorithm().size()),
              plan.algorithm().data(), workspace.size());

  std::vector<float> values(q * k);
  std::vector<std::int32_t> indices(q * k);
  for (const auto& batch : batches) {
    const kselect::row_matrix<float> rows{.data = batch.data(), .q = q, .n = n};
    const kselect::status done = kselect::select(plan, rows, values, indices, workspace);
    if (!done.ok()) {
      std::fprintf(stderr, "%s\n", done.message.c_str());
      return 1;
    }
    for (std::size_t i = 0; i < values.size(); ++i) std::printf("%d (%g)\n", indices[i], values[i]);
  }
}
