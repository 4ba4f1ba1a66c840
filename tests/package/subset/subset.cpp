// What a build with KSELECT_ALGORITHMS='cpu/heap;cpu/nth_element;cpu/quickselect' has, and what it
// says of the rest.

#include <algorithm>
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

// Whether an entry gives the values of cpu/heap on rows of many lengths, with ties.
bool same_as_heap(const char* name) {
  for (std::int64_t n = 1; n < 3000; n += n / 3 + 1) {
    std::vector<float> row(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i * 7919 % 641);
    const kselect::row_matrix<float> rows{.data = row.data(), .q = 1, .n = n};
    const std::int64_t k = (n + 2) / 3;
    std::vector<float> values[2];
    for (int which = 0; which < 2; ++which) {
      values[which].resize(static_cast<std::size_t>(k));
      std::vector<int> indices(values[which].size());
      kselect::select_options options;
      options.algorithm = kselect::find_algorithm(which == 0 ? "cpu/heap" : name)->algorithm;
      if (!kselect::select(rows, k, values[which], indices, kselect::place::cpu(1), options).ok()) {
        return false;
      }
      std::sort(values[which].begin(), values[which].end());
    }
    if (values[0] != values[1]) return false;
  }
  return true;
}

}  // namespace

int main() {
  using namespace kselect;
  expect(registry().size() == match_algorithms("cpu/heap*").size() +
                                  match_algorithms("cpu/nth_element*").size() +
                                  match_algorithms("cpu/quickselect*").size(),
         "it has the algorithms that were asked for, and no others");
  expect(find_algorithm("cpu/heap") != nullptr, "cpu/heap is there");
  expect(find_algorithm("auto") == nullptr, "auto is left out");
  expect(built_globs() == "cpu/heap;cpu/nth_element;cpu/quickselect",
         "it knows what was asked for");
  expect(has(left_out_hint(), "KSELECT_ALGORITHMS='cpu/heap;cpu/nth_element;cpu/quickselect'"),
         "the hint says so");
  expect(is_left_out("auto"), "auto is in a full build");
  expect(is_left_out("bms-block+sorted"), "a variant in a file of its own is, too");
  expect(is_left_out("cpu/heap+omp"), "so is one that is linked with cpu/heap, but not asked for");
  expect(!is_left_out("cpu/heap"), "what is there is not left out");
  expect(!is_left_out("nonsense"), "nor is what no build has");
  bool listed = false;
  for (const absent_file& file : absent_files()) listed |= file.entries == "auto";
  expect(listed, "auto is listed as left out");

  std::vector<float> values(2);
  expect(select_two(find_algorithm("cpu/heap")->algorithm, values).ok(), "cpu/heap selects");
  expect(values[0] + values[1] == 3, "1 and 2 are the smallest");
  // Compiled for several vector units, of which one is chosen when it runs.
  expect(same_as_heap("cpu/quickselect"), "cpu/quickselect selects what cpu/heap selects");
  const status refused = select_two(nullptr, values);
  expect(refused.code == status_code::unsupported && has(refused.message, "leaves auto out"),
         "without auto an algorithm must be named");
  return failed;
}
