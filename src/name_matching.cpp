// Name matching: globs and "did you mean" suggestions.

#include <algorithm>
#include <numeric>
#include <utility>

#include "kselect/registry.hpp"

namespace kselect {
namespace {

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

// Only the last `*` is ever tried again, for it can take all that an earlier one would: the time is
// at most the product of the lengths.
bool matches(std::string_view glob, std::string_view name) {
  std::size_t at = 0, in_glob = 0;
  std::size_t again_at = 0, after_star = std::string_view::npos;
  while (at < name.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      after_star = ++in_glob;
      again_at = at;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == name[at])) {
      ++in_glob;
      ++at;
    } else if (after_star != std::string_view::npos) {
      in_glob = after_star;
      at = ++again_at;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', in_glob) == std::string_view::npos;
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
    // A substring of the name ("nth_element" for "cpu/nth_element") counts as one edit.
    const bool part = name.size() >= 3 && candidate.find(name) != std::string_view::npos;
    const std::size_t distance = part ? 1 : edit_distance(name, candidate);
    if (distance <= 2 + std::max(name.size(), candidate.size()) / 4) {
      close.push_back({distance, candidate});
    }
  }
  // At equal distance the shorter name wins.
  std::ranges::stable_sort(close, {}, [](const scored& entry) {
    return std::pair(entry.distance, entry.candidate.size());
  });
  close.resize(std::min(close.size(), count));
  std::vector<std::string> nearest;
  for (const scored& entry : close) nearest.emplace_back(entry.candidate);
  return nearest;
}

}  // namespace kselect
