#include "cli/answer_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace kselect::cli {

void answer_table::add(std::int64_t width, std::vector<shown_hit> first) {
  if (!wants_more()) return;
  row next{.width = width, .hits = {}};
  for (const shown_hit& hit : first) {
    if (static_cast<std::int64_t>(next.hits.size()) == most_columns) break;
    std::string text = values_.empty() ? "" : fmt::format("{:.6g}", hit.value);
    if (!indices_.empty()) {
      text += fmt::format("{}[{}]", values_.empty() ? "" : " ", hit.index);
    }
    next.hits.push_back(std::move(text));
  }
  rows_.push_back(std::move(next));
}

std::string answer_table::text(std::string_view shape, std::string_view options) const {
  std::vector<std::size_t> widths;
  for (const row& r : rows_) {
    widths.resize(std::max(widths.size(), r.hits.size()));
    for (std::size_t c = 0; c < r.hits.size(); ++c) {
      widths[c] = std::max(widths[c], r.hits[c].size());
    }
  }
  std::string out;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::string line = fmt::format("{} {}", row_name_, i);
    for (std::size_t c = 0; c < rows_[i].hits.size(); ++c) {
      line += fmt::format("  {:>{}}", rows_[i].hits[c], widths[c]);
    }
    const auto shown = static_cast<std::int64_t>(rows_[i].hits.size());
    out += line + (rows_[i].width > shown ? "  ...\n" : "\n");
  }
  const char* const between = values_.empty() || indices_.empty() ? "" : " ";
  return out + fmt::format("{} {}{}{}; {}\n", shape, values_, between, indices_, options);
}

}  // namespace kselect::cli
