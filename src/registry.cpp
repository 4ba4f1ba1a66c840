// Lookup over the generated table. Built once, on first use.

#include "kselect/registry.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>

#include "src/registry_table.hpp"

namespace kselect {
namespace {

std::vector<registered> collect() {
  std::vector<registered> table;
  for (const auto& file : detail::entry_files()) {
    for (const algorithm& entry : file.entries()) {
      table.push_back({&entry, file.file, file.source_hash});
    }
  }
  return table;
}

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

bool matches(std::string_view glob, std::string_view name) {
  return fnmatch(std::string(glob).c_str(), std::string(name).c_str(), FNM_NOESCAPE) == 0;
}

std::span<const registered> registry() {
  static const std::vector<registered> table = collect();
  return table;
}

const registered* find_algorithm(std::string_view name) {
  const auto table = registry();
  const auto found = std::ranges::find_if(
      table, [&](const registered& entry) { return entry.algorithm->name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::vector<const registered*> match_algorithms(std::string_view glob) {
  std::vector<const registered*> found;
  for (const registered& entry : registry()) {
    if (matches(glob, entry.algorithm->name)) found.push_back(&entry);
  }
  return found;
}

std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string_view> candidates,
                                       std::size_t count) {
  struct scored {
    std::size_t distance;
    std::string_view candidate;
  };
  std::vector<scored> close;
  for (const std::string_view candidate : candidates) {
    // A part of the whole name ("nth_element" for "cpu/nth_element") is as near as a typing slip.
    const bool part = name.size() >= 3 && candidate.find(name) != std::string_view::npos;
    const std::size_t distance = part ? 1 : edit_distance(name, candidate);
    if (distance <= 2 + std::max(name.size(), candidate.size()) / 4) {
      close.push_back({distance, candidate});
    }
  }
  std::ranges::stable_sort(close, {}, &scored::distance);
  close.resize(std::min(close.size(), count));
  std::vector<std::string> nearest;
  for (const scored& entry : close) nearest.emplace_back(entry.candidate);
  return nearest;
}

std::vector<std::string> nearest_algorithms(std::string_view name, std::size_t count) {
  std::vector<std::string_view> all;
  for (const registered& entry : registry()) all.push_back(entry.algorithm->name);
  return nearest_names(name, all, count);
}

}  // namespace kselect
