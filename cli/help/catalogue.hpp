#pragma once
// What help says of a command beyond its options: the heading that lists it, and examples. A test
// fails if a command has no example, and runs those that a test can run.

#include <span>
#include <string_view>

#include "cli/cli.hpp"

namespace kselect::cli::help {

struct example {
  std::string_view command;  // "index knn"
  std::string_view purpose;
  std::string_view line;  // as one types it
};
std::span<const example> examples();

struct heading {
  std::string_view text;
  std::string_view commands;  // "select knn"
};
// In the order in which `kselect help` prints them.
std::span<const heading> headings();

struct exit_code {
  int code;
  std::string_view meaning;
};
// Of all commands; and of those that end with a verdict, in place of these.
std::span<const exit_code> exit_codes();
std::span<const exit_code> verdict_codes();
bool ends_with_verdict(std::string_view command);

}  // namespace kselect::cli::help
