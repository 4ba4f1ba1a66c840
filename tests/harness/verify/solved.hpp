#pragma once
// Random problems of any shape with their answers by sorting.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "judges.hpp"

namespace kselect::testing_answers {

struct shape {
  std::string name;
  std::int64_t n, q, k;
  kselect::layout layout;
  std::int64_t pitch;
};

// A random problem, its answer by sorting, and ways to spoil single rows.
struct sample {
  problem what;
  contract promises;
  std::vector<float> input;
  std::vector<float> values;
  std::vector<std::int64_t> indices;

  float& element(std::int64_t row, std::int64_t column) {
    return input[static_cast<std::size_t>(what.offset(row, column))];
  }

  void choose(std::int64_t row, std::int64_t j, std::int64_t column) {
    if (what.payload == payload::kth_value) {
      values[static_cast<std::size_t>(row)] = element(row, column);
      return;
    }
    values[static_cast<std::size_t>(row * what.k + j)] = element(row, column);
    indices[static_cast<std::size_t>(row * what.k + j)] = column;
  }

  std::vector<std::int64_t> ranking(std::int64_t row) {
    std::vector<std::int64_t> columns(static_cast<std::size_t>(what.n));
    std::iota(columns.begin(), columns.end(), 0);
    std::stable_sort(columns.begin(), columns.end(), [&](std::int64_t a, std::int64_t b) {
      return selection_key(element(row, a), what.direction) <
             selection_key(element(row, b), what.direction);
    });
    return columns;
  }

  io buffers() { return {input.data(), values.data(), indices.data()}; }
  verdict check(int threads) { return verify(what, promises, buffers(), threads); }
  judgement judged(const judge& by) { return by(what, promises, buffers()); }
};

inline sample solved(const shape& of, payload asked) {
  sample made;
  made.what.n = of.n;
  made.what.q = of.q;
  made.what.k = of.k;
  made.what.layout = of.layout;
  made.what.pitch = of.pitch;
  made.what.payload = asked;
  made.what.index = index_type::int64;
  made.promises.ordering = output_ordering::stable_sorted;
  made.promises.tie_break = tie_break::prefer_smaller_index;
  made.input.resize(static_cast<std::size_t>(made.what.input_elements()));
  std::mt19937 random(11);
  // A twentieth of a row's keys are shared, so that there are ties at the cut and away from it.
  std::uniform_int_distribution<std::int64_t> key(0, 20 * of.n);
  for (float& element : made.input) element = static_cast<float>(key(random) / 20);
  made.values.resize(static_cast<std::size_t>(of.q * made.what.outputs_per_row()));
  made.indices.resize(static_cast<std::size_t>(of.q * of.k));
  for (std::int64_t row = 0; row < of.q; ++row) {
    const auto ranking = made.ranking(row);
    if (asked == payload::kth_value) {
      made.choose(row, 0, ranking[static_cast<std::size_t>(of.k - 1)]);
      continue;
    }
    for (std::int64_t j = 0; j < of.k; ++j) {
      made.choose(row, j, ranking[static_cast<std::size_t>(j)]);
    }
  }
  return made;
}

}  // namespace kselect::testing_answers
