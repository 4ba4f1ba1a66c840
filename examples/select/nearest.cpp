// The two nearest of each of two rows of distances, best first.

#include <cstdio>
#include <kselect/select.hpp>
#include <vector>

int main() {
  const std::vector<float> distances{0.7F, 0.1F, 0.9F, 0.4F,   // row 0
                                     0.2F, 0.8F, 0.3F, 0.6F};  // row 1
  const kselect::row_matrix<float> rows{.data = distances.data(), .q = 2, .n = 4};
  const std::int64_t k = 2;

  std::vector<float> values(rows.q * k);
  std::vector<std::int32_t> indices(rows.q * k);
  const kselect::status done =
      kselect::select(rows, k, values, indices, kselect::place::cpu(),
                      {.require = {.ordering = kselect::output_ordering::sorted}});
  if (!done.ok()) {
    std::fprintf(stderr, "%s\n", done.message.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%d (%g)\n", indices[i], values[i]);
}
