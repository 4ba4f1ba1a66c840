#pragma once
// What a command prints of its answer if no output file is named: the first rows and columns.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"

namespace kselect::cli {

// A position of an answer.
struct shown_hit {
  double value = 0;
  std::int64_t index = 0;
};

class answer_table {
 public:
  static constexpr std::int64_t most_rows = 5, most_columns = 4;

  // `row_name` is "row" or "query"; `values` says what a hit is, as in "distances". Empty: hits
  // have no value, or no index.
  answer_table(std::string row_name, std::string values, std::string indices = "[indices]")
      : row_name_(std::move(row_name)), values_(std::move(values)), indices_(std::move(indices)) {}

  // Whether another row would be shown.
  bool wants_more() const { return static_cast<std::int64_t>(rows_.size()) < most_rows; }
  // The next row: all its hits, or the first most_columns of `width`.
  void add(std::int64_t width, std::vector<shown_hit> first);
  // A line a row, and one with the shape: "6 x 8 values [indices]; `options` write all of them".
  std::string text(std::string_view shape, std::string_view options) const;

 private:
  struct row {
    std::int64_t width;
    std::vector<std::string> hits;
  };
  std::string row_name_, values_, indices_;
  std::vector<row> rows_;
};

}  // namespace kselect::cli
