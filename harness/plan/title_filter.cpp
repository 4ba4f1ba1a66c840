#include "harness/plan/title_filter.hpp"

#include <fmt/format.h>

#include "harness/harness.hpp"
#include "harness/plan/plan.hpp"
#include "kselect/registry.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

[[noreturn]] void refuse(std::string_view written, std::string_view why) {
  throw error(failure::usage, fmt::format("--filter '{}': {}", written, why));
}

// The glob of what stands between the anchors.
std::string glob_of(std::string_view written, std::string_view between) {
  std::string glob;
  while (!between.empty()) {
    char c = between.front();
    between.remove_prefix(1);
    if (c == '\\') {
      if (between.empty()) refuse(written, "ends with a backslash");
      c = between.front();
      between.remove_prefix(1);
      if (c == '*' || c == '?') refuse(written, "no cell's title has a * or ?");
    } else if (c == '.' && between.starts_with('*')) {
      continue;
    } else if (std::string_view("|[]^$").find(c) != std::string_view::npos) {
      refuse(written,
             fmt::format("'{}' is of regular expressions; a filter is a glob with * and ?", c));
    }
    glob += c;
  }
  return glob;
}

}  // namespace

title_filter::title_filter(std::string_view written) {
  if (written.size() > longest_filter) {
    refuse(written.substr(0, 20), fmt::format("longer than {} characters", longest_filter));
  }
  std::string_view between = written;
  const bool from_begin = between.starts_with('^');
  if (from_begin) between.remove_prefix(1);
  const bool to_end = between.ends_with('$') && !between.ends_with("\\$");
  if (to_end) between.remove_suffix(1);
  glob_ = from_begin ? "" : "*";
  glob_ += glob_of(written, between);
  if (!to_end) glob_ += '*';
}

bool title_filter::matches(std::string_view title) const { return kselect::matches(glob_, title); }

bool title_filter::matches(std::string_view algorithm, const workload& problem) const {
  const std::string name = std::string(algorithm) + ' ';
  return matches(name + to_string(problem)) || matches(name + short_title(problem));
}

std::string excludes_all(std::string_view algorithm, const workload& problem) {
  return fmt::format("--filter excludes all; it is a glob for titles such as '{} {}'", algorithm,
                     short_title(problem));
}

std::string excludes_first(const cell_source& unfiltered) {
  cell first;
  if (!unfiltered.begin()->next(first)) return {};
  return "; " + excludes_all(first.entry->algorithm->name, first.problem);
}

}  // namespace kselect::harness
