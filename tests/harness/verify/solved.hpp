#pragma once
// Random problems of any shape with their answers, found by sorting.
//
// Not inline: nvcc reorders the captures of lambdas for its host compiler. A lambda in an inline
// function would therefore have two layouts in .cpp and .cu files, and crash.

#include <cstdint>
#include <string>
#include <vector>

#include "judges.hpp"

namespace kselect::harness::testing_answers {

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

  std::vector<std::int64_t> ranking(std::int64_t row);

  io buffers() { return {input.data(), values.data(), indices.data()}; }
  verdict check(int threads) { return verify(what, promises, buffers(), threads); }
  judgement judged(const judge& by) { return by(what, promises, buffers()); }
};

sample solved(const shape& of, payload asked);

}  // namespace kselect::harness::testing_answers
