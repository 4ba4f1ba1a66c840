// What a build with KSELECT_ALGORITHMS='cpu/heap;cpu/nth_element' has, and what it says of the
// rest.

#include <cstdio>
#include <string>
#include <vector>

#include "kselect/registry.hpp"
#include "kselect/select.hpp"

namespace {

int failed = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  failed = 1;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// The two smallest of 3, 1, 2, by the algorithm named or, for null, by `auto`.
kselect::status select_two(const kselect::algorithm* by, std::vector<float>& values) {
  static const std::vector<float> row = {3, 1, 2};
  const kselect::row_matrix<float> rows{.data = row.data(), .q = 1, .n = 3};
  std::vector<int> indices(2);
  kselect::select_options options;
  options.algorithm = by;
  return kselect::select(rows, 2, values, indices, kselect::place::cpu(1), options);
}

}  // namespace

int main() {
  using namespace kselect;
  expect(registry().size() ==
             match_algorithms("cpu/heap*").size() + match_algorithms("cpu/nth_element*").size(),
         "it has the algorithms that were asked for, and no others");
  expect(find_algorithm("cpu/heap") != nullptr, "cpu/heap is there");
  expect(find_algorithm("auto") == nullptr, "auto is left out");
  expect(built_globs() == "cpu/heap;cpu/nth_element", "it knows what was asked for");
  expect(has(left_out_hint(), "KSELECT_ALGORITHMS='cpu/heap;cpu/nth_element'"), "the hint says so");
  bool listed = false;
  for (const absent_file& file : absent_files()) listed |= file.entries == "auto";
  expect(listed, "auto is listed as left out");

  std::vector<float> values(2);
  expect(select_two(find_algorithm("cpu/heap")->algorithm, values).ok(), "cpu/heap selects");
  expect(values[0] + values[1] == 3, "1 and 2 are the smallest");
  const status refused = select_two(nullptr, values);
  expect(refused.code == status_code::unsupported && has(refused.message, "leaves auto out"),
         "without auto an algorithm must be named");
  return failed;
}
