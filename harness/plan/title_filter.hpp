#pragma once
// The filter of `--filter`: which cells of a plan are meant, by their titles "ALGORITHM PROBLEM".

#include <string>
#include <string_view>

#include "harness/workload/workload.hpp"

namespace kselect::harness {

inline constexpr std::size_t longest_filter = 1000;

class cell_source;

// A glob that must match somewhere in the title. `*` stands for any characters, `?` for one. `^` at
// the beginning of the filter and `$` at its end stand for the ends of the title. `\` makes the
// next character plain. `.*` means `*`. Matching takes at most length of filter times length of
// title.
class title_filter {
 public:
  // Throws failure::usage if the filter has syntax of regular expressions, or is too long.
  explicit title_filter(std::string_view written);

  bool matches(std::string_view title) const;
  // Whether it matches one of a cell's two titles: that of the plan, by the problem's to_string(),
  // or that of progress, by short_title().
  bool matches(std::string_view algorithm, const workload& problem) const;

 private:
  std::string glob_;  // of the whole title
};

// What an error says of a filter that leaves no cell, with the title of one that it excluded.
std::string excludes_all(std::string_view algorithm, const workload& problem);
// The same with "; " before it, of a plan without the filter; empty if it has no cell, either.
std::string excludes_first(const cell_source& unfiltered);

}  // namespace kselect::harness
