#pragma once
// The filter of `--filter`: which cells of a plan are meant, by their titles "ALGORITHM PROBLEM".

#include <string>
#include <string_view>

#include "harness/workload/workload.hpp"

namespace kselect::harness {

inline constexpr std::size_t longest_filter = 1000;

class cell_source;

// A glob that must match somewhere in the title: `*` stands for any characters, `?` for one, `^` at
// the begin and `$` at the end for the title's ends, `\` makes the next character plain. `.*` is
// taken as `*`. Matching takes time in proportion to filter times title, whatever they are.
class title_filter {
 public:
  // Throws error(failure::usage) for what only regular expressions know, and for a filter that is
  // too long.
  explicit title_filter(std::string_view written);

  bool matches(std::string_view title) const;
  // Whether it matches one of the two titles that a user sees of a cell: with to_string() of the
  // workload, as a plan has it, or with short_title(), as progress has it.
  bool matches(std::string_view algorithm, const workload& problem) const;

 private:
  std::string glob_;  // of the whole title
};

// What an error says of a filter that leaves no cell, with the title of one that it excluded.
std::string excludes_all(std::string_view algorithm, const workload& problem);
// The same with "; " before it, of a plan without the filter; empty if it has no cell, either.
std::string excludes_first(const cell_source& unfiltered);

}  // namespace kselect::harness
