// The smallest whole program: the two nearest of each of two rows of distances.

#include <cstdio>
#include <kselect/select.hpp>
#include <vector>

struct alignas(256) block {
  std::byte bytes[256];
};

int main() {
  const std::vector<float> distances{0.7F, 0.1F, 0.9F, 0.4F,   // row 0
                                     0.2F, 0.8F, 0.3F, 0.6F};  // row 1
  const kselect::row_matrix<float> rows{.data = distances.data(), .q = 2, .n = 4};
  const std::int64_t k = 2;
  const auto where = kselect::place::cpu();  // or kselect::place::cuda(stream), with device memory

  std::vector<float> values(rows.q * k);
  std::vector<std::int32_t> indices(rows.q * k);
  const std::size_t bytes = kselect::select_workspace<float, std::int32_t>(rows, k, where);
  std::vector<block> workspace((bytes + 255) / 256);
  const kselect::status done = kselect::select<float, std::int32_t>(
      rows, k, values, indices, std::as_writable_bytes(std::span(workspace)), where,
      {.require = {.ordering = kselect::output_ordering::sorted}});
  if (!done.ok()) {
    std::fprintf(stderr, "%s\n", done.message.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%d (%g)\n", indices[i], values[i]);
}
